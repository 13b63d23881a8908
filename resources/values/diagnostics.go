package values

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
)

// Diagnostics shows errors of a site as diagnostics of the deployment: at the deployment's attribute that brings the
// object, with the object and its own attribute in the text. Warnings stay warnings.
func Diagnostics(errs invalid.Errors) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, p := range errs {
		at := path.Empty()
		switch p.Object {
		case "node", "group", "service", "override", "plugin":
			at = path.Root(p.Object + "s")
		default:
			if name, _, _ := strings.Cut(p.Attribute, "["); name != "" {
				at = path.Root(strings.Split(name, ".")[0])
			}
		}
		diags.Append(Diagnostic(at, p, where(p)+": "+p.Message))
	}
	return diags
}

// Diagnostic shows an error at a path.
func Diagnostic(at path.Path, p invalid.Error, detail string) diag.Diagnostic {
	if !strings.HasSuffix(detail, ".") && !strings.HasSuffix(detail, "?") {
		detail += "."
	}
	return DiagnosticAt(at, p.Warning, summary(p), detail)
}

// DiagnosticAt returns an error or a warning, at a path unless that is empty.
func DiagnosticAt(at path.Path, warning bool, summary, detail string) diag.Diagnostic {
	switch {
	case warning && at.Equal(path.Empty()):
		return diag.NewWarningDiagnostic(summary, detail)
	case warning:
		return diag.NewAttributeWarningDiagnostic(at, summary, detail)
	case at.Equal(path.Empty()):
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewAttributeErrorDiagnostic(at, summary, detail)
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

// summary says in a few words what kind of error it is.
func summary(p invalid.Error) string {
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
