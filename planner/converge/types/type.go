// Package types has what the configuration resource types, and the actions of remote tasks, do on a node: one
// implementation of check-then-apply for each, and the contract that all of them keep ([Type]). What may be written of
// a type is in package schema; in which order resources are handled, and what is recorded of them, is decided in
// package converge.
package types

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Type is a configuration resource type. A new one is one new file and one line in the table of
// types.go, here and in package schema.
//
// Methods are called by one goroutine at a time, with resources that passed the schema. They must leave nothing behind
// when ctx ends, and must not show secrets in errors or differences.
type Type interface {
	// Schema returns what may be written of the type.
	Schema() resource.Schema
	// Check reports how the node differs from r, without changing it. It returns no differences, and no error, when the
	// node is in the desired state. It is called at plan time for drift, so it must be safe to run at any moment.
	Check(ctx context.Context, s *Session, r resource.Resource) ([]Difference, error)
	// Capture describes what is there before slipway touches it for the first time, so that Undo can bring it back; the
	// text goes into the ledger and must hold no secret. It is called before the first Apply of a resource only.
	Capture(ctx context.Context, s *Session, r resource.Resource) (json.RawMessage, error)
	// Apply brings the node into the desired state. It is called only when Check found differences, and Check must find
	// none afterwards. It may be repeated after a crash at any point.
	Apply(ctx context.Context, s *Session, r resource.Resource) error
	// Undo brings back what Capture described, no more: what was there before stays or returns, what slipway made goes. It
	// may be repeated after a crash at any point, and succeeds when there is nothing left to undo.
	Undo(ctx context.Context, s *Session, title string, before json.RawMessage) error
}

// Resolver is implemented by types with Schema.Target whose objects have several names, which only the node knows to be
// one.
type Resolver interface {
	// Resolve returns the one name of an object on the node as it is now; a name that cannot be resolved is returned as it
	// is.
	Resolve(s *Session, object string) string
}

// Mover is implemented by types whose resources may have two objects for a while: a new one is applied before the
// former one is undone, which stays when that fails.
type Mover interface {
	// Beside reports whether what r applies can be there beside what before, which Capture returned, is about. moved says
	// that the two objects are not one, whatever their names.
	Beside(s *Session, r resource.Resource, before json.RawMessage, moved bool) bool
}

// Sharer is implemented by types whose objects may be one thing on the node under several names that all stay.
type Sharer interface {
	// Shares returns what r changes of a thing that has other names, too, by parameter; the thing is empty when there is
	// none.
	Shares(s *Session, r resource.Resource) (Shared, error)
	// Shared returns what Shares said when before was captured or widened last, if that is the same thing still.
	Shared(s *Session, before json.RawMessage) Shared
}

// Aimer is implemented by types with Schema.Target that an earlier slipway knew fewer aims of.
type Aimer interface {
	// Aim returns the aim of an entry of the ledger as it would be recorded now.
	Aim(s *Session, title, recorded string, before json.RawMessage) (string, error)
}

// Widener is implemented by types whose Capture describes only what the resource says something of: anything else is
// not slipway's to bring back.
type Widener interface {
	// Widen adds to before what r says something of and earlier forms of the resource did not, as it is now. What before
	// says already stays. It is called before every Apply but the first, and when a resource has another form, and may be
	// repeated.
	Widen(ctx context.Context, s *Session, r resource.Resource, before json.RawMessage) (json.RawMessage, error)
}

// Imager is implemented by types whose changes of one run can be taken back.
type Imager interface {
	// Image describes all that before speaks of as it is now, so that Undo brings that back: what a run is about to
	// change. It is empty when the type cannot bring it back.
	Image(ctx context.Context, s *Session, title string, before json.RawMessage) (json.RawMessage, error)
}

// Reviver is implemented by types whose objects read what other resources make: what ran comes back last.
type Reviver interface {
	// Ran reports whether an image is of something that ran.
	Ran(image json.RawMessage) bool
	// Revive does what Undo does, and restarts what runs, so that it reads again what came back before.
	Revive(ctx context.Context, s *Session, title string, image json.RawMessage) error
}

// Preparer is implemented by types whose Capture, Widen and Apply need what is fetched first.
type Preparer interface {
	// Prepare fetches it. It is called before every Apply, and before what is about to be done is recorded: after an
	// error, nothing is.
	Prepare(ctx context.Context, s *Session, r resource.Resource) error
}

// Resumer is implemented by types whose Apply may leave more unfinished than Check looks at (the packages that come
// along with one).
type Resumer interface {
	// Resume completes what was cut off in the middle of an Apply or Undo and returns what that was. before is what
	// Capture returned. It is called in mode Apply, before Check, when the ledger says that an Apply or Undo was started
	// and not finished, and, with undo, before the Undo of such a resource.
	Resume(ctx context.Context, s *Session, before json.RawMessage, undo bool) ([]Difference, error)
}

// Releaser is implemented by types whose resources leave alone what they say nothing of. When a form of a resource says
// nothing of something that an earlier one gave, that returns: to what was there before or, where slipway made the
// object, to what a new one has.
type Releaser interface {
	// Release returns the parameters that r lacks and an earlier form gave, with the values to which they return, and
	// before without what it knows of them. A value that nobody knows is not among the parameters: what is there stays.
	// Nothing on the node is changed.
	Release(
		ctx context.Context, s *Session, r resource.Resource, before json.RawMessage,
	) (returning resource.Parameters, rest json.RawMessage, err error)
}

// Finder is implemented by types whose objects others may take away.
type Finder interface {
	// There reports whether the object of a resource is on the node, whatever it is like. before is what Capture returned.
	There(ctx context.Context, s *Session, title string, before json.RawMessage) (bool, error)
}

// Differ is implemented by types whose differences stand for texts that are too long for them.
type Differ interface {
	// Diff shows how the text on the node differs from that of r, as a unified diff of a few lines. It is empty where
	// there is nothing to show, or where it may be secret. It is called after Check found differences, never for a
	// sensitive resource.
	Diff(ctx context.Context, s *Session, r resource.Resource) (string, error)
}

// Observer is implemented by types that keep on the node what parameters with secrets give. The Check of another type
// gets the parameters with references where the contents are not known, and compares without them.
type Observer interface {
	// Observe returns what may be a text of a parameter of r on the node, which may have a reference in its place.
	Observe(ctx context.Context, s *Session, r resource.Resource, parameter string) ([]string, error)
}

// Refresher is implemented by types that act when another resource notifies them (service: restart; exec: run).
type Refresher interface {
	Refresh(ctx context.Context, s *Session, r resource.Resource) error
}

// Prefetcher is implemented by types that learn about many resources at once for little more than the cost of one (all
// services by one `systemctl show`). What it finds it keeps in s until something changes.
type Prefetcher interface {
	Prefetch(ctx context.Context, s *Session, rs []resource.Resource) error
}

// Batcher is implemented by types that apply many resources at once for little more than the cost of one (one package
// transaction). rs follow each other in the manifest, differ, and have no requirement among them. The errors answer rs
// one by one.
type Batcher interface {
	ApplyBatch(ctx context.Context, s *Session, rs []resource.Resource) []error
	// Overtakes reports whether resources of the type may be applied before one of another type that comes before them in
	// the manifest and that they do not require.
	Overtakes(other resource.Resource) bool
}

// Shared is a thing on the node that has several names, each of which may have a resource of its own.
type Shared struct {
	Thing string            `json:"thing"`
	Sets  map[string]string `json:"sets"` // what the resource wants of it, by parameter, in one form for each value
}

// Contradicts returns an error when other wants something else of the same thing. id and otherID name the resources.
func (is Shared) Contradicts(other Shared, id, otherID string) error {
	if is.Thing != other.Thing {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(is.Sets)) {
		if should, said := other.Sets[name]; said && should != is.Sets[name] {
			return fmt.Errorf("%s and %s are one file, with two names (hard links), and differ in %s: %s here and %s there; "+
				"give both the same %s, or make them two files", id, otherID, name, is.Sets[name], should, name)
		}
	}
	return nil
}
