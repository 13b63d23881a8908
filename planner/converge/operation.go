package converge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// operation is one item of a manifest on its way through a session.
type operation struct {
	Item
	id    resource.ID
	typ   types.Type         // nil when the type is not known
	given *resource.Resource // the resource as it came, where it may have been completed with what returns
	named *resource.Resource // the resource with references to secrets, nil where it has none
	// contents are those of the secrets that it refers to; unseen says that the controller did not send them.
	contents []string
	unseen   bool
	covers   bool // what it differs from may be secret, whatever is wanted
	wrong    error
	object   string // what it looks after (Named)
	aim      string
	// resolved is the object under its one name at the start of the session.
	resolved object
	// follows is the one that looked after the object until now, and is about to leave it.
	follows  *operation
	followed bool
	// leaves are the removals of what is in the directory that it looked after until now, of which each has it as leaving.
	leaves  []*operation
	leaving *operation

	started time.Time
	ended   time.Time
	log     *system.Tail
	notice  string
	undone  string             // the object, or aim, that had to go before it could be applied
	moved   []types.Difference // it has left another object, or what was cut off is completed
	diffs   []types.Difference
	result  Result
	done    bool // result is final
}

// plan turns the items into operations and finds what is wrong with them. It trusts nothing that came from the
// controller.
func (x *session) plan() []*operation {
	seen := map[resource.ID]bool{}
	operations := make([]*operation, len(x.manifest.Items))
	for i, item := range x.manifest.Items {
		j := &operation{Item: item, id: item.ID(), typ: x.types[item.Type]}
		operations[i] = j
		switch {
		case j.typ == nil:
			j.wrong = fmt.Errorf("type %q is not known on the node; known are %s",
				item.Type, strings.Join(slices.Sorted(maps.Keys(x.types)), ", "))
		case item.Title == "":
			j.wrong = errors.New("the resource has no title")
		case seen[j.id]:
			j.wrong = errors.New("the resource is in the manifest twice; it must be there once")
		case !item.Remove:
			j.wrong = x.validate(j)
		}
		seen[j.id] = true
	}
	x.findConflicts(operations)
	x.sortRemovals(operations)
	return x.moveDirectories(operations)
}

// validate returns why a resource cannot be handled on this node, and brings it into its one form.
func (x *session) validate(j *operation) error {
	declared := j.typ.Schema()
	if err := x.resolveSecrets(j, declared); err != nil {
		return err
	}
	if wrong := declared.Validate(j.Resource); len(wrong) > 0 {
		texts := make([]string, len(wrong))
		for i, e := range wrong {
			texts[i] = e.Error()
		}
		return errors.New(strings.Join(texts, "; "))
	}
	j.Resource = declared.Normalize(j.Resource)
	named := j.written() // what identifies it has no secret
	if j.Digest == "" {
		j.Digest = resource.Digest(named)
	}
	if err := x.differsFromOthers(j); err != nil {
		return err
	}
	if declared.Target != nil {
		j.object, j.aim = declared.Target(named)
	}
	if declared.NeedsMachine && !x.sys.Machine() {
		return fmt.Errorf("type %q needs a whole machine: %w", j.Type, system.ErrSandbox)
	}
	return nil
}

// finish makes an outcome final.
func (j *operation) finish(status Status) {
	j.result.Status, j.done, j.ended = status, true, time.Now()
}

func (j *operation) fail(err error) {
	j.end(Failed, err.Error())
}

func (j *operation) skip(why string) {
	j.end(Skipped, why)
}

// end makes an outcome final that leaves the item not applied.
func (j *operation) end(status Status, why string) {
	j.result.Message = why
	if j.undone != "" {
		j.result.Message += fmt.Sprintf("; what it looked after before, %s, was undone first", j.undone)
	}
	j.finish(status)
}

// start makes an operation the one at work.
func (x *session) start(j *operation) {
	if j.log == nil {
		j.started, j.log = time.Now(), &system.Tail{Limit: system.OutputLimit}
	}
	x.sys.ID, x.sys.Digest, x.sys.Log, x.sys.Notice = j.id, j.Digest, j.log, &j.notice
	x.show(j)
}

// show sends what the commands of operations print from now on, unless one of them is sensitive. Together they are
// shown as the first.
func (x *session) show(operations ...*operation) {
	var secrets []string
	for _, j := range operations {
		if j.Sensitive() {
			x.live.End()
			return
		}
		secrets = append(secrets, j.secrets()...)
	}
	x.live.Begin(x.printing(Result{ID: operations[0].id}), secrets)
}

// printing returns what sends what an item, or a command of the session, prints.
func (x *session) printing(r Result) func(text string) {
	r.Status = Printing
	return func(text string) {
		r.Output = text
		x.emit(r)
	}
}

// The bounds of what a result says: texts in bytes, and more differences than a resource has parameters.
const (
	differenceLimit = 200
	messageLimit    = 1024
	mostDifferences = 64
)

// written returns the resource with references in place of the contents of secrets.
func (j *operation) written() resource.Resource {
	if j.named != nil {
		return *j.named
	}
	return j.Resource
}

// parameters returns the parameters of the item's type, none when that is not known.
func (j *operation) parameters() []resource.Parameter {
	if j.typ == nil {
		return nil
	}
	return j.typ.Schema().Parameters
}

// secret reports whether a parameter is never shown: one of a sensitive resource, and one that has a secret.
func (j *operation) secret(p resource.Parameter) bool {
	r := j.written()
	return p.Sensitive || r.Sensitive() || r.Parameters.HasSecret(p.Name)
}

// public reports whether the values of a parameter are a few that anyone can read in the documentation, or numbers.
func public(p resource.Parameter) bool {
	return len(p.Values) > 0 || p.Kind == resource.Bool || p.Kind == resource.Integer
}

// shows reports whether a result may have the values of a difference. Beside a secret these are values of parameters
// that are given without one: others, such as the content of what is given in base64, may be made from it.
func (j *operation) shows(difference string) bool {
	if difference == refreshParameter || difference == types.BootParameter {
		return true
	}
	if j.covers || j.written().Sensitive() {
		return false
	}
	for _, p := range j.parameters() {
		if p.Name == difference {
			return !j.secret(p) && (j.named == nil || public(p) || j.Parameters.Has(p.Name))
		}
	}
	return j.named == nil
}

// secrets returns the texts that must not be shown, the longest first, so that no part of one stays because another was
// in it.
func (j *operation) secrets() (values []string) {
	for _, p := range j.parameters() {
		if !j.secret(p) || public(p) {
			continue
		}
		values = append(values, j.Parameters.Strings(p.Name)...)
		for _, c := range j.Parameters.Commands(p.Name) {
			values = append(values, c.Words...)
		}
		values = append(values, slices.Collect(maps.Values(j.Parameters.StringMap(p.Name)))...)
	}
	for _, content := range j.contents { // part of a text, or printed a line at a time
		values = append(append(values, content), strings.Split(content, "\n")...)
	}
	for _, v := range slices.Clone(values) { // errors write them in quotes, too
		if quoted := strconv.Quote(v); quoted != `"`+v+`"` {
			values = append(values, quoted[1:len(quoted)-1])
		}
	}
	values = slices.DeleteFunc(values, func(v string) bool {
		return len(v) <= 2 || v == j.Title // what is shorter occurs everywhere and says nothing
	})
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	return values
}

// redact takes secrets, and what acts on terminals, out of a result, and bounds it. It does not rely on the types,
// whose errors repeat what commands print.
func (j *operation) redact(r *Result) {
	if j.log != nil {
		r.Output = j.log.String()
	}
	values := j.secrets()
	clean := func(text string, limit int) string {
		for _, v := range values {
			text = strings.ReplaceAll(text, v, types.Hidden)
		}
		return resource.Visible(strings.ToValidUTF8(bounded(text, limit), "\uFFFD"))
	}
	r.Message = clean(r.Message, messageLimit)
	r.Notice = clean(j.notice, messageLimit)
	r.Output = clean(r.Output, system.OutputLimit)
	r.Diff = clean(r.Diff, system.OutputLimit)
	if j.Sensitive() {
		r.Output, r.Diff = "", ""
	}
	r.Differences = slices.Clone(r.Differences)
	for i := range r.Differences {
		d := &r.Differences[i]
		if !j.shows(d.Parameter) {
			d.Is, d.Should = types.Hidden, types.Hidden
		}
		d.Is, d.Should = clean(d.Is, differenceLimit), clean(d.Should, differenceLimit)
	}
}

// bounded cuts a text to a number of bytes, at a whole character.
func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

// guarded calls a type's method. An error in a type must cost one item and not the session, nor the provider's
// process.
func guarded[T any](typ string, call func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error in the type %q: %v; please report it", typ, p)
		}
	}()
	return call()
}

// check asks the type how the node differs, after it had the chance to learn about all items still to come at once.
func (x *session) check(ctx context.Context, j *operation) ([]types.Difference, error) {
	if p, ok := j.typ.(types.Prefetcher); ok {
		if at, done := x.prefetched[j.Type]; !done || at != x.sys.Generation {
			var rs []resource.Resource
			for _, other := range x.operations {
				if other.Type == j.Type && other.wrong == nil && !other.Remove && !other.RefreshOnly &&
					(!other.done || other == j) {
					rs = append(rs, other.Resource)
				}
			}
			// Prefetch only saves time: where it fails, the Check of each item finds out for itself and reports it.
			_, _ = guarded(j.Type, func() (any, error) { return nil, p.Prefetch(ctx, x.sys, rs) })
			x.prefetched[j.Type] = x.sys.Generation
		}
	}
	return guarded(j.Type, func() ([]types.Difference, error) { return j.typ.Check(ctx, x.sys, j.Resource) })
}
