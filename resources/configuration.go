package resources

import (
	"context"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// nulls says what null means in a configuration.
type nulls int

const (
	nullsAreUnset nulls = iota // as everywhere in Terraform: services
	// an override cannot take a parameter away, so null would silently do nothing (fuel.md, OV-36).
	nullsAreErrors
)

// block is one configuration resource as far as it is known; parameters that are not are [planresource.Unknown].
type block struct {
	planresource.Resource
	at     string // its place: `configuration.file["/etc/motd"]`
	typeAt string // the place of its type: `configuration.file`
	bare   bool   // a type without any title, so there is no resource
}

// configuration reads type -> title -> parameters, sorted by type and title. A type without titles gives a bare block.
func (r *reading) configuration(at string, v tftypes.Value, nulls nulls) []block {
	var blocks []block
	for _, t := range r.entries(at, v, nulls, "types") {
		if t.key == "" {
			r.report(at, invalid.EmptyType, "a type is empty; write type = { title = { parameters } }")
			continue
		}
		titlesAt := keyedPath(at, t.key)
		titles := r.entries(titlesAt, t.value, nulls, "titles")
		if len(titles) == 0 {
			blocks = append(blocks, block{Resource: planresource.Resource{Type: t.key}, typeAt: titlesAt, bare: true})
		}
		for _, title := range titles {
			if title.key == "" {
				r.report(titlesAt, invalid.EmptyTitle, "a title is empty; write type = { title = { parameters } }")
				continue
			}
			if !title.value.IsKnown() {
				r.unknown = true
				continue
			}
			about := planresource.Resource{Type: t.key, Title: title.key}
			b := r.block(keyPath(titlesAt, title.key), about, title.value, nulls)
			b.typeAt = titlesAt
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// block reads the parameters of what about names.
func (r *reading) block(at string, about planresource.Resource, parameters tftypes.Value, nulls nulls) block {
	b := block{Resource: about, at: at}
	b.Parameters = planresource.Parameters{}
	for _, p := range r.entries(at, parameters, nulls, "parameters") {
		if !p.value.IsFullyKnown() {
			r.unknown, b.Parameters[p.key] = true, planresource.Unknown{}
			continue
		}
		if value, ok := r.plain(keyedPath(at, p.key), p.value); ok {
			b.Parameters[p.key] = value
		}
	}
	return b
}

// entry is one member of an object or map.
type entry struct {
	key   string
	value tftypes.Value
}

// entries returns the members of an object or map that are not null, sorted by key.
func (r *reading) entries(at string, v tftypes.Value, nulls nulls, what string) []entry {
	if !v.IsKnown() {
		r.unknown = true
		return nil
	}
	if v.IsNull() {
		return nil
	}
	members, ok := entriesOf(v)
	if !ok {
		r.mismatch(at, "an object of "+what, v)
		return nil
	}
	var out []entry
	for _, key := range slices.Sorted(maps.Keys(members)) {
		member := members[key]
		if member.IsKnown() && member.IsNull() {
			if nulls == nullsAreErrors {
				r.report(keyedPath(at, key), invalid.NullValue, "is null; an override cannot take anything away, leave it out")
			}
			continue
		}
		out = append(out, entry{key, member})
	}
	return out
}

// plain converts a known value to strings, bools, int64 for whole numbers, float64 for others, []any and
// map[string]any. Null members of maps are left out.
func (r *reading) plain(at string, v tftypes.Value) (any, bool) {
	if elements, ok := elementsOf(v); ok {
		out := make([]any, 0, len(elements))
		for i, e := range elements {
			if e.IsNull() {
				r.report(elementPath(at, i), invalid.NullValue, "is null; leave it out")
				return nil, false
			}
			value, ok := r.plain(elementPath(at, i), e)
			if !ok {
				return nil, false
			}
			out = append(out, value)
		}
		return out, true
	}
	if members, ok := entriesOf(v); ok {
		out := make(map[string]any, len(members))
		for _, key := range slices.Sorted(maps.Keys(members)) {
			if members[key].IsNull() {
				continue
			}
			value, ok := r.plain(keyPath(at, key), members[key])
			if !ok {
				return nil, false
			}
			out[key] = value
		}
		return out, true
	}
	switch {
	case v.Type().Is(tftypes.Bool):
		b, ok := flagOf(v)
		return b, ok
	case v.Type().Is(tftypes.Number):
		var n big.Float
		if err := v.As(&n); err != nil {
			return nil, false
		}
		return planresource.Number(&n), true
	case v.Type().Is(tftypes.String):
		s, ok := textOf(v)
		return s, ok
	}
	r.report(at, invalid.BadParameter, "is a value of a kind that no parameter takes")
	return nil, false
}

// configurationFrom reads a configuration into the planner's form.
func configurationFrom(ctx context.Context, at string, v types.Dynamic, nulls nulls) (planresource.Configuration,
	invalid.Errors) {
	value, err := v.ToTerraformValue(ctx)
	if err != nil {
		return nil, invalid.Errors{{Attribute: at, Code: invalid.BadStructure, Message: err.Error()}}
	}
	var r reading
	configuration := planresource.Configuration{}
	for _, b := range r.configuration(at, value, nulls) {
		if configuration[b.Type] == nil {
			configuration[b.Type] = map[string]planresource.Parameters{}
		}
		if !b.bare {
			configuration[b.Type][b.Title] = b.Parameters
		}
	}
	return configuration, r.errs
}

// keyedPath is a member that is usually an identifier and is then written as one.
func keyedPath(at, key string) string {
	if namePattern.MatchString(key) && !strings.Contains(key, ".") {
		return namePath(at, key)
	}
	return keyPath(at, key)
}

// configurationValidator checks a configuration against the configuration resource types. What is unknown is left for
// later.
type configurationValidator struct {
	nulls   nulls
	partial bool // the resources are changes of others, so nothing is required
}

func (v configurationValidator) Description(context.Context) string {
	return "configuration resources: type, title, parameters"
}

func (v configurationValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v configurationValidator) ValidateDynamic(ctx context.Context, req validator.DynamicRequest,
	resp *validator.DynamicResponse) {
	if req.ConfigValue.IsNull() {
		return
	}
	value, err := req.ConfigValue.ToTerraformValue(ctx)
	if err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid configuration", err.Error())
		return
	}
	var r reading
	schemas := schema.Types()
	unknown := "" // the type that was reported last; the blocks of a type follow each other
	for _, b := range r.configuration(req.Path.String(), value, v.nulls) {
		switch _, known := schemas[b.Type]; {
		case !known && b.Type != unknown:
			unknown = b.Type
			r.errs = append(r.errs, site.UnknownTypeError("", "", b.typeAt, b.Type, schemas))
		case known && !b.bare:
			r.errs = append(r.errs, v.check(schemas[b.Type], b)...)
		}
	}
	for _, p := range r.errs {
		resp.Diagnostics.Append(diagnostic(req.Path, p, p.Attribute+": "+p.Message))
	}
}

// check reports what the type of a configuration resource does not accept.
func (v configurationValidator) check(schema planresource.Schema, b block) invalid.Errors {
	if v.partial {
		schema.Check = nil // it judges the whole resource
	}
	var errs invalid.Errors
	for _, e := range schema.Validate(b.Resource) {
		if e.Code == invalid.MissingParameter && v.partial {
			continue
		}
		p := site.ParameterError("", "", b.Type, b.Title, e)
		if p.Attribute = b.at; e.Attribute != "title" {
			p.Attribute = namePath(b.at, e.Attribute)
		}
		errs = append(errs, p)
	}
	slices.SortStableFunc(errs, func(a, b invalid.Error) int { return strings.Compare(a.Attribute, b.Attribute) })
	return errs
}
