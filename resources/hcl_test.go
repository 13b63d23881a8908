package resources

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// hcl writes values as they arrive from HCL.
type hcl struct{ ctx context.Context }

func (v hcl) object(members map[string]attr.Value) attr.Value {
	kinds := map[string]attr.Type{}
	for name, m := range members {
		kinds[name] = m.Type(v.ctx)
	}
	return types.ObjectValueMust(kinds, members)
}

func (v hcl) tuple(elements ...attr.Value) attr.Value {
	kinds := make([]attr.Type, len(elements))
	for i, e := range elements {
		kinds[i] = e.Type(v.ctx)
	}
	return types.TupleValueMust(kinds, elements)
}

func str(s string) attr.Value { return types.StringValue(s) }

func members(pairs ...any) map[string]attr.Value {
	out := map[string]attr.Value{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1].(attr.Value)
	}
	return out
}

// details are those of diagnostics, to compare them with what is expected.
func details(diags diag.Diagnostics) string {
	var lines []string
	for _, d := range diags {
		at := ""
		if p, ok := d.(diag.DiagnosticWithPath); ok {
			at = p.Path().String()
		}
		lines = append(lines, at+"| "+d.Summary()+"| "+d.Detail())
	}
	return strings.Join(lines, "\n")
}
