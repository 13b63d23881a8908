package services

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Inventory has the services of a site between runs. The zero Inventory has no services.
type Inventory struct {
	Records map[string]Record `json:"records,omitempty"` // by service name
	// Definitions has the definitions that the records name, by digest.
	Definitions map[string]Definition `json:"bases,omitempty"`
	// Former counts, by name, the services that no longer exist.
	Former map[string]int `json:"former,omitempty"`
}

// IsZero reports whether the inventory is empty.
func (s Inventory) IsZero() bool { return len(s.Records)+len(s.Definitions)+len(s.Former) == 0 }

// UnmarshalJSON decodes an inventory. Whole numbers in attributes become int64, others float64.
func (s *Inventory) UnmarshalJSON(text []byte) error {
	type plain Inventory
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode((*plain)(s)); err != nil {
		return err
	}
	for name, r := range s.Records {
		for _, set := range []map[string]any{r.Candidate, r.Active, r.Rollback} {
			for attribute, value := range set {
				set[attribute] = resource.PlainNumbers(value)
			}
		}
		s.Records[name] = r
	}
	return nil
}

// Record is one service of the inventory.
type Record struct {
	lifecycle.Instance
	Incarnation int    `json:"incarnation"`     // counts the services with this name, this one included
	Definition  string `json:"under,omitempty"` // digest of the definition that applies now
	// ActiveVersion and RollbackVersion are the versions in which these sets became active; 0 if the set does not
	// exist.
	ActiveVersion   int `json:"active_version,omitempty"`
	RollbackVersion int `json:"rollback_version,omitempty"`
}

// replaceUnknown replaces definitions that are no longer known, as after a run whose result was lost. What is deployed
// remains deployed.
func (r *Record) replaceUnknown(definitions map[string]parsedDefinition, digest string) {
	for _, known := range []*string{&r.Definitions.Candidate, &r.Definitions.Active, &r.Definitions.Rollback} {
		if _, ok := definitions[*known]; *known != "" && !ok {
			*known = digest
		}
	}
}

// Definition is what a set of attributes was made under.
type Definition struct {
	// as catalog.Entity.Definition encodes it
	Entity    string               `json:"entity"`
	Lifecycle *lifecycle.Lifecycle `json:"lifecycle,omitempty"` // nil: the one that the entity names
	Selectors site.Selectors       `json:"selectors"`
}

// digest returns the key of the definition in the inventory.
func (b Definition) digest() (string, error) { return resource.DigestJSON(b) }

// parsedDefinition is a definition with its entity and state machine.
type parsedDefinition struct {
	Definition
	entity lifecycle.Entity
}

// parse parses the definition. The error says which part is invalid.
func (b Definition) parse() (parsedDefinition, error) {
	e, faults := catalog.ParseDefinition(b.Entity)
	if len(faults) > 0 {
		return parsedDefinition{}, fmt.Errorf("the definition of the entity: %w", faults[0])
	}
	return b.resolve(e)
}

// resolve adds the entity, which the caller has parsed, and its state machine.
func (b Definition) resolve(e *catalog.Entity) (parsedDefinition, error) {
	machine, err := machineOf(e, b.Lifecycle)
	return parsedDefinition{b, lifecycle.Entity{Entity: e, Machine: machine}}, err
}

// machineOf returns the state machine for the services of an entity.
func machineOf(e *catalog.Entity, own *lifecycle.Lifecycle) (*lifecycle.Machine, error) {
	l := own
	if l == nil {
		shipped, ok := document.ShippedLifecycle(e.Lifecycle)
		if !ok {
			return nil, fmt.Errorf(
				"names the lifecycle %q, which slipway does not bring; give it as service_lifecycle of the service, or %s",
				e.Lifecycle, "use one of "+strings.Join(lifecycle.Names(document.ShippedLifecycles()), ", "))
		}
		l = &shipped
	}
	machine, errs := lifecycle.New(*l)
	if len(errs) > 0 {
		return nil, fmt.Errorf("the lifecycle %q is not sound: %w", l.Name, errs[0])
	}
	return machine, nil
}

// prune drops the definitions that no record names.
func (s Inventory) prune() Inventory {
	used := make(map[string]Definition)
	for _, r := range s.Records {
		for _, digest := range []string{r.Definition, r.Definitions.Candidate, r.Definitions.Active,
			r.Definitions.Rollback} {
			if b, ok := s.Definitions[digest]; ok {
				used[digest] = b
			}
		}
	}
	s.Definitions = used
	return s
}

// Names returns the names of the services, sorted.
func (s Inventory) Names() []string { return slices.Sorted(maps.Keys(s.Records)) }
