package resources

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const nameRule = "must begin with a letter or digit and go on with letters, digits, dots, underscores and hyphens"

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// NameValidator accepts the names of sites, nodes, groups, services and overrides.
func NameValidator() validator.String { return stringvalidator.RegexMatches(namePattern, nameRule) }

// textValidator accepts a string for which check finds no error. Null and unknown values pass.
type textValidator struct {
	rule  string // what is right, for descriptions
	check func(string) (wrong string)
}

func (v textValidator) Description(context.Context) string         { return v.rule }
func (v textValidator) MarkdownDescription(context.Context) string { return v.rule }

func (v textValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if wrong := v.check(req.ConfigValue.ValueString()); wrong != "" {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid value of "+req.Path.String(), wrong)
	}
}

func messageOf(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// durationValidator accepts a duration above zero.
func durationValidator() validator.String {
	return textValidator{rule: "a duration above zero, such as 30s, 10m or 1h30m", check: func(s string) string {
		_, err := document.ParseDuration(s)
		return messageOf(err)
	}}
}

// labelSelectorValidator accepts `key:value`: exactly one colon, neither side empty after trimming (airship.md 3,
// D-20).
func labelSelectorValidator() validator.String {
	return textValidator{rule: "a label as key:value", check: func(s string) string {
		_, _, err := site.ParseLabel(s)
		return messageOf(err)
	}}
}

// labelValidator accepts the key or the value of a node's label: one that a selector can name.
func labelValidator() validator.String {
	return textValidator{rule: "not empty, no colon, no white space around it", check: func(s string) string {
		if s == "" || strings.Contains(s, ":") || strings.TrimSpace(s) != s {
			return fmt.Sprintf("%q cannot be the key or value of a label, because no selector could name it; write something without colon and without white space around it", s)
		}
		return ""
	}}
}

// rolePatternValidator accepts a role or `/regular expression/` (fuel.md B4).
func rolePatternValidator() validator.String {
	return textValidator{rule: "a role or /regular expression/", check: func(s string) string {
		if s == "" {
			return "the role is empty; write a role or /regular expression/"
		}
		_, err := site.ParseRolePattern(s)
		return messageOf(err)
	}}
}

// addressValidator accepts a host name or an IP address, nothing around it.
func addressValidator() validator.String {
	return textValidator{rule: "a host name or IP address", check: func(s string) string {
		switch {
		case net.ParseIP(s) != nil:
			return ""
		case s == "":
			return "the address is empty; write a host name or IP address, or leave it out for a local node"
		case strings.Contains(s, "@"):
			return fmt.Sprintf("%q names a user; write the host only, and the user in the connection", s)
		case strings.ContainsAny(s, ":[]"):
			return fmt.Sprintf("%q is not a host name or IP address; write the host only, and the port in the connection", s)
		case strings.ContainsAny(s, " \t\r\n/"):
			return fmt.Sprintf("%q is not a host name or IP address", s)
		case strings.HasPrefix(s, "-"):
			return fmt.Sprintf("%q begins with a hyphen; no host name does", s)
		}
		return ""
	}}
}

// oneCriterion accepts an object that gives at least one of its attributes.
type oneCriterion struct{ consequence string }

func (v oneCriterion) Description(context.Context) string {
	return "at least one attribute must be given"
}

func (v oneCriterion) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v oneCriterion) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	var names []string
	for name, value := range req.ConfigValue.Attributes() {
		if !value.IsNull() {
			return
		}
		names = append(names, name)
	}
	slices.Sort(names)
	resp.Diagnostics.AddAttributeError(req.Path, "Nothing given in "+req.Path.String(),
		fmt.Sprintf("The object is empty; give at least one of %s. %s Terraform passes over any other name.",
			strings.Join(names, ", "), v.consequence))
}

// onlyOneOf accepts an object of which at most one of some attributes is given. The name of an attribute of a nested
// object has a dot: `credentials.private_key`.
type onlyOneOf struct {
	names []string
	why   string
}

func (v onlyOneOf) Description(context.Context) string {
	return "at most one of " + strings.Join(v.names, ", ")
}

func (v onlyOneOf) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v onlyOneOf) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	given := ""
	for _, name := range v.names {
		value, at := attributeAt(req.ConfigValue, req.Path, name)
		if value == nil || value.IsNull() || value.IsUnknown() || value.Equal(types.StringValue("")) {
			continue
		}
		if given != "" {
			resp.Diagnostics.AddAttributeError(at, "Both "+given+" and "+name+" are given", v.why)
			return
		}
		given = name
	}
}

// attributeAt returns an attribute of an object and its path; there is none in a nested object that is null or unknown.
func attributeAt(object types.Object, at path.Path, name string) (attr.Value, path.Path) {
	first, rest, nested := strings.Cut(name, ".")
	value, at := object.Attributes()[first], at.AtName(first)
	if !nested {
		return value, at
	}
	inner, ok := value.(types.Object)
	if !ok {
		return nil, at
	}
	return attributeAt(inner, at, rest)
}

// moved refuses an attribute that has another place in the same object now, also a value that is not known yet.
type moved struct{ to string }

func (v moved) Description(context.Context) string { return "moved to " + v.to }

func (v moved) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v moved) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if !req.ConfigValue.IsNull() {
		resp.Diagnostics.Append(v.refused(req.Path))
	}
}

func (v moved) refused(at path.Path) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(at, at.String()+" has moved", "Give "+namePath(at.ParentPath().String(),
		v.to)+" instead.")
}

// movedSecrets refuses what [movedAttribute] refuses, in a node that is known.
func movedSecrets(node tftypes.Value) (diags diag.Diagnostics) {
	values, _ := plain(node).(map[string]any)
	connection, _ := values[nodeConnection].(map[string]any)
	refuse := func(at path.Path, below map[string]any, fields []ConnectionField) {
		for _, f := range fields {
			if f.Sensitive && below[f.Name] != nil {
				diags.Append(moved{namePath(nodeCredentials, f.Name)}.refused(at.AtName(f.Name)))
			}
		}
	}
	at := path.Root(nodeConnection)
	refuse(at, connection, ConnectionFields())
	hops, _ := connection["bastions"].([]any)
	for i, hop := range hops {
		below, _ := hop.(map[string]any)
		refuse(at.AtName("bastions").AtListIndex(i), below, hopFields())
	}
	return diags
}

// misplaced refuses `credentials` of the provider's connection, which is of nodes only.
type misplaced struct{}

func (misplaced) Description(context.Context) string { return "is for nodes only" }

func (v misplaced) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (misplaced) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	if !req.ConfigValue.IsNull() {
		resp.Diagnostics.AddAttributeError(req.Path, req.Path.String()+" is for nodes only",
			"Give "+req.Path.ParentPath().String()+".private_key, and whatever else is in it, instead.")
	}
}

// orderingValidator checks the rules of a catalog as soon as they are known.
type orderingValidator struct{}

func (orderingValidator) Description(context.Context) string {
	return "must be the ordering of a catalog"
}

func (v orderingValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (orderingValidator) ValidateString(ctx context.Context, req validator.StringRequest,
	resp *validator.StringResponse) {
	_, _, diags := OrderingFrom(ctx, req.ConfigValue)
	resp.Diagnostics.Append(diags...)
}
