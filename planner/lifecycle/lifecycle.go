package lifecycle

// Lifecycle is a state machine as data (lsm.md 5). What is wrong with one is told by [Lint]; [New] makes the machine
// that an inventory follows.
type Lifecycle struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Initial     string `json:"initial"` // state of a new service
	// states that a creation may ask for instead
	AlternativeInitial []string       `json:"alternative_initial,omitempty"`
	States             []State        `json:"states"`
	Transfers          []Transfer     `json:"transfers,omitempty"`
	Annotations        map[string]any `json:"annotations,omitempty"`
}

// State is one state of a lifecycle: how much of a service in it is real, and what others see of it.
type State struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Label       Label  `json:"label,omitempty"`
	// Export: the service's tasks are planned and applied, with its active attributes.
	Export bool `json:"export,omitempty"`
	// ValidateSelf is the set that the service takes part with in its own validation; None leaves it out, as if it were
	// removed.
	ValidateSelf Set `json:"self,omitempty"`
	// ValidateOthers is the set that it takes part with in the validation of others; with None they do not see it.
	ValidateOthers Set  `json:"others,omitempty"`
	Purge          bool `json:"purge,omitempty"`   // what is exported is removed
	Deleted        bool `json:"deleted,omitempty"` // the end: a service in it takes part in nothing
	// PreviousOnValidate and PreviousOnExport are the sets that the service is compared with, to tell what an update
	// adds and removes (lsm.md 13).
	PreviousOnValidate Set `json:"previous_on_validate,omitempty"`
	PreviousOnExport   Set `json:"previous_on_export,omitempty"`
	// ModelState says in one word what Export, ValidateSelf and ValidateOthers say, as old lifecycles do; they are not
	// set beside it.
	ModelState  ModelState     `json:"model_state,omitempty"`
	Values      map[string]any `json:"values,omitempty"`
	Annotations map[string]any `json:"annotations,omitempty"`
}

// Transfer is a way from one state to another.
type Transfer struct {
	Source  string  `json:"from"`
	Target  string  `json:"to"`
	Error   string  `json:"error,omitempty"` // state after a failure: of the validation, or of the deployment
	Trigger Trigger `json:"trigger"`
	// Validate runs a validation first; its result decides between Target and Error. For auto and api_set_state only.
	Validate bool `json:"validate,omitempty"`
	// Config is the name of the gate that turns an auto transfer off; empty for none.
	Config         string    `json:"config,omitempty"`
	Operation      Operation `json:"op,omitempty"`       // on the way to Target
	ErrorOperation Operation `json:"error_op,omitempty"` // on the way to Error
	// Preserves and ErrorPreserves say that what is to be deployed does not change on the way to Target, and to Error
	// (lsm.md 10).
	Preserves      bool           `json:"same,omitempty"`
	ErrorPreserves bool           `json:"error_same,omitempty"`
	Description    string         `json:"description,omitempty"`
	Annotations    map[string]any `json:"annotations,omitempty"`
}

// end returns where a transfer leads, by its success or failure, the operation on the way, and whether the way
// preserves the desired state.
func (t Transfer) end(ok bool) (state string, op Operation, preserves bool) {
	if ok {
		return t.Target, t.Operation, t.Preserves
	}
	return t.Error, t.ErrorOperation, t.ErrorPreserves
}

// Trigger is what sets a transfer off.
type Trigger string

// The triggers.
const (
	Auto          Trigger = "auto"           // the service is in the source state, and the gate is open
	APISetState   Trigger = "api_set_state"  // a person asks for the target state
	OnUpdate      Trigger = "on_update"      // an update of the attributes is accepted
	OnDelete      Trigger = "on_delete"      // a deletion is accepted
	ResourceBased Trigger = "resource_based" // the deployment of the service's tasks ended
)

// Triggers returns all triggers.
func Triggers() []Trigger { return []Trigger{Auto, APISetState, OnUpdate, OnDelete, ResourceBased} }

// Label is how a state is shown.
type Label string

// The labels. A state without one is not labelled; in documents info is what counts where none is written.
const (
	Info    Label = "info"
	Success Label = "success"
	Warning Label = "warning"
	Danger  Label = "danger"
)

// Labels returns all labels.
func Labels() []Label { return []Label{Info, Success, Warning, Danger} }

// ModelState says how a service takes part in models, in the form of old lifecycles (lsm.md 5).
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

// Role is what a service in some state is in the models of section 8.
type Role struct {
	Export bool
	Purge  bool // what is exported is removed
	Self   Set  // in its own validation; None: left out
	Others Set  // in the validation of others; None: not seen
}

// Role returns how a service in the state takes part in models. hasActive tells whether it has an active set, which
// only old lifecycles ask.
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

// exports reports whether a service in the state may have something exported.
func (s State) exports() bool { return s.Role(true).Export }
