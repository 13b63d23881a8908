package values

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
)

// Diagnostics shows what an operation of the engine reports, or the errors of a site, as diagnostics of the deployment.
func Diagnostics[E error](of []E) (diags diag.Diagnostics) {
	for _, e := range of {
		m, at := engine.MessageOf(e), path.Empty()
		for name := range strings.SplitSeq(m.Attribute, ".") {
			if name != "" {
				at = at.AtName(name)
			}
		}
		diags.Append(Diagnostic(at, m))
	}
	return diags
}

// Diagnostic returns an error or a warning, at a path unless that is empty.
func Diagnostic(at path.Path, m *engine.Message) diag.Diagnostic {
	switch {
	case m.Warning && at.Equal(path.Empty()):
		return diag.NewWarningDiagnostic(m.Summary, m.Detail)
	case m.Warning:
		return diag.NewAttributeWarningDiagnostic(at, m.Summary, m.Detail)
	case at.Equal(path.Empty()):
		return diag.NewErrorDiagnostic(m.Summary, m.Detail)
	}
	return diag.NewAttributeErrorDiagnostic(at, m.Summary, m.Detail)
}
