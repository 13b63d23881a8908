package services

import (
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// Shown returns the sets of a version without the values of sensitive attributes, and the places of these, `files.key`,
// sorted. A set that is not there is nil.
func (v Version) Shown() (candidate, active, rollback map[string]any, left []string) {
	places := make(map[string]bool)
	show := func(which lifecycle.Set) map[string]any {
		set := v.Get(which)
		if set == nil {
			return nil
		}
		if under := v.made[which]; under != nil && under != v.Entity { // it tells what was sensitive then
			set = withoutSensitive(under.Structure, set, "", places)
		}
		return withoutSensitive(v.Entity.Structure, set, "", places)
	}
	candidate, active, rollback = show(lifecycle.Candidate), show(lifecycle.Active), show(lifecycle.Rollback)
	return candidate, active, rollback, slices.Sorted(maps.Keys(places))
}

// withoutSensitive returns attributes without the values of sensitive ones, whose places it notes.
func withoutSensitive(s catalog.Structure, set map[string]any, at string, places map[string]bool) map[string]any {
	out := maps.Clone(set)
	for _, a := range s.Attributes {
		if _, there := out[a.Name]; there && a.Sensitive {
			delete(out, a.Name)
			places[at+a.Name] = true
		}
	}
	for _, e := range s.Embedded {
		switch v := out[e.Name].(type) {
		case map[string]any:
			out[e.Name] = withoutSensitive(e.Structure, v, at+e.Name+".", places)
		case []any:
			children := slices.Clone(v)
			for i, child := range children {
				if object, ok := child.(map[string]any); ok {
					children[i] = withoutSensitive(e.Structure, object, at+e.Name+".", places)
				}
			}
			out[e.Name] = children
		}
	}
	return out
}

// Made is what the set of a version that counts was made under, by digest: the active one, or the candidate before
// there is one.
func (v Version) Made() string {
	if v.Basis.Active != "" {
		return v.Basis.Active
	}
	return v.Basis.Candidate
}

// Present returns the services of a state as versions: what a journal that was lost is written anew from.
func Present(state State) []Version {
	t, _ := Rest(state, siteNamed("")) // what cannot be read is told by the plan
	var out []Version
	for _, in := range t.live() {
		out = append(out, t.version(t.records[in.ID], in))
	}
	return out
}

// Seen is a service as a journal has it: without the values of sensitive attributes.
type Seen struct {
	Service, Entity             string
	Incarnation                 int
	Version, DesiredVersion     int
	State                       string
	Deleted                     bool
	Config                      map[string]bool
	Made                        string // see [Version.Made]
	Candidate, Active, Rollback map[string]any
	Left                        []string // places of values that were left out
	Updated                     time.Time
}

// Newer reports whether a journal knows a later version of a service than the state.
func (s State) Newer(seen Seen) bool {
	r, ok := s.Records[seen.Service]
	if !ok {
		return seen.Incarnation > s.Former[seen.Service]
	}
	return seen.Incarnation > r.Incarnation || seen.Incarnation == r.Incarnation && seen.Version > r.Version
}

// Adopt returns the state with what a journal knows better: services that a run changed whose end Terraform never
// learned. Values that the journal does not keep are those of the state, as far as it has them. The state is not
// changed.
func (s State) Adopt(journal []Seen) State {
	out := State{Records: make(map[string]Record), Bases: s.Bases, Former: make(map[string]int)}
	maps.Copy(out.Records, s.Records)
	maps.Copy(out.Former, s.Former)
	for _, seen := range journal {
		if !s.Newer(seen) {
			continue
		}
		old := s.Records[seen.Service]
		delete(out.Records, seen.Service)
		if seen.Deleted {
			out.Former[seen.Service] = seen.Incarnation
			continue
		}
		r := Record{Incarnation: seen.Incarnation, Under: seen.Made}
		if _, known := s.Bases[seen.Made]; !known && seen.Entity == old.Entity && s.has(old.Under, seen.State) {
			// nobody knows any more what the run deployed: what the service may do goes by what it was made under
			// before
			r.Under = old.Under
		}
		r.Instance = old.Instance
		r.Entity = seen.Entity
		r.ID, r.Version, r.DesiredVersion, r.State = seen.Service, seen.Version, seen.DesiredVersion, seen.State
		r.Config, r.Updated, r.Pending, r.Last, r.Deleted = seen.Config, seen.Updated, nil, "", false
		r.Sets = lifecycle.Sets{Candidate: fill(seen.Candidate, old.Active, seen.Left),
			Active: fill(seen.Active, old.Active, seen.Left)}
		if r.Active != nil {
			r.Basis.Active, r.ActiveVersion = seen.Made, seen.Version
		}
		if r.Candidate != nil && r.Active == nil {
			r.Basis.Candidate = seen.Made
		}
		if seen.Rollback != nil && seen.Incarnation == old.Incarnation && old.Active != nil && seen.Made != "" {
			r.Rollback, r.Basis.Rollback, r.RollbackVersion = s.before(old, seen), old.Basis.Active, old.ActiveVersion
		}
		out.Records[seen.Service] = r
	}
	return out
}

// before returns what a service goes back to: the set that the state has as active, which is whole, or what the journal
// has where there were more updates since.
func (s State) before(old Record, seen Seen) map[string]any {
	b, err := s.Bases[old.Basis.Active].read()
	if err != nil || catalog.Canonical(withoutSensitive(b.entity.Structure, old.Active, "",
		make(map[string]bool))) == catalog.Canonical(seen.Rollback) {
		return old.Active
	}
	return fill(seen.Rollback, old.Active, seen.Left)
}

// has reports whether the lifecycle of a basis has a state.
func (s State) has(digest, state string) bool {
	b, err := s.Bases[digest].read()
	if err != nil {
		return false // the zero basis, too: it has no entity
	}
	_, ok := b.machine.State(state)
	return ok
}

// Ended returns a state without services, in which the names of those of s count as used.
func (s State) Ended() State {
	out := State{Former: make(map[string]int)}
	maps.Copy(out.Former, s.Former)
	for name, r := range s.Records {
		out.Former[name] = r.Incarnation
	}
	return out
}

// fill puts values that were left out back, from another set; those inside of embedded entities stay out.
func fill(set, from map[string]any, left []string) map[string]any {
	if set == nil {
		return nil
	}
	out := maps.Clone(set)
	for _, name := range left {
		if value, ok := from[name]; ok {
			out[name] = value
		}
	}
	return out
}

// Gone returns the services of a state as they are once the whole site is torn down: deleted.
func Gone(state State, name string, at time.Time) ([]Version, []Event) {
	t := newTurn(state, siteNamed(name), at)
	for _, service := range state.Names() {
		t.end(service, state.Records[service], "the site was torn down")
	}
	return t.versions, t.events
}

// end brings a service of the state to where it is deleted, without asking its lifecycle, and forgets it.
func (t *Turn) end(name string, r Record, why string) {
	if _, known := t.bases[r.Under]; !known || !t.load(name, r, r.Under) {
		return
	}
	in, _ := t.inventory.Instance(name)
	for _, s := range t.bases[r.Under].machine.Lifecycle().States {
		if !s.Deleted {
			continue
		}
		result, err := t.inventory.ForceState(lifecycle.Call{ID: name, At: t.at, Message: why}, s.Name,
			lifecycle.NoOperation)
		if err != nil {
			t.refused(name, err)
			return
		}
		t.did(name, in, result)
		break
	}
	_, _ = t.inventory.Forget(lifecycle.Call{ID: name, At: t.at}) // it is there: it was loaded a moment ago
}
