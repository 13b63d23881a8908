package services

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// State is the inventory of a site between runs. The zero State has no services.
type State struct {
	Records map[string]Record `json:"records,omitempty"` // by the name of the service
	// Bases are what sets were made under, by digest: those that the records name.
	Bases map[string]Basis `json:"bases,omitempty"`
	// Former counts the services that had a name which none has now.
	Former map[string]int `json:"former,omitempty"`
}

// IsZero reports whether the state has no services.
func (s State) IsZero() bool { return len(s.Records)+len(s.Bases)+len(s.Former) == 0 }

// UnmarshalJSON reads what a State was written as: numbers of attributes are int64 where they are whole, else float64.
func (s *State) UnmarshalJSON(text []byte) error {
	type plain State
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode((*plain)(s)); err != nil {
		return err
	}
	for name, r := range s.Records {
		for _, set := range []map[string]any{r.Candidate, r.Active, r.Rollback} {
			for attribute, value := range set {
				set[attribute] = Numbers(value)
			}
		}
		s.Records[name] = r
	}
	return nil
}

// Numbers replaces the numbers in what JSON gave by int64 where they are whole, else float64, in place. What is out of
// range becomes text.
func Numbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String() // out of range, which no attribute takes
	case []any:
		for i := range v {
			v[i] = Numbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = Numbers(v[name])
		}
	}
	return value
}

// Record is one service.
type Record struct {
	lifecycle.Instance
	Incarnation int    `json:"incarnation"`     // how many services of the name there were, with this one
	Under       string `json:"under,omitempty"` // digest of the basis whose entity and lifecycle count now
	// ActiveVersion and RollbackVersion are the versions in which the sets became active; 0: there is no such set.
	ActiveVersion   int `json:"active_version,omitempty"`
	RollbackVersion int `json:"rollback_version,omitempty"`
}

// known puts a basis in the place of those that nobody has any more, as of a run that ended without a word: what is
// deployed stays deployed.
func (r *Record) known(bases map[string]basis, under string) {
	for _, digest := range []*string{&r.Basis.Candidate, &r.Basis.Active, &r.Basis.Rollback} {
		if _, ok := bases[*digest]; *digest != "" && !ok {
			*digest = under
		}
	}
}

// Basis is what a set of attributes was made under.
type Basis struct {
	// the definition, as catalog.Entity.Definition writes it
	Entity    string               `json:"entity"`
	Lifecycle *lifecycle.Lifecycle `json:"lifecycle,omitempty"` // nil: the one that the entity names
	Selectors site.Selectors       `json:"selectors"`
}

// digest is what a basis is known by.
func (b Basis) digest() (string, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// basis is a basis that was read.
type basis struct {
	Basis
	entity  *catalog.Entity
	machine *lifecycle.Machine
}

// read makes a basis usable. The error tells what in it is not.
func (b Basis) read() (basis, error) {
	e, mistakes := catalog.ParseDefinition(b.Entity)
	if len(mistakes) > 0 {
		return basis{}, fmt.Errorf("the definition of the entity: %w", mistakes[0])
	}
	return b.with(e)
}

// with makes a basis of a known entity usable.
func (b Basis) with(e *catalog.Entity) (basis, error) {
	machine, err := machineOf(e, b.Lifecycle)
	return basis{b, e, machine}, err
}

// machineOf returns the machine that drives the services of an entity.
func machineOf(e *catalog.Entity, own *lifecycle.Lifecycle) (*lifecycle.Machine, error) {
	l := own
	if l == nil {
		shipped, ok := document.ShippedLifecycle(e.Lifecycle)
		if !ok {
			return nil, fmt.Errorf(
				"names the lifecycle %q, which slipway does not bring; give it as service_lifecycle of the service, or %s", e.Lifecycle, knownLifecycles())
		}
		l = &shipped
	}
	machine, problems := lifecycle.New(*l)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the lifecycle %q is not sound: %w", l.Name, problems[0])
	}
	return machine, nil
}

func knownLifecycles() string {
	var names []string
	for _, l := range document.ShippedLifecycles() {
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return "use one of " + strings.Join(names, ", ")
}

// prune drops the bases that no record names.
func (s State) prune() State {
	used := make(map[string]Basis)
	for _, r := range s.Records {
		for _, digest := range []string{r.Under, r.Basis.Candidate, r.Basis.Active, r.Basis.Rollback} {
			if b, ok := s.Bases[digest]; ok {
				used[digest] = b
			}
		}
	}
	s.Bases = used
	return s
}

// Names returns the services of the inventory, sorted.
func (s State) Names() []string { return slices.Sorted(maps.Keys(s.Records)) }
