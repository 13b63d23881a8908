package lifecycle

// Lifecycle is a state machine as data (lsm.md 5). [Lint] validates one, [New] makes the [Machine] that an inventory
// follows.
type Lifecycle struct {
	Name        string `json:"name" key:"-"`
	Description string `json:"description,omitempty"`
	Initial     string `json:"initial" key:",required"` // state of a new service
	// initial states that a creation may choose instead
	AlternativeInitial []string       `json:"alternative_initial,omitempty"`
	States             []State        `json:"states" key:",required"`
	Transfers          []Transfer     `json:"transfers,omitempty" key:",required"`
	Annotations        map[string]any `json:"annotations,omitempty"`
}

// State is a state of a lifecycle. It decides what is deployed of a service and what other services see of it.
type State struct {
	Name        string `json:"name" key:"-"`
	Description string `json:"description,omitempty"`
	Label       Label  `json:"label,omitempty" key:",null"`
	// Export says that the service's tasks are planned and applied, with its active attributes.
	Export bool `json:"export,omitempty"`
	// ValidateSelf is the set that the service uses in its own validation. With None the service is left out, as if
	// removed.
	ValidateSelf Set `json:"self,omitempty" key:",null"`
	// ValidateOthers is the set that other services see in their validation. With None they do not see the service.
	ValidateOthers Set  `json:"others,omitempty" key:",null"`
	Purge          bool `json:"purge,omitempty"`   // what is exported is removed
	Deleted        bool `json:"deleted,omitempty"` // the final state: the service is ignored everywhere
	// PreviousOnValidate and PreviousOnExport name the sets that an update is compared with (lsm.md 13). [Lint] checks
	// them; plans do not use them, because ledgers say what was deployed.
	PreviousOnValidate Set `json:"previous_on_validate,omitempty" key:",null"`
	PreviousOnExport   Set `json:"previous_on_export,omitempty" key:",null"`
	// ModelState replaces Export, ValidateSelf and ValidateOthers in the form of old lifecycles.
	ModelState  ModelState     `json:"model_state,omitempty" key:",null"`
	Values      map[string]any `json:"values,omitempty"`
	Annotations map[string]any `json:"annotations,omitempty"`
}

// Transfer leads from one state to another.
type Transfer struct {
	Source  string  `json:"from" key:",required"`
	Target  string  `json:"to" key:",required"`
	Error   string  `json:"error,omitempty" key:",null"` // state after a failed validation or deployment
	Trigger Trigger `json:"trigger" key:",required"`
	// Validate requires a validation first; its result decides between Target and Error. Only for auto and
	// api_set_state.
	Validate bool `json:"validate,omitempty"`
	// Config is the gate that can close an auto transfer; empty if it has none.
	Config         string    `json:"config,omitempty" key:",null"`
	Operation      Operation `json:"op,omitempty" key:",null"`       // on the way to Target
	ErrorOperation Operation `json:"error_op,omitempty" key:",null"` // on the way to Error
	// Preserves and ErrorPreserves say that the desired state does not change on the way to Target, and to Error
	// (lsm.md 10).
	Preserves      bool           `json:"same,omitempty"`
	ErrorPreserves bool           `json:"error_same,omitempty"`
	Description    string         `json:"description,omitempty"`
	Annotations    map[string]any `json:"annotations,omitempty"`
}

// end returns the state after a success or failure, the operation, and whether the desired state is preserved.
func (t Transfer) end(ok bool) (state string, op Operation, preserves bool) {
	if ok {
		return t.Target, t.Operation, t.Preserves
	}
	return t.Error, t.ErrorOperation, t.ErrorPreserves
}

// Trigger is what starts a transfer.
type Trigger string

// The triggers.
const (
	Auto          Trigger = "auto"           // the service is in the source state, and the gate is open
	APISetState   Trigger = "api_set_state"  // the target state is requested
	OnUpdate      Trigger = "on_update"      // an update of the attributes is accepted
	OnDelete      Trigger = "on_delete"      // a deletion is accepted
	ResourceBased Trigger = "resource_based" // the deployment of the service's tasks ended
)

// Triggers returns all triggers.
func Triggers() []Trigger { return []Trigger{Auto, APISetState, OnUpdate, OnDelete, ResourceBased} }

// Label classifies a state for people.
type Label string

// The labels. The empty label means no label; a document without one means info.
const (
	Info    Label = "info"
	Success Label = "success"
	Warning Label = "warning"
	Danger  Label = "danger"
)

// Labels returns all labels.
func Labels() []Label { return []Label{Info, Success, Warning, Danger} }

// ModelState is the form in which old lifecycles say what Export, ValidateSelf and ValidateOthers do (lsm.md 5).
type ModelState string

// The model states.
const (
	Inactive       ModelState = "inactive"
	CandidateModel ModelState = "candidate" // exported and seen by others with its active set, if it has one
	DesignedModel  ModelState = "designed"  // exported with its active set, if it has one; others see the candidate
	ActiveModel    ModelState = "active"
)

// ModelStates returns all model states.
func ModelStates() []ModelState {
	return []ModelState{Inactive, CandidateModel, DesignedModel, ActiveModel}
}

// Role is what happens to a service in a state when sites are planned and validated (lsm.md 8).
type Role struct {
	Export bool
	Purge  bool // what is exported is removed
	Self   Set  // in its own validation; None: left out
	Others Set  // in the validation of others; None: not seen
}

// Role returns the role of a service in the state. hasActive says whether the service has an active set; only old
// lifecycles depend on it.
func (s State) Role(hasActive bool) Role {
	ifActive := None
	if hasActive {
		ifActive = Active
	}
	switch s.ModelState {
	case "":
		return Role{s.Export, s.Purge, s.ValidateSelf, s.ValidateOthers}
	case CandidateModel:
		return Role{hasActive, s.Purge, Candidate, ifActive}
	case DesignedModel:
		return Role{hasActive, s.Purge, Candidate, Candidate}
	case ActiveModel:
		return Role{true, s.Purge, Active, Active}
	}
	return Role{Purge: s.Purge}
}

// exports reports whether a service in the state can export anything.
func (s State) exports() bool { return s.Role(true).Export }
