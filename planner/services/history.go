package services

import (
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Redacted returns the sets of a version without the values of sensitive attributes, and the sorted paths of these
// attributes, such as `files.key`. A set that does not exist is nil.
func (v Version) Redacted() (candidate, active, rollback map[string]any, omitted []string) {
	paths := make(map[string]bool)
	show := func(which lifecycle.Set) map[string]any {
		set := v.Get(which)
		if set == nil {
			return nil
		}
		// this definition knows what was sensitive then
		if under := v.entities[which]; under != nil && under != v.Entity {
			set = withoutSensitive(under.Structure, set, "", paths)
		}
		return withoutSensitive(v.Entity.Structure, set, "", paths)
	}
	candidate, active, rollback = show(lifecycle.Candidate), show(lifecycle.Active), show(lifecycle.Rollback)
	return candidate, active, rollback, slices.Sorted(maps.Keys(paths))
}

// withoutSensitive returns the attributes without the values of sensitive ones, whose paths it adds to paths.
func withoutSensitive(s catalog.Structure, set map[string]any, at string, paths map[string]bool) map[string]any {
	out := maps.Clone(set)
	for _, a := range s.Attributes {
		if _, there := out[a.Name]; there && a.Sensitive {
			delete(out, a.Name)
			paths[at+a.Name] = true
		}
	}
	for _, e := range s.Embedded {
		switch v := out[e.Name].(type) {
		case map[string]any:
			out[e.Name] = withoutSensitive(e.Structure, v, at+e.Name+".", paths)
		case []any:
			children := slices.Clone(v)
			for i, child := range children {
				if object, ok := child.(map[string]any); ok {
					children[i] = withoutSensitive(e.Structure, object, at+e.Name+".", paths)
				}
			}
			out[e.Name] = children
		}
	}
	return out
}

// Definition returns the digest of the definition of the active set, or of the candidate if there is no active set.
func (v Version) Definition() string {
	if v.Definitions.Active != "" {
		return v.Definitions.Active
	}
	return v.Definitions.Candidate
}

// CurrentVersions returns the services of an inventory as versions. A lost journal is rebuilt from them.
func CurrentVersions(state Inventory) []Version {
	t, _ := Unchanged(state, site.Site{}) // the plan reports what cannot be read
	var out []Version
	for _, in := range t.live() {
		out = append(out, t.version(t.records[in.ID], in))
	}
	return out
}

// JournalRecord is a service as the journal stores it: without the values of sensitive attributes.
type JournalRecord struct {
	Service, Entity             string
	Incarnation                 int
	Version, DesiredVersion     int
	State                       string
	Deleted                     bool
	Config                      map[string]bool
	Definition                  string // see [Version.Definition]
	Candidate, Active, Rollback map[string]any
	Omitted                     []string // paths of the sensitive attributes
	Updated                     time.Time
}

// Newer reports whether the journal has a later version of the service than the inventory.
func (s Inventory) Newer(journaled JournalRecord) bool {
	r, ok := s.Records[journaled.Service]
	if !ok {
		return journaled.Incarnation > s.Former[journaled.Service]
	}
	return journaled.Incarnation > r.Incarnation || journaled.Incarnation == r.Incarnation &&
		journaled.Version > r.Version
}

// Merge returns the inventory with the newer records of the journal: services that a run changed without its end
// reaching Terraform's state. Values that the journal does not store are taken from the inventory. s does not change.
func (s Inventory) Merge(journal []JournalRecord) Inventory {
	out := Inventory{Records: make(map[string]Record), Definitions: s.Definitions, Former: make(map[string]int)}
	maps.Copy(out.Records, s.Records)
	maps.Copy(out.Former, s.Former)
	for _, journaled := range journal {
		if !s.Newer(journaled) {
			continue
		}
		old := s.Records[journaled.Service]
		delete(out.Records, journaled.Service)
		if journaled.Deleted {
			out.Former[journaled.Service] = journaled.Incarnation
			continue
		}
		r := Record{Incarnation: journaled.Incarnation, Definition: journaled.Definition}
		if _, known := s.Definitions[journaled.Definition]; !known && journaled.Entity == old.Entity &&
			s.hasState(old.Definition, journaled.State) {
			// The definition that the run deployed is lost, so the one before it applies.
			r.Definition = old.Definition
		}
		r.Instance = old.Instance
		r.Entity = journaled.Entity
		r.ID, r.Version, r.DesiredVersion, r.State = journaled.Service, journaled.Version, journaled.DesiredVersion,
			journaled.State
		r.Config, r.Updated, r.Pending, r.Last, r.Deleted = journaled.Config, journaled.Updated, nil, "", false
		r.Sets = lifecycle.Sets{Candidate: restoreOmitted(journaled.Candidate, old.Active, journaled.Omitted),
			Active: restoreOmitted(journaled.Active, old.Active, journaled.Omitted)}
		if r.Active != nil {
			r.Definitions.Active, r.ActiveVersion = journaled.Definition, journaled.Version
		}
		if r.Candidate != nil && r.Active == nil {
			r.Definitions.Candidate = journaled.Definition
		}
		if journaled.Rollback != nil && journaled.Incarnation == old.Incarnation && old.Active != nil &&
			journaled.Definition != "" {
			r.Rollback, r.Definitions.Rollback, r.RollbackVersion = s.rollbackSet(old,
				journaled), old.Definitions.Active, old.ActiveVersion
		}
		out.Records[journaled.Service] = r
	}
	return out
}

// rollbackSet returns the attributes that a rollback restores: the active set of the inventory, which is complete, or
// that of the journal if there were more updates since.
func (s Inventory) rollbackSet(old Record, journaled JournalRecord) map[string]any {
	b, err := s.Definitions[old.Definitions.Active].parse()
	if err != nil || catalog.Canonical(withoutSensitive(b.entity.Structure, old.Active, "",
		make(map[string]bool))) == catalog.Canonical(journaled.Rollback) {
		return old.Active
	}
	return restoreOmitted(journaled.Rollback, old.Active, journaled.Omitted)
}

// hasState reports whether the lifecycle of a definition has the state.
func (s Inventory) hasState(digest, state string) bool {
	b, err := s.Definitions[digest].parse()
	if err != nil {
		return false // also for the zero Definition, which has no entity
	}
	_, ok := b.machine.State(state)
	return ok
}

// WithoutServices returns an inventory that has no services but remembers how often each name was used.
func (s Inventory) WithoutServices() Inventory {
	out := Inventory{Former: make(map[string]int)}
	maps.Copy(out.Former, s.Former)
	for name, r := range s.Records {
		out.Former[name] = r.Incarnation
	}
	return out
}

// restoreOmitted returns the set with the omitted values of another set. Values inside embedded entities remain
// omitted.
func restoreOmitted(set, from map[string]any, omitted []string) map[string]any {
	if set == nil {
		return nil
	}
	out := maps.Clone(set)
	for _, name := range omitted {
		if value, ok := from[name]; ok {
			out[name] = value
		}
	}
	return out
}

// DeletedVersions returns the versions and events of the deletion of all services of a site that was torn down.
func DeletedVersions(state Inventory, name string, at time.Time) ([]Version, []Event) {
	t := newTransition(state, site.Site{Name: name}, at)
	for _, service := range state.Names() {
		t.forceDeletion(service, state.Records[service], "the site was torn down")
	}
	return t.versions, t.events
}

// forceDeletion moves a service to the deleted state without asking its lifecycle, and removes it from the engine.
func (t *Transition) forceDeletion(name string, r Record, why string) {
	if _, known := t.definitions[r.Definition]; !known || !t.load(name, r, r.Definition) {
		return
	}
	in, _ := t.engine.Instance(name)
	for _, s := range t.definitions[r.Definition].machine.Lifecycle().States {
		if !s.Deleted {
			continue
		}
		result, err := t.engine.ForceState(lifecycle.Call{ID: name, At: t.at, Message: why}, s.Name,
			lifecycle.NoOperation)
		if err != nil {
			t.addRefusal(name, err)
			return
		}
		t.recordResult(name, in, result)
		break
	}
	_, _ = t.engine.Forget(lifecycle.Call{ID: name, At: t.at}) // it exists: it was just loaded
}
