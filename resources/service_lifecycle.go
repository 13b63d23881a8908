package resources

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// lifecycleAttribute is service_lifecycle. Terraform keeps the word `lifecycle` for itself.
const lifecycleAttribute = "service_lifecycle"

// lifecycleOf reads the lifecycle of a service: the name of a shipped one, or a document with one. It is nil for none.
func lifecycleOf(text string) (*lifecycle.Lifecycle, site.Problems) {
	problem := func(message string) (*lifecycle.Lifecycle, site.Problems) {
		return nil, site.Problems{{Object: "service", Attribute: lifecycleAttribute, Code: site.BadValue, Message: message}}
	}
	if text == "" {
		return nil, nil
	}
	if !strings.ContainsAny(text, ":\n") {
		if l, ok := lifecycle.Find(text); ok {
			return &l, nil
		}
		var names []string
		for _, l := range lifecycle.Shipped() {
			names = append(names, l.Name)
		}
		message := fmt.Sprintf("there is no lifecycle %q", text)
		if near := resource.Nearest(text, names); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		return problem(message + fmt.Sprintf("; slipway brings %s; give one of these names, or a document", strings.Join(names, ", ")))
	}
	found, err := document.ParseLifecycles([]document.Source{{Name: lifecycleAttribute, Data: []byte(text)}})
	switch {
	case err != nil:
		return problem(err.Error())
	case len(found) != 1:
		return problem(fmt.Sprintf("the document has %d lifecycles; give one that has the lifecycle of this service alone", len(found)))
	}
	return &found[0], nil
}

// lifecycleValidator checks service_lifecycle.
type lifecycleValidator struct{}

func (lifecycleValidator) Description(context.Context) string {
	return "the name of a lifecycle that slipway brings, or a document with one"
}
func (v lifecycleValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (lifecycleValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	_, problems := lifecycleOf(req.ConfigValue.ValueString())
	for _, p := range problems {
		resp.Diagnostics.Append(diagnostic(req.Path, p, p.Attribute+": "+p.Message))
	}
}

// gatesOf reads the gates of a service, nil for none.
func gatesOf(m types.Map) map[string]bool {
	if m.IsNull() || m.IsUnknown() {
		return nil
	}
	out := make(map[string]bool, len(m.Elements()))
	for name, v := range m.Elements() {
		if open, ok := v.(types.Bool); ok {
			out[name] = open.ValueBool()
		}
	}
	return out
}
