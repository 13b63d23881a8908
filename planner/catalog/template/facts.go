package template

import (
	"github.com/zclconf/go-cty/cty"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// factsVariable is what the names of facts follow in a template.
const factsVariable = "facts"

// factsType is the type of `facts`; [resource.Facts] says what they are.
var factsType = cty.Object(map[string]cty.Type{
	"os": cty.Object(map[string]cty.Type{"family": cty.String, "name": cty.String, "release": cty.String,
		"codename": cty.String}),
	"architecture": cty.String, "cpus": cty.Number, "memory_mib": cty.Number, "hostname": cty.String, "fqdn": cty.String,
	"virtual": cty.Bool, "virtualization": cty.String, "service_provider": cty.String,
	"default_interface": cty.String, "default_address": cty.String,
	"interfaces": cty.Map(cty.Object(map[string]cty.Type{"mac": cty.String, "addresses": cty.List(cty.String)})),
})

var factNames = []string{"architecture", "cpus", "default_address", "default_interface", "fqdn", "hostname", "interfaces",
	"memory_mib", "os", "service_provider", "virtual", "virtualization"}

// WithFacts adds `facts`, what the node says of its machine; nil: they are not known yet.
func (s Scope) WithFacts(f *resource.Facts) Scope {
	if f == nil {
		return s.with(factsVariable, pending(factsType, factsVariable))
	}
	return s.with(factsVariable, fact(factsType, f.Plain()))
}

// fact returns a value of [resource.Facts.Plain] as one of its type.
func fact(t cty.Type, plain any) cty.Value {
	switch v := plain.(type) {
	case map[string]any:
		out := make(map[string]cty.Value, len(v))
		for name, member := range v {
			if t.IsObjectType() {
				out[name] = fact(t.AttributeType(name), member)
			} else {
				out[name] = fact(t.ElementType(), member)
			}
		}
		switch {
		case t.IsObjectType():
			return cty.ObjectVal(out)
		case len(out) == 0:
			return cty.MapValEmpty(t.ElementType())
		}
		return cty.MapVal(out)
	case []any:
		texts := make([]cty.Value, len(v))
		for i, member := range v {
			texts[i] = fact(t.ElementType(), member)
		}
		if len(texts) == 0 {
			return cty.ListValEmpty(t.ElementType())
		}
		return cty.ListVal(texts)
	case nil:
		return cty.NullVal(t)
	}
	return fromGo(plain)
}
