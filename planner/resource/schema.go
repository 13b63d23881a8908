package resource

import "github.com/slipway/terraform-provider-slipway/planner/invalid"

// Kind is the kind of value that a parameter takes.
type Kind int

// The kinds of parameters.
const (
	String Kind = iota
	Bool
	Integer
	StringList // a list of strings; a single string counts as a list of one
	StringMap
)

// Schema declares a configuration resource type: what its parameters are and which values they take.
type Schema struct {
	Type         string
	Summary      string // one sentence, for the documentation
	Parameters   []Parameter
	NeedsMachine bool // the type acts on a whole machine and is refused below a sandbox root
	// OnMachine returns the parameter for which a resource needs a whole machine though its type does not, empty where
	// there is none, and why, with what to write below a sandbox root; optional.
	OnMachine  func(Resource) (parameter, why string)
	Restorable bool // a change of one run can be put back, so that resources may have [Guard]
	// Check validates what depends on more than one parameter (two parameters that exclude each other); optional. It sees
	// parameters that already passed their own checks, normalised. Its texts name parameters and do not repeat values.
	Check func(Resource) []invalid.Error
	// Template checks the text of a value that is written as a template, where values may be; nil: they may not. line
	// says that a shell would read what the template gives.
	Template func(text string, line bool) error
	// Object names what a resource looks after on a node; optional, the title where there is none. Two resources of one
	// node must not look after the same object: of equal names with different variants they do only when one of these
	// is empty (the architecture of a package).
	Object func(Resource) (name, variant string)
	// Target names the object on the node that a resource looks after where parameters, and not the title alone, say which
	// that is (the path of a file), and the aim where its undo depends on it (that a user is to be absent). Two resources
	// must not look after the same one. When a resource turns to another object, or to another aim, the node undoes the
	// old one first. When one is given a new title, the new one takes over what the ledger has of the old. Object has
	// the name of it, where it has no other.
	Target func(Resource) (object, aim string)
	// Alike returns those parameters, given or not, of which several ways to write them want the same of a node, in the
	// form that stands for all of them; optional. Unlike [Schema.Normalize] it is in no digest. It sees parameters in
	// their normal form, which may be references to secrets, templates or unknown.
	Alike func(Resource) Parameters
}

// Parameter declares one parameter of a type.
type Parameter struct {
	Name        string
	Kind        Kind
	Required    bool
	Values      []string // String only: the values allowed; empty allows all
	Description string   // with unit, bounds and default
	Sensitive   bool     // never shown: not in differences, events, errors
	Scalars     bool     // String, StringList, StringMap: a number or bool counts as its text (`value = 1`)
	Single      bool     // StringList: a single string stays one, and a list of one is its string: it was no list once
	Text        bool     // Bool: a text is a value, too, which Check sees
	Commands    bool     // StringList: elements are lines for the shell or lists of words, which Check gets one by one
	Shell       bool     // String, StringList: a text is a line for a shell; so is a list of one, without Commands
	// Secret says that a secret of the deployment may be in a text of it: no other user of the node gets to see it there,
	// neither in an argument list nor in a file. Default: false, one is refused. String, StringList.
	Secret bool
	Unused bool // accepted because manifests of Puppet have it, and changes nothing: no digest includes it
	// Same are other ways to write one of Values, by the text that is written; optional. String only.
	Same map[string]string
	// Instead returns what to write, as a string, in place of a number or bool, empty where nothing can be offered;
	// optional. Of a StringList it is an element, whatever the value is. String, StringList.
	Instead func(value any) string
	// Check validates one value of the right kind; optional. The value is a string, bool, int64, []string or
	// map[string]string, as Kind says. Of a value that is sensitive only a [Rule] in the error
	// is shown.
	Check func(value any) error
}
