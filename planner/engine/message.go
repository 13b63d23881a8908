package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
)

// Message is an error or a warning of an operation.
type Message struct {
	Warning   bool
	Attribute string // of the deployment, such as services; empty when it is about none
	Summary   string // without a full stop
	Detail    string
}

func (m *Message) Error() string { return m.Summary + ": " + m.Detail }

// Messages are what an operation reports, in order. Each is a *[Message] or a [invalid.Error].
type Messages []error

// Failed reports whether there are errors among the messages.
func (m Messages) Failed() bool {
	return slices.ContainsFunc(m, func(e error) bool { return !IsWarning(e) })
}

// IsWarning reports whether a message is a warning.
func IsWarning(e error) bool {
	switch e := e.(type) {
	case *Message:
		return e.Warning
	case invalid.Error:
		return e.Warning
	}
	return false
}

func (m *Messages) fail(summary, detail string, args ...any) {
	*m = append(*m, &Message{Summary: summary, Detail: fmt.Sprintf(detail, args...)})
}

func (m *Messages) warn(summary, detail string, args ...any) {
	*m = append(*m, &Message{Warning: true, Summary: summary, Detail: fmt.Sprintf(detail, args...)})
}

// add adds messages.
func (m *Messages) add(more Messages) { *m = append(*m, more...) }

// nameRun writes the whole command into hints at the report of a run.
func (m Messages) nameRun(id string) {
	for _, e := range m {
		if message, ok := e.(*Message); ok {
			message.Detail = strings.ReplaceAll(message.Detail, "`report` shows",
				"`terraform-provider-slipway report "+id+"` shows")
		}
	}
}

func (m *Messages) errs(errs invalid.Errors) {
	for _, p := range errs {
		*m = append(*m, p)
	}
}

// MessageOf returns one of [Messages] in words. An error of a site is at the attribute of the deployment that brings
// the object, with the object and its own attribute in the text.
func MessageOf(e error) *Message {
	switch e := e.(type) {
	case *Message:
		return e
	case invalid.Error:
		m := Describe(e, where(e)+": "+e.Message)
		switch e.Object {
		case "node", "group", "service", "override", "plugin":
			m.Attribute = e.Object + "s"
		default:
			name, _, _ := strings.Cut(e.Attribute, "[")
			m.Attribute, _, _ = strings.Cut(name, ".")
		}
		return m
	}
	return &Message{Summary: "The operation failed", Detail: e.Error()}
}

// Describe returns a message with a detail about an error; warnings stay warnings.
func Describe(p invalid.Error, detail string) *Message {
	if !strings.HasSuffix(detail, ".") && !strings.HasSuffix(detail, "?") {
		detail += "."
	}
	return &Message{Warning: p.Warning, Summary: summaryOf(p), Detail: detail}
}

// where names the object and the attribute as the user wrote them.
func where(p invalid.Error) string {
	if rest, found := strings.CutPrefix(p.Attribute, "connection."); found && p.Object == "node" {
		p.Attribute = "connect." + rest
	}
	switch {
	case p.Object == "deployment" && p.Attribute != "":
		return p.Attribute
	case p.Attribute != "":
		return fmt.Sprintf("%s %q, %s", p.Object, p.Name, p.Attribute)
	}
	return fmt.Sprintf("%s %q", p.Object, p.Name)
}

// summaryOf says in a few words what kind of error it is.
func summaryOf(p invalid.Error) string {
	if p.Code == invalid.UnknownType && (p.Object == "plugin" || p.Object == "deployment") {
		return "Unknown task type" // of a plugin's tasks, or those that rules of a catalog are about
	}
	if s, ok := summaries[p.Code]; ok {
		return s
	}
	return "Invalid " + p.Object
}

var summaries = map[invalid.Code]string{
	invalid.BadName:           "Invalid name",
	invalid.BadLabel:          "Malformed label",
	invalid.MissingField:      "Missing attribute",
	invalid.Duplicate:         "Name given twice",
	invalid.DuplicateGroup:    "Name given twice",
	invalid.UnknownDependency: "Unknown group",
	invalid.UnknownGroup:      "Unknown group",
	invalid.UnknownNode:       "Unknown node",
	invalid.UnknownRole:       "Unknown role",
	invalid.Cycle:             "Groups depend on each other in a circle",
	invalid.DependencyCycle:   "Configuration resources require each other in a circle",
	invalid.UnreachableGoal:   "Success criteria that cannot be met",
	invalid.NoCriteria:        "Critical group without success criteria",
	invalid.NoNodes:           "No node selected",
	catalog.UnknownAttribute:  "Unknown attribute",
	catalog.MissingAttribute:  "Missing attribute",
	catalog.TypeMismatch:      "Value of the wrong type",
	catalog.ValidationFailed:  "Invalid value",
	catalog.LimitViolation:    "Too many or too few",
	catalog.DuplicateKey:      "Key given twice",
	catalog.ReadOnly:          "Attribute that slipway sets",
	catalog.BadTemplate:       "Invalid template",
	catalog.BadTask:           "Invalid task of an entity",
	plugin.BadStage:           "Malformed stage",
	plugin.UnknownTask:        "Unknown task",
	invalid.NoGroup:           "Node in no group",
	invalid.UnknownType:       "Unknown configuration resource type",
	invalid.EmptyType:         "Empty configuration resource type",
	invalid.EmptyTitle:        "Empty title",
	invalid.UnknownParameter:  "Unknown parameter",
	invalid.BadParameter:      "Invalid parameter",
	invalid.MissingParameter:  "Missing parameter",
	invalid.NullValue:         "Null instead of a value",
	invalid.UnknownReference:  "Reference to an unknown resource",
	invalid.DuplicateResource: "Configuration resource given twice",
	invalid.NoEffect:          "Override without effect",
	invalid.NodeMoved:         "Node at another address",
	invalid.SameMachine:       "Two nodes on one machine",
	invalid.SimilarResource:   "Override that makes a resource",
	invalid.Limited:           "The plan leaves a part of the site as it is",
	invalid.Unchecked:         "Nodes are left whose health check did not succeed",
	invalid.Protected:         "The plan takes away more than protect allows",
	invalid.BadStructure:      "Value of the wrong form",
	invalid.BadValue:          "Invalid value",
}
