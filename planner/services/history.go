package services

import (
	"maps"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// CurrentRevisions returns the services of an inventory as revisions. A lost journal is rebuilt from them.
func CurrentRevisions(state Inventory) []Revision {
	t, _ := Unchanged(state, site.Site{}) // the plan reports what cannot be read
	var out []Revision
	for _, in := range t.live() {
		out = append(out, t.revision(t.records[in.ID], in))
	}
	return out
}

// Newer reports whether the journal has a later version of the service than the inventory.
func (s Inventory) Newer(journaled Revision) bool {
	r, ok := s.Records[journaled.Service]
	if !ok {
		return journaled.Incarnation > s.Former[journaled.Service]
	}
	return journaled.Incarnation > r.Incarnation || journaled.Incarnation == r.Incarnation &&
		journaled.Version > r.Version
}

// Merge returns the inventory with the newer records of the journal: services that a run changed without its end
// reaching Terraform's state. Values that the journal does not store are taken from the inventory. s does not change.
func (s Inventory) Merge(journal []Revision) Inventory {
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
		r := Record{Incarnation: journaled.Incarnation, Definition: journaled.EntityDigest}
		if _, known := s.Definitions[journaled.EntityDigest]; !known && journaled.Entity == old.Entity &&
			s.hasState(old.Definition, journaled.State) {
			// The definition that the run deployed is lost, so the one before it applies.
			r.Definition = old.Definition
		}
		r.Instance = old.Instance
		r.Entity = journaled.Entity
		r.ID, r.Version, r.DesiredVersion, r.State = journaled.Service, journaled.Version, journaled.DesiredVersion,
			journaled.State
		r.Config, r.Updated, r.Pending, r.Last, r.Deleted = journaled.Config, journaled.Time, nil, "", false
		r.Sets = lifecycle.Sets{Candidate: restoreOmitted(journaled.Candidate, old.Active, journaled.Redacted),
			Active: restoreOmitted(journaled.Active, old.Active, journaled.Redacted)}
		if r.Active != nil {
			r.Definitions.Active, r.ActiveVersion = journaled.EntityDigest, journaled.Version
		}
		if r.Candidate != nil && r.Active == nil {
			r.Definitions.Candidate = journaled.EntityDigest
		}
		if journaled.Rollback != nil && journaled.Incarnation == old.Incarnation && old.Active != nil &&
			journaled.EntityDigest != "" {
			r.Rollback, r.Definitions.Rollback, r.RollbackVersion = s.rollbackSet(old,
				journaled), old.Definitions.Active, old.ActiveVersion
		}
		out.Records[journaled.Service] = r
	}
	return out
}

// rollbackSet returns the attributes that a rollback restores: the active set of the inventory, which is complete, or
// that of the journal if there were more updates since.
func (s Inventory) rollbackSet(old Record, journaled Revision) map[string]any {
	b, err := s.Definitions[old.Definitions.Active].parse()
	if err != nil || resource.Canonical(withoutSensitive(b.entity.Structure, old.Active,
		make(map[string]bool))) == resource.Canonical(journaled.Rollback) {
		return old.Active
	}
	return restoreOmitted(journaled.Rollback, old.Active, journaled.Redacted)
}

// hasState reports whether the lifecycle of a definition has the state.
func (s Inventory) hasState(digest, state string) bool {
	b, err := s.Definitions[digest].parse()
	if err != nil {
		return false // also for the zero Definition, which has no entity
	}
	_, ok := b.entity.Machine.State(state)
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

// DeletedRevisions returns the revisions and events of the deletion of all services of a site that was torn down.
func DeletedRevisions(state Inventory, name string, at time.Time) ([]Revision, []Event) {
	t := newTransition(state, site.Site{Name: name}, at)
	for _, service := range state.Names() {
		t.forceDeletion(service, state.Records[service], "the site was torn down")
	}
	return t.revisions, t.events
}

// forceDeletion moves a service to the deleted state without asking its lifecycle, and removes it from the engine.
func (t *Transition) forceDeletion(name string, r Record, why string) {
	if _, known := t.definitions[r.Definition]; !known || !t.load(name, r, r.Definition) {
		return
	}
	in, _ := t.engine.Instance(name)
	for _, s := range t.definitions[r.Definition].entity.Machine.Lifecycle().States {
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
