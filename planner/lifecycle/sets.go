package lifecycle

// Set names one of the three sets of attributes that a service has (lsm.md 4).
type Set string

// The sets.
const (
	None      Set = ""
	Candidate Set = "candidate" // proposed
	Active    Set = "active"    // deployed, or being deployed
	Rollback  Set = "rollback"  // active before
)

// AllSets returns the three sets.
func AllSets() []Set { return []Set{Candidate, Active, Rollback} }

// Sets are the attributes of a service. A set that does not exist is nil. Sets are replaced as a whole and never
// modified, so values may be shared.
type Sets struct {
	Candidate map[string]any `json:"candidate"`
	Active    map[string]any `json:"active"`
	Rollback  map[string]any `json:"rollback"`
	// Definitions names the definition of each set. The caller chooses the names; they move with the sets and have no
	// other effect here.
	Definitions Definitions `json:"basis,omitzero"`
}

// Definitions are the names of the definitions of the three sets.
type Definitions struct {
	Candidate string `json:"candidate,omitempty"`
	Active    string `json:"active,omitempty"`
	Rollback  string `json:"rollback,omitempty"`
}

// Get returns a set, nil if it does not exist.
func (s Sets) Get(which Set) map[string]any {
	switch which {
	case Candidate:
		return s.Candidate
	case Active:
		return s.Active
	case Rollback:
		return s.Rollback
	}
	return nil
}

// With returns the sets with one of them replaced, without a definition.
func (s Sets) With(which Set, attributes map[string]any) Sets {
	switch which {
	case Candidate:
		s.Candidate, s.Definitions.Candidate = attributes, ""
	case Active:
		s.Active, s.Definitions.Active = attributes, ""
	case Rollback:
		s.Rollback, s.Definitions.Rollback = attributes, ""
	}
	return s
}

// Base returns the attributes that an update starts from: the candidate, or else the active set (lsm.md 4).
func (s Sets) Base() map[string]any {
	if len(s.Candidate) > 0 {
		return s.Candidate
	}
	return s.Active
}

// current returns the first set that exists, in the order candidate, active, rollback.
func (s Sets) current() map[string]any {
	if base := s.Base(); len(base) > 0 {
		return base
	}
	return s.Rollback
}

// Operation is what a transfer does to the sets.
type Operation string

// The operations.
const (
	NoOperation    Operation = ""
	Promote        Operation = "promote"  // active becomes rollback, candidate becomes active
	Restore        Operation = "rollback" // active becomes candidate, rollback becomes active
	ClearCandidate Operation = "clear candidate"
	ClearActive    Operation = "clear active"
	ClearRollback  Operation = "clear rollback"
)

// operation is a row of the table of operations.
type operation struct {
	name  Operation
	needs Set // a set that must exist
	apply func(Sets) Sets
}

// operations is the table of operations (lsm.md 4).
var operations = []operation{
	{Promote, Candidate, func(s Sets) Sets {
		return Sets{nil, s.Candidate, s.Active, Definitions{"", s.Definitions.Candidate, s.Definitions.Active}}
	}},
	{Restore, Rollback, func(s Sets) Sets {
		return Sets{s.Active, s.Rollback, nil,
			Definitions{s.Definitions.Active, s.Definitions.Rollback, ""}}
	}},
	{ClearCandidate, None, func(s Sets) Sets { return s.With(Candidate, nil) }},
	{ClearActive, None, func(s Sets) Sets { return s.With(Active, nil) }},
	{ClearRollback, None, func(s Sets) Sets { return s.With(Rollback, nil) }},
}

// Operations returns all operations.
func Operations() []Operation {
	out := make([]Operation, len(operations))
	for i, o := range operations {
		out[i] = o.name
	}
	return out
}

// operationNamed returns the row of an operation.
func operationNamed(name Operation) (operation, bool) {
	for _, o := range operations {
		if o.name == name {
			return o, true
		}
	}
	return operation{}, false
}

// Apply applies an operation. If the set that it needs does not exist, Apply returns the sets unchanged and the name of
// that set.
func (s Sets) Apply(op Operation) (Sets, Set) {
	o, ok := operationNamed(op)
	if !ok {
		return s, None
	}
	if o.needs != None && s.Get(o.needs) == nil {
		return s, o.needs
	}
	return o.apply(s), None
}
