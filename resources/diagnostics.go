package resources

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Diagnostics shows problems of a site as diagnostics of the deployment: at the deployment's attribute that brings the
// object, with the object and its own attribute in the text. Warnings stay warnings.
func Diagnostics(problems site.Problems) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, p := range problems {
		at := path.Empty()
		switch p.Object {
		case "node", "group", "service", "override", "plugin":
			at = path.Root(p.Object + "s")
		default:
			if name, _, _ := strings.Cut(p.Attribute, "["); name != "" {
				at = path.Root(strings.Split(name, ".")[0])
			}
		}
		diags.Append(diagnostic(at, p, where(p)+": "+p.Message))
	}
	return diags
}

func diagnostic(at path.Path, p site.Problem, detail string) diag.Diagnostic {
	if !strings.HasSuffix(detail, ".") && !strings.HasSuffix(detail, "?") {
		detail += "."
	}
	return diagnosticAt(at, p.Warning, summary(p), detail)
}

func diagnosticAt(at path.Path, warning bool, summary, detail string) diag.Diagnostic {
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
func where(p site.Problem) string {
	if rest, found := strings.CutPrefix(p.Attribute, "connection."); found && p.Object == "node" {
		p.Attribute = namePath(nodeConnection, rest)
	}
	switch {
	case p.Object == "deployment" && p.Attribute != "":
		return p.Attribute
	case p.Attribute != "":
		return fmt.Sprintf("%s %q, %s", p.Object, p.Name, p.Attribute)
	}
	return fmt.Sprintf("%s %q", p.Object, p.Name)
}

// summary says in a few words what kind of problem it is.
func summary(p site.Problem) string {
	if p.Code == site.UnknownType && (p.Object == "plugin" || p.Object == "deployment") {
		return "Unknown task type" // of a plugin's tasks, or those that rules of a catalog are about
	}
	if s, ok := summaries[p.Code]; ok {
		return s
	}
	return "Invalid " + p.Object
}

var summaries = map[site.Code]string{
	site.BadName:             "Invalid name",
	site.BadLabel:            "Malformed label",
	site.MissingField:        "Missing attribute",
	site.Duplicate:           "Name given twice",
	site.DuplicateGroup:      "Name given twice",
	site.UnknownDependency:   "Unknown group",
	site.UnknownGroup:        "Unknown group",
	site.UnknownNode:         "Unknown node",
	site.UnknownRole:         "Unknown role",
	site.Cycle:               "Groups depend on each other in a circle",
	site.DependencyCycle:     "Configuration resources require each other in a circle",
	site.UnreachableGoal:     "Success criteria that cannot be met",
	site.NoNodes:             "No node selected",
	catalog.UnknownAttribute: "Unknown attribute",
	catalog.MissingAttribute: "Missing attribute",
	catalog.TypeMismatch:     "Value of the wrong type",
	catalog.ValidationFailed: "Invalid value",
	catalog.LimitViolation:   "Too many or too few",
	catalog.DuplicateKey:     "Key given twice",
	catalog.ReadOnly:         "Attribute that slipway sets",
	catalog.BadTemplate:      "Invalid template",
	catalog.BadTask:          "Invalid task of an entity",
	plugin.BadStage:          "Malformed stage",
	plugin.UnknownTask:       "Unknown task",
	site.NoGroup:             "Node in no group",
	site.UnknownType:         "Unknown configuration resource type",
	site.EmptyType:           "Empty configuration resource type",
	site.EmptyTitle:          "Empty title",
	site.UnknownParameter:    "Unknown parameter",
	site.BadParameter:        "Invalid parameter",
	site.MissingParameter:    "Missing parameter",
	site.NullValue:           "Null instead of a value",
	site.UnknownReference:    "Reference to an unknown resource",
	site.DuplicateResource:   "Configuration resource given twice",
	site.NoEffect:            "Override without effect",
	site.NodeMoved:           "Node at another address",
	site.SameMachine:         "Two nodes on one machine",
	site.SimilarResource:     "Override that makes a resource",
	site.Protected:           "The plan takes away more than protect allows",
	site.BadStructure:        "Value of the wrong form",
	site.BadValue:            "Invalid value",
}
