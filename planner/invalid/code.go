package invalid

// The codes of errors in a site.
const (
	BadName           Code = "bad_name"
	BadLabel          Code = "bad_label"
	BadValue          Code = "bad_value"
	MissingField      Code = "missing_field"
	Duplicate         Code = "duplicate"
	DuplicateGroup    Code = "duplicate_group"
	UnknownDependency Code = "unknown_dependency"
	UnknownGroup      Code = "unknown_group"
	Limited           Code = "limited"   // the plan leaves something out
	Frozen            Code = "frozen"    // nothing may be done
	Unchecked         Code = "unchecked" // an earlier run left nodes that no health check has found in order
	UnknownNode       Code = "unknown_node"
	Cycle             Code = "cycle"
	UnreachableGoal   Code = "unreachable_criteria" // criteria that no outcome can meet
	NoCriteria        Code = "no_criteria"          // critical groups that succeed whatever their nodes do
	NoNodes           Code = "no_nodes"             // a selector that selects nothing
	NoGroup           Code = "no_group"             // a node in no group
	UnknownType       Code = "unknown_type"
	UnknownParameter  Code = "unknown_parameter"
	BadParameter      Code = "bad_parameter"
	MissingParameter  Code = "missing_parameter"
	UnknownReference  Code = "unresolved_reference"
	DuplicateResource Code = "duplicate_resource" // two services bring the same resource to one node
	BadStructure      Code = "bad_structure"
	UnknownRole       Code = "unknown_role" // an override for a role that no node has
	EmptyType         Code = "empty_type"
	EmptyTitle        Code = "empty_title"
	NullValue         Code = "null_value"
	DependencyCycle   Code = "dependency_cycle" // resources of one node that wait for each other
	NoEffect          Code = "no_effect"        // an override that changes nothing
	NodeMoved         Code = "node_moved"       // a node that is another machine than before
	SameMachine       Code = "same_machine"     // two nodes that are one machine
	// an override makes a resource that is there under almost the same title.
	SimilarResource Code = "similar_resource"
	Protected       Code = "protected" // a plan that takes away more than it may
)
