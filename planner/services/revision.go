package services

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// Revision is the whole content of one version of a service (lsm.md 17), as the journal stores it. It contains no
// secret: the values of sensitive attributes are left out.
type Revision struct {
	Service        string `json:"service"`     // its name
	Incarnation    int    `json:"incarnation"` // from 0; grows when a service of this name is created again
	ID             string `json:"id"`          // of the instance
	Entity         string `json:"entity"`
	EntityVersion  int    `json:"entity_version"`
	Identity       string `json:"identity,omitempty"` // value of the identity attribute as text, if the entity has one
	Lifecycle      string `json:"lifecycle"`
	State          string `json:"state"`
	Label          string `json:"label,omitempty"` // of the state: info, success, warning, danger or empty
	Version        int    `json:"version"`         // change counter, from 1 (lsm.md 7)
	DesiredVersion int    `json:"desired_version"` // counter of deployments (lsm.md 10)
	Deleted        bool   `json:"deleted"`         // the state belongs to a deleted service
	// why the last transfer happened: `auto`, `update` and so on
	TransferContext string    `json:"reason,omitempty"`
	Time            time.Time `json:"updated"` // of the change; zero means now
	Run             string    `json:"run"`     // that recorded this version; empty means the run of the writer
	Owner           string    `json:"owner"`   // host and process of that run; empty means those of the writer
	// of the definition of the active set, or of the candidate if there is no active set
	EntityDigest string `json:"entity_digest,omitempty"`

	// Attribute sets; nil means no such set, which differs from an empty one. Whole numbers are int64, others float64,
	// lists []any, objects map[string]any.
	Candidate map[string]any  `json:"candidate"`
	Active    map[string]any  `json:"active"`
	Rollback  map[string]any  `json:"rollback"`
	Redacted  []string        `json:"redacted"` // sorted paths of the attributes left out of the sets: `files.key`
	Config    map[string]bool `json:"config"`   // the lifecycle gates that the service sets
	// the services to which the relations in the candidate and the active set refer, sorted; nil in what an older slipway
	// recorded, whose journals did not have them
	References []string `json:"references"`
}

// revision returns the service as a revision for its history.
func (t *Transition) revision(r Record, in lifecycle.Instance) Revision {
	b := t.definitions[r.Definition]
	state, _ := b.entity.Machine.State(in.State)
	out := Revision{
		Service: in.ID, Incarnation: r.Incarnation, Version: in.Version, DesiredVersion: in.DesiredVersion, ID: in.ID,
		Entity: b.entity.Name, EntityVersion: b.entity.Version, EntityDigest: in.Definitions.Active,
		Lifecycle: b.entity.Machine.Lifecycle().Name, State: in.State, Label: string(state.Label), Deleted: in.Deleted,
		TransferContext: string(in.Cause), Config: in.Config, Time: in.Updated,
	}
	if out.EntityDigest == "" {
		out.EntityDigest = in.Definitions.Candidate
	}
	if a, ok := b.entity.Attribute(b.entity.Identity); ok && !a.Sensitive {
		if value, ok := in.Base()[a.Name]; ok {
			out.Identity = fmt.Sprint(value)
		}
	}
	redacted := make(map[string]bool)
	redact := func(set map[string]any, definition string) map[string]any {
		if set == nil {
			return nil
		}
		// that definition knows what was sensitive then
		if under, known := t.definitions[definition]; known && under.entity != b.entity {
			set = withoutSensitive(under.entity.Structure, set, redacted)
		}
		return withoutSensitive(b.entity.Structure, set, redacted)
	}
	out.Candidate = redact(in.Candidate, in.Definitions.Candidate)
	out.Active = redact(in.Active, in.Definitions.Active)
	out.Rollback = redact(in.Rollback, in.Definitions.Rollback)
	out.Redacted = slices.Sorted(maps.Keys(redacted))
	out.References = []string{}
	for _, r := range lifecycle.References(in, b.entity.Structure) {
		out.References = append(out.References, r.Target)
	}
	slices.Sort(out.References)
	out.References = slices.Compact(out.References)
	return out
}

// withoutSensitive returns the attributes without the values of sensitive ones, whose paths it adds to paths.
func withoutSensitive(s catalog.Structure, set map[string]any, paths map[string]bool) map[string]any {
	return s.Edit(set, func(at string, s catalog.Structure, object map[string]any) {
		for _, a := range s.Attributes {
			if _, there := object[a.Name]; there && a.Sensitive {
				delete(object, a.Name)
				paths[invalid.PathTo(at, a.Name)] = true
			}
		}
	})
}

// WithoutSensitive returns the inventory without the values of sensitive attributes. A plan takes those that services
// lack from what is wanted, as it does with services that come from the journal. s does not change.
func (s Inventory) WithoutSensitive() Inventory {
	records := make(map[string]Record, len(s.Records))
	for name, r := range s.Records {
		redacted := func(set map[string]any, digest string) map[string]any {
			d, err := s.Definitions[digest].parse()
			if set == nil || err != nil {
				return nil
			}
			return withoutSensitive(d.entity.Structure, set, map[string]bool{})
		}
		r.Candidate = redacted(r.Candidate, r.Definitions.Candidate)
		r.Active = redacted(r.Active, r.Definitions.Active)
		r.Rollback = redacted(r.Rollback, r.Definitions.Rollback)
		records[name] = r
	}
	if len(records) > 0 {
		s.Records = records
	}
	return s
}
