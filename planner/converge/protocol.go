// Package converge checks, applies and undoes configuration resources below a root directory, and keeps the ledger of
// what it did. The same code runs in the provider for a local node and in the helper for a node behind SSH, so a plan's
// drift check, a dry run and an apply cannot disagree. It uses the standard library, golang.org/x/sys and one small
// package for diffs only, because the helper must stay small.
//
// What one session does is here, with the protocol between controller and helper. The packages below know nothing of
// it: system is the node, ledger what slipway recorded on it, types what each type does.
package converge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// Protocol is the version of the messages below. A helper refuses a manifest of another version.
const Protocol = 1

// SessionTimeout is the silence of the controller after which a helper takes the session for dead.
const SessionTimeout = 60 * time.Second

// Mode says what a session does with a manifest.
type Mode string

// The modes.
const (
	Prepare Mode = "prepare" // take stock: facts and ledger, no item is looked at; and see Manifest.Begins
	Check   Mode = "check"   // report differences, change nothing
	Apply   Mode = "apply"   // check each item, apply it where it differs
	Confirm Mode = "confirm" // what the guard of Manifest.Guard covers stays
)

// Manifest is everything that one node is to do in one session: one JSON value on the helper's standard input. It holds
// file contents and secrets, so it never goes anywhere else. After it, standard input carries newlines as signs of life
// of the controller, and the contents that the node asks for; its end, or silence for [SessionTimeout], means that the
// session is dead.
type Manifest struct {
	Protocol int    `json:"protocol"`
	Site     string `json:"site"` // ledger entries belong to a site
	Run      string `json:"run"`  // the run's id, recorded in the ledger
	// Session identifies the session in its run, for who executes it elsewhere and may be asked for it again; empty: it is
	// not asked for again. The node does not get it.
	Session string `json:"-"`
	Mode    Mode   `json:"mode"`
	// Owner is the lineage of the state that has the site; empty for Terraform's, which takes any site over. The ledger
	// says whose a site is: a session on a node where it is another's ends with [CodeOwner] before anything is touched,
	// unless TakeOver names that owner ([Terraform] for a site without one).
	Owner    string `json:"owner,omitempty"`
	TakeOver string `json:"take_over,omitempty"`
	// Fence identifies the lease of the run, empty outside of one. A session whose lease was overtaken on the node, by a
	// session that changed it with a later one, ends with [CodeFenced] before anything is touched.
	Fence ledger.Fence `json:"fence,omitzero"`
	// Resume says that a session of the run with this manifest was lost. What the ledger has of it as done is not done
	// again, and is reported as [Changed].
	Resume bool `json:"resume,omitempty"`
	// Items are in the order in which they are handled, except that removals which require nothing trade places among each
	// other, so that what was applied last goes first.
	Items []Item `json:"items,omitempty"`
	// Secrets has the contents of the secrets of the deployment to which items refer, by name@version. A check may lack
	// them: the node then compares with what it recorded.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Begins names all actions that the run is to carry out on the node, now or in later sessions. Those that the ledger
	// calls done, by an earlier run, are begun from now on, in one write before anything else: when the run never comes to
	// one of them, the next plan does. Prepare and Apply only.
	Begins []resource.ID `json:"begins,omitempty"`
	// TearDown undoes everything that the site applied on the node, newest first, then drops the site's ledger and, when
	// no site is left, every trace of slipway. Items must be empty. A node that is left locked is unlocked first, by the
	// command that the ledger remembers: when that fails the rest goes on, and the ledger stays for the sake of the lock.
	// Where no command is remembered, the lock is forgotten with all the rest, and only Summary.Locked has it.
	TearDown bool `json:"tear_down,omitempty"`
	// Images keeps, for each thing that the session changes, what was there before: until another run changes the node.
	Images bool `json:"images,omitempty"`
	// Restore puts back what this run has changed on the node in sessions with Images, ledger included. Items must be
	// empty. Packages, and what commands did, are reported with [NotRestored].
	Restore bool `json:"restore,omitempty"`
	// Guard identifies the guard that the session arms before it changes a guarded resource; empty when nothing could
	// confirm that. A session that ends with Summary.Guard has applied that and what it notifies, and put off the rest: it
	// wants a session in mode Confirm over a new connection, which names the same guard, within [types.GuardLimit], and
	// then another one for the rest. In mode Confirm, it is the one that is confirmed.
	Guard string `json:"guard,omitempty"`
	// Lock runs before the first item and Unlock after the last, whatever happened in between; when the ledger says that
	// an earlier run left the node locked, Unlock runs first. Apply only; empty is none. The ledger remembers Unlock
	// together with the lock, for sessions that name none. A session in mode Apply without anything to do is there to
	// unlock the node, when it is locked.
	Lock   string `json:"lock,omitempty"`
	Unlock string `json:"unlock,omitempty"`
	// Keep leaves the lock window open at the end of the session: work of the same run goes on in another session, which
	// names the commands again. A session that finds the window of its own run open does not lock again. Without Lock, it
	// is the ledger alone that holds the window open, so that Unlock runs once.
	Keep bool `json:"keep,omitempty"`
	// Health is run at the end of the session; one that fails ends it with [CodeHealth].
	Health *HealthCheck `json:"health,omitempty"`
	// Unchecked says that a health check is to follow the session: from before it changes anything, the ledger has the
	// run, until the Health of a session with Checked has succeeded. Apply only.
	Unchecked bool `json:"unchecked,omitempty"`
	Checked   bool `json:"checked,omitempty"`
	// Contents brings what items have by the SHA-256 of their source_file; nil: the controller sends none. A node behind a
	// connection asks for it with Message.Want.
	Contents types.Contents `json:"-"`
	// Needs names programs that later sessions of the run call; a session on a node that lacks one ends with [CodeNeeds]
	// before anything is touched.
	Needs []string `json:"needs,omitempty"`
}

// HealthCheck is a command for /bin/sh that ends with status 0 on a node that works. Each run of it ends after Timeout;
// after one that failed it is run again after Interval, Retries times at most.
type HealthCheck struct {
	Command  string        `json:"command"`
	Timeout  time.Duration `json:"timeout"`
	Retries  int           `json:"retries,omitempty"`
	Interval time.Duration `json:"interval,omitempty"`
}

// Item is one resource of a manifest and what to do with it.
type Item struct {
	resource.Resource
	Digest string `json:"digest,omitempty"` // resource.Digest as the planner computed it; recorded in the ledger
	Remove bool   `json:"remove,omitempty"` // undo it instead; only type and title count then
	// RefreshOnly items are in the manifest because another item notifies them, or mounts something on them: they are not
	// checked or applied, only refreshed when notified.
	RefreshOnly bool `json:"refresh_only,omitempty"`
	// Tolerate says that the item may fail. An action that did counts as done in the ledger; its result says that it
	// failed.
	Tolerate bool          `json:"tolerate,omitempty"`
	Requires []resource.ID `json:"requires,omitempty"` // skipped when one of these failed or was skipped
	Notifies []resource.ID `json:"notifies,omitempty"` // refreshed when this one changed
}

// Status is the outcome of one item.
type Status string

// The outcomes.
const (
	Unchanged Status = "unchanged"
	Changed   Status = "changed" // applied, removed or refreshed
	Differs   Status = "differs" // in check mode, and of a resource with noop
	Failed    Status = "failed"
	Skipped   Status = "skipped" // something it requires failed, or the session ended
	// Restarting says that the node restarts when the session has ended: the item, and those that were to come after it,
	// go on in a session after that. The executor sees to it; nobody else gets to know this outcome.
	Restarting Status = "restarting"
	// Deferred items wait for the confirmation of a guarded change, which Summary.Guard names. The executor sees to that,
	// too.
	Deferred Status = "deferred"
	// Printing is no outcome either: Output is what the item printed since the last such message, while it runs; without
	// an ID, the command of the session that Message names, such as [LiveLock]. The result has the last of all that
	// was printed.
	Printing Status = "printing"
)

// The commands of a session, besides those of its items, whose output is sent while they run.
const (
	LiveLock   = "lock"
	LiveUnlock = "unlock"
	LiveHealth = "health check"
)

// Result is the outcome of one item, sent as soon as it is known.
type Result struct {
	ID          resource.ID        `json:"id"`
	Status      Status             `json:"status"`
	Differences []types.Difference `json:"differences,omitempty"` // found before anything was changed
	Guarded     bool               `json:"guarded,omitempty"`     // it waits for its confirmation: see Manifest.Guard
	// Diff is a unified diff of the text that a difference stands for; bounded, and empty when it may be secret.
	Diff string `json:"diff,omitempty"`
	// Refreshed says that it was notified and acted on it; with Failed, that is what failed.
	Refreshed bool   `json:"refreshed,omitempty"`
	Message   string `json:"message,omitempty"` // why it failed or was skipped: cause, then remedy
	Notice    string `json:"notice,omitempty"`  // what a person should know, though nothing failed
	// Output is what commands printed, the last [OutputLimit] bytes; empty when sensitive.
	Output string `json:"output,omitempty"`
	Millis int64  `json:"millis"`
}

// The bounds of what a helper sends, in bytes. A node that exceeds one, or [Manifest.Limit], is given up.
const (
	nameLimit   = 256 // of a boot id, a guard and a run
	ErrorLimit  = 16 << 10
	ResultLimit = 256 << 10
)

// Limit bounds all results of a session together, in bytes: 1 MiB, and 4 KiB for each. A result has about 100 bytes for
// an item that is as it should be, 500 for one that changed or differs, and at most 25 KiB. A helper that comes near to
// the limit shortens results.
func (c Manifest) Limit() int { return 1<<20 + 4<<10*c.Most() }

// Most is how many results a session has at most, without those that are [Printing].
func (c Manifest) Most() int {
	if c.TearDown || c.Restore { // what they report is in the ledger
		return schema.MostResources
	}
	return len(c.Items)
}

// MostWanted is how many contents the node asks for at most in a session.
func (c Manifest) MostWanted() (n int) {
	for _, item := range c.Items {
		if item.Parameters.Has(schema.SourceSHA256) {
			n++
		}
	}
	return n
}

// shortResult bounds a result of [Result.short] without its id, in bytes.
const shortResult = 1 << 10

// short returns a result without what its outcome can do without.
func (r Result) short() Result {
	const limit = 100
	r.Message, r.Notice, r.Diff, r.Output = bounded(r.Message, limit), bounded(r.Notice, limit), "", ""
	if len(r.Differences) > 0 {
		d := r.Differences[0]
		r.Differences = []types.Difference{{Parameter: d.Parameter, Is: bounded(d.Is, limit),
			Should: bounded(d.Should, limit)}}
	}
	return r
}

// Code classifies a session that could not do its work at all.
type Code string

// The codes of a failed session. The helper sends some, the controller's side finds the others.
const (
	CodeProtocol Code = "protocol" // helper and controller do not speak the same version
	CodeLocked   Code = "locked"   // another controller works on the node
	CodeRoot     Code = "not_root" // the session's user may not change the node
	CodeLedger   Code = "ledger"   // the ledger cannot be read or written
	CodeLost     Code = "lost"     // the session ended without a summary: the outcome of what was not reported is unknown
	CodeGone     Code = "gone"     // as CodeLost, and with it whoever ran the session: another one may go on
	CodeSudo     Code = "sudo_refused"
	CodeShell    Code = "no_shell"
	CodeArch     Code = "unknown_architecture"
	CodeNoExec   Code = "no_exec"       // nothing may be executed where the helper is kept
	CodeLock     Code = "lock_failed"   // Manifest.Lock failed: no item was touched
	CodeUnlock   Code = "unlock_failed" // Manifest.Unlock failed: the node stays locked
	CodeHealth   Code = "unhealthy"     // Manifest.Health failed
	CodeSecret   Code = "secret"        // the controller does not have a secret that an item refers to
	CodeNeeds    Code = "needs"         // a program of Manifest.Needs is not on the node
	CodeTwice    Code = "same_machine"  // the node is the machine of another node of the site, too
	CodeOwner    Code = "owner"         // the site on the node is that of another state
	CodeFenced   Code = "fenced"        // another controller took over
	CodeRestart  Code = "restart"       // the node did not come back from a restart, or must not be restarted
)

// SessionError is a session that could not do its work, as opposed to an item that failed.
type SessionError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"` // what is wrong, then what would be right
	// NoAnswer says that the node took all the time that the start of a session may take. No node says it itself.
	NoAnswer bool `json:"-"`
}

// Error returns the message cleaned, whoever wrote it.
func (e *SessionError) Error() string { return resource.Text(e.Message).String() }

// Summary is the last message of a session.
type Summary struct {
	Protocol int      `json:"protocol"`
	BootID   string   `json:"boot_id,omitempty"` // of the running kernel; a sandbox has none
	Identity Identity `json:"identity,omitzero"`
	// Ledger is what the site has applied on the node now: id -> digest; an entry that was started and not finished, or
	// notified and not refreshed, has digest "".
	Ledger map[resource.ID]string `json:"ledger"`
	// Locked says that the lock window that a run of the site opened on the node is open, LockedBy which run that is.
	Locked   bool   `json:"locked,omitempty"`
	LockedBy string `json:"locked_by,omitempty"`
	// Unchecked is the run whose changes no health check has followed that succeeded; empty: there is none.
	Unchecked string `json:"unchecked,omitempty"`
	// Guard is the guard of the site that is armed or, in mode Confirm, was confirmed. What it covers has an empty digest
	// in Ledger while it is armed. PutBack is the last one that was put back, until the next run changes the node.
	Guard   string          `json:"guard,omitempty"`
	PutBack *ledger.PutBack `json:"put_back,omitempty"`
	Error   *SessionError   `json:"error,omitempty"`
	// Notice is what a person should know of who ran the session. The node does not say it.
	Notice string `json:"-"`
}

// Excess says what of a summary is longer than its bound, empty when nothing is.
func (s Summary) Excess() string {
	if s.Error != nil && len(s.Error.Code)+len(s.Error.Message) > ErrorLimit {
		return fmt.Sprintf("an error of more than %d bytes", ErrorLimit)
	}
	if len(s.BootID)+len(s.Guard)+len(s.Unchecked) > nameLimit {
		return fmt.Sprintf("a boot id, guard or run of more than %d bytes", nameLimit)
	}
	if p := s.PutBack; p != nil {
		resources := 0
		for _, id := range p.Resources {
			resources += len(id)
		}
		if len(p.Site)+len(p.Guard)+len(p.Run)+len(p.Why) > ErrorLimit || resources > ResultLimit {
			return fmt.Sprintf("more of what it has put back than a reason of %d bytes and resources of %d", ErrorLimit,
				ResultLimit)
		}
	}
	return ""
}

// Message is one line of a session's output: exactly one field is set.
type Message struct {
	Result  *Result  `json:"result,omitempty"`
	Summary *Summary `json:"summary,omitempty"`
	// Want asks for contents of Manifest.Contents, by their SHA-256. They come in this order between the signs of life,
	// each in parts, as [SendContent] writes them.
	Want []string `json:"want,omitempty"`
}

// Legible takes out of every text of a message, whatever field it is in, what acts on terminals, and cuts what of a
// result is longer than a helper makes it. A helper sends none of it; what else may speak in its place is not to be
// trusted.
func (m Message) Legible() {
	legible(reflect.ValueOf(m))
	if s := m.Summary; s != nil {
		s.Identity = s.Identity.Bounded()
	}
	if m.Result != nil {
		m.Result.cut()
	}
}

// cut bounds what a result says: texts at twice what a helper bounds before it replaces what is not UTF-8, which at
// most doubles it. Results are kept for a whole run, and what drifted is kept in the state.
func (r *Result) cut() {
	r.Message, r.Notice = cut(r.Message, 2*messageLimit), cut(r.Notice, 2*messageLimit)
	r.Diff, r.Output = cut(r.Diff, 2*system.OutputLimit), cut(r.Output, 2*system.OutputLimit)
	if more := len(r.Differences) - mostDifferences; more > 0 {
		r.Differences = append(slices.Clone(r.Differences[:mostDifferences]), // no capacity for the others is kept
			types.Difference{Parameter: fmt.Sprintf("(%d more differences were cut)", more)})
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		d.Parameter, d.Is, d.Should = cut(d.Parameter, differenceLimit), cut(d.Is, 2*differenceLimit),
			cut(d.Should, 2*differenceLimit)
	}
}

// cut returns a text of at most limit bytes, and says how much of it is missing.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("%s (%d bytes were cut)", bounded(text, limit), len(text)-limit)
}

// legible cleans the texts that v leads to: v itself, where it can be set, and what is behind pointers and in structs,
// lists and maps.
func legible(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(resource.Visible(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			legible(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			legible(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			legible(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			k, e := reflect.New(key.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			k.Set(key)
			e.Set(v.MapIndex(key))
			legible(k)
			legible(e)
			v.SetMapIndex(key, reflect.Value{})
			v.SetMapIndex(k, e)
		}
	}
}

// Encode returns the message as one line.
func (m Message) Encode() ([]byte, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false) // six bytes for each < of what commands print
	err := e.Encode(m)
	return line.Bytes(), err
}
