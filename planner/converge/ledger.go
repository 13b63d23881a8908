package converge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// ledgerVersion is the version of the ledger's form. A ledger of another one is left alone.
const ledgerVersion = 1

// ledger is what slipway knows on a node of what it did there. It holds no secret: digests of resources, and what types
// captured. Every change is a [record]; it reaches the disk before what it announces is done (write-ahead), see
// [ledger.save].
type ledger struct {
	Version int    `json:"version"`
	ID      string `json:"id,omitempty"` // random, made when the ledger is first written as a whole; see [Identity]
	// Generation counts how often it was written as a whole; the log says which one it goes on from.
	Generation int64    `json:"generation"`
	Made       []string `json:"made,omitempty"` // directories above slipway's own that it had to make, outermost first
	// Locked says for each site that the node was locked (Catalog.Lock) and is not unlocked yet.
	Locked map[string]hold `json:"locked,omitempty"`
	// Pending lists what was notified and not refreshed yet. It need not be an entry: a target may be applied later.
	Pending []key `json:"refresh_pending,omitempty"`
	// Left lists directories that slipway made, whose own entries are gone, and in which other things of slipway are
	// still.
	Left    []string `json:"left,omitempty"`
	Entries []*entry `json:"entries"` // in the order in which they were first applied
	// Noop lists for each site the resources that have noop, and so are only looked at: id -> digest. Such a resource has
	// an entry too when it was applied before it had noop.
	Noop map[string]map[resource.ID]string `json:"noop,omitempty"`
	// Owners says for each site the lineage of the state that has it. A site that Terraform manages has none.
	Owners map[string]string `json:"owners,omitempty"`

	sys   *system.System
	index map[resource.ID][]*entry
	file  ledgerFile
}

// key is a resource of a site.
type key struct {
	Site string      `json:"site"`
	ID   resource.ID `json:"id"`
}

// entry is one resource that slipway applied.
type entry struct {
	Site   string          `json:"site"`
	Type   string          `json:"type"`
	Title  string          `json:"title"`
	Object string          `json:"object,omitempty"` // what it looks after (Named), and
	Aim    string          `json:"aim,omitempty"`    // to what end
	Digest string          `json:"digest"`           // empty while an apply or undo was begun and is not finished
	Before json.RawMessage `json:"before"`           // what was there before slipway touched it first (Type.Capture)
	Run    string          `json:"run"`              // the run that touched it last
	// There says that the object was on the node when the resource was applied last, so that its undo reports when others
	// have taken it away. Of types that are no [Finder], nothing is said here.
	There bool `json:"there,omitempty"`
	// Requires lists what the resource has required so far: it is undone before that.
	Requires []resource.ID `json:"requires,omitempty"`

	id resource.ID
}

func (e *entry) key() key { return key{e.Site, e.id} }

// record is one change of the ledger. It says how things are afterwards, so it may be replayed. Exactly one field is
// set, besides Was.
type record struct {
	Entry  *entry   `json:"entry,omitempty"` // it is there in this form
	Was    *key     `json:"was,omitempty"`   // with Entry: it takes the place of this one
	Drop   *key     `json:"drop,omitempty"`  // the entry is not there, nor a refresh pending for it
	Owe    *key     `json:"owe,omitempty"`   // a refresh is pending
	Settle *key     `json:"settle,omitempty"`
	Lock   *mark    `json:"lock,omitempty"`
	Unlock string   `json:"unlock,omitempty"` // a site
	Made   []string `json:"made,omitempty"`
	Noop   *noop    `json:"noop,omitempty"`
	Left   string   `json:"left,omitempty"` // a directory
	Gone   string   `json:"gone,omitempty"` // a directory is not left any more
	Owner  *owner   `json:"owner,omitempty"`
}

// noop says that a resource has noop, or with an empty digest that it has it no more.
type noop struct {
	key
	Digest string `json:"digest,omitempty"`
}

// owner says whose a site is; with an empty lineage it is nobody's, or Terraform's.
type owner struct {
	Site    string `json:"site"`
	Lineage string `json:"lineage,omitempty"`
}

// mark says that a run of a site has locked the node.
type mark struct {
	Site   string `json:"site"`
	Run    string `json:"run"`
	Unlock string `json:"unlock,omitempty"`
}

// change carries out a record, and remembers it for the next save.
func (l *ledger) change(r record) {
	l.carryOut(r)
	l.file.unsaved = append(l.file.unsaved, r)
}

func (l *ledger) carryOut(r record) {
	switch {
	case r.Entry != nil:
		place := r.Entry.key()
		if r.Was != nil {
			place = *r.Was
		}
		l.put(r.Entry, l.entry(place.Site, place.ID))
	case r.Drop != nil:
		if e := l.entry(r.Drop.Site, r.Drop.ID); e != nil {
			l.Entries = slices.DeleteFunc(l.Entries, func(other *entry) bool { return other == e })
			l.unlist(e)
		}
		l.carryOut(record{Settle: r.Drop})
	case r.Owe != nil:
		if !slices.Contains(l.Pending, *r.Owe) {
			l.Pending = append(l.Pending, *r.Owe)
		}
	case r.Settle != nil:
		l.Pending = slices.DeleteFunc(l.Pending, func(k key) bool { return k == *r.Settle })
	case r.Lock != nil:
		if l.Locked == nil {
			l.Locked = map[string]hold{}
		}
		l.Locked[r.Lock.Site] = hold{r.Lock.Run, r.Lock.Unlock}
	case r.Unlock != "":
		delete(l.Locked, r.Unlock)
	case len(r.Made) > 0:
		l.Made = r.Made
	case r.Left != "":
		if !slices.Contains(l.Left, r.Left) {
			l.Left = append(l.Left, r.Left)
		}
	case r.Gone != "":
		l.Left = slices.DeleteFunc(l.Left, func(dir string) bool { return dir == r.Gone })
	case r.Owner != nil && r.Owner.Lineage == "":
		delete(l.Owners, r.Owner.Site)
	case r.Owner != nil:
		if l.Owners == nil {
			l.Owners = map[string]string{}
		}
		l.Owners[r.Owner.Site] = r.Owner.Lineage
	case r.Noop != nil && r.Noop.Digest == "":
		delete(l.Noop[r.Noop.Site], r.Noop.ID)
	case r.Noop != nil:
		if l.Noop == nil {
			l.Noop = map[string]map[resource.ID]string{}
		}
		if l.Noop[r.Noop.Site] == nil {
			l.Noop[r.Noop.Site] = map[resource.ID]string{}
		}
		l.Noop[r.Noop.Site][r.Noop.ID] = r.Noop.Digest
	}
}

// put enters e in the place of old, or at the end when that is nil.
func (l *ledger) put(e, old *entry) {
	switch old {
	case e:
		return
	case nil:
		l.Entries = append(l.Entries, e)
	default:
		l.Entries[slices.Index(l.Entries, old)] = e
		l.unlist(old)
	}
	if l.index == nil {
		l.index = map[resource.ID][]*entry{}
	}
	l.index[e.id] = append(l.index[e.id], e)
}

func (l *ledger) unlist(e *entry) {
	l.index[e.id] = slices.DeleteFunc(l.index[e.id], func(other *entry) bool { return other == e })
}

// entry returns what a site applied under an id, nil when that is nothing.
func (l *ledger) entry(site string, id resource.ID) *entry {
	for _, e := range l.index[id] {
		if e.Site == site {
			return e
		}
	}
	return nil
}

// owner returns another site that applied a resource of this id, empty when there is none.
func (l *ledger) owner(not string, id resource.ID) string {
	for _, e := range l.index[id] {
		if e.Site != not {
			return e.Site
		}
	}
	return ""
}

// of lists what a site applied: id -> digest. What was notified and not refreshed yet is not finished, so its digest is
// empty. A resource with noop has the digest of the form that was looked at last, after [resource.Watched] when it was
// never applied.
func (l *ledger) of(site string) map[resource.ID]string {
	out := map[resource.ID]string{}
	for _, e := range l.Entries {
		if e.Site == site {
			out[e.id] = e.Digest
		}
	}
	for _, k := range l.Pending {
		if _, applied := out[k.ID]; applied && k.Site == site {
			out[k.ID] = ""
		}
	}
	for id, digest := range l.Noop[site] {
		if _, applied := out[id]; !applied {
			digest = resource.Watched + digest
		}
		out[id] = digest
	}
	return out
}

// setNoop records that a resource has noop, or with an empty digest that it has it no more.
func (l *ledger) setNoop(k key, digest string) {
	if l.Noop[k.Site][k.ID] != digest {
		l.change(record{Noop: &noop{k, digest}})
	}
}

// owes reports whether a resource was notified and not refreshed yet.
func (l *ledger) owes(k key) bool { return slices.Contains(l.Pending, k) }

func (l *ledger) owe(k key) {
	if !l.owes(k) {
		l.change(record{Owe: &k})
	}
}

func (l *ledger) settle(k key) {
	if l.owes(k) {
		l.change(record{Settle: &k})
	}
}

// empty reports whether nothing of any site is left.
func (l *ledger) empty() bool {
	for _, ids := range l.Noop {
		if len(ids) > 0 {
			return false
		}
	}
	return len(l.Entries) == 0 && len(l.Pending) == 0 && len(l.Locked) == 0
}

// parseLedger reads the ledger as it was written as a whole.
func parseLedger(content []byte) (*ledger, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(content, &version); err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	if version.Version != ledgerVersion {
		return nil, fmt.Errorf("has version %d, and this slipway knows version %d only; use the slipway that wrote it",
			version.Version, ledgerVersion)
	}
	l := &ledger{}
	if err := resource.DecodeStrictly(content, l); err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	entries := l.Entries
	l.Entries = make([]*entry, 0, len(entries))
	for i, e := range entries {
		if err := e.complete(); err != nil {
			return nil, fmt.Errorf("is damaged: entry %d %w", i, err)
		}
		if l.entry(e.Site, e.id) != nil {
			return nil, fmt.Errorf("is damaged: %s of site %q is there twice", e.id, e.Site)
		}
		l.put(e, nil)
	}
	return l, l.checkMade()
}

// complete checks what was read of an entry.
func (e *entry) complete() error {
	if e == nil || e.Site == "" || e.Type == "" || e.Title == "" {
		return errors.New("names no site, type or title")
	}
	if e.id = resource.MakeID(e.Type, e.Title); len(e.Before) == 0 {
		e.Before = json.RawMessage("null")
	}
	return nil
}

func (l *ledger) checkMade() error {
	for _, dir := range l.Made {
		if !strings.HasPrefix(system.Home, dir+"/") {
			return fmt.Errorf("is damaged: %q is not above %s", dir, system.Home)
		}
	}
	return nil
}

// has reports whether anything of a site is recorded.
func (l *ledger) has(site string) bool {
	_, locked := l.Locked[site]
	return locked || len(l.of(site)) > 0
}
