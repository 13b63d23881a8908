package template

import (
	"maps"

	"github.com/zclconf/go-cty/cty"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// Variables are the names that a template can read.
func Variables() []string { return []string{"self", "node", factsVariable, "service", "site", "each"} }

// Scope is what a template can read. It is not changed once it is made, so that one scope serves many evaluations.
type Scope struct{ variables map[string]cty.Value }

// NewScope makes the scope of a service: `self` with its attributes, as [catalog.Structure.Check] returned them,
// `service.name` and `site.name`. An attribute with the modifier r that has no value, or null, is not known yet.
func NewScope(s catalog.Structure, attributes map[string]any, service, siteName string) Scope {
	return Scope{map[string]cty.Value{
		"self":    structure("self", s, attributes),
		"service": cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(service)}),
		"site":    cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(siteName)}),
	}}
}

// WithNode adds `node`: name, address, rack, tags, labels and roles.
func (s Scope) WithNode(name, address, rack string, tags, roles []string, labels map[string]string) Scope {
	values := make(map[string]cty.Value, len(labels))
	for k, v := range labels {
		values[k] = cty.StringVal(v)
	}
	return s.with("node", cty.ObjectVal(map[string]cty.Value{
		"name": cty.StringVal(name), "address": cty.StringVal(address), "rack": cty.StringVal(rack),
		"tags": texts(tags), "roles": texts(roles), "labels": textMap(values),
	}))
}

// withEach adds `each`: the key and the value of the element that a task is made for.
func (s Scope) withEach(key, value cty.Value) Scope {
	return s.with("each", cty.ObjectVal(map[string]cty.Value{"key": key, "value": value}))
}

func (s Scope) with(name string, value cty.Value) Scope {
	out := maps.Clone(s.variables)
	out[name] = value
	return Scope{out}
}

func texts(list []string) cty.Value {
	if len(list) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	out := make([]cty.Value, len(list))
	for i, s := range list {
		out[i] = cty.StringVal(s)
	}
	return cty.ListVal(out)
}

func textMap(m map[string]cty.Value) cty.Value {
	if len(m) == 0 {
		return cty.MapValEmpty(cty.String)
	}
	return cty.MapVal(m)
}

// kinds are the types that attributes have in templates.
var kinds = map[catalog.Kind]cty.Type{
	catalog.String: cty.String, catalog.Int: cty.Number, catalog.Float: cty.Number, catalog.Number: cty.Number,
	catalog.Bool: cty.Bool, catalog.Dict: cty.DynamicPseudoType,
}

func typeOf(t catalog.Type) cty.Type {
	kind, ok := kinds[t.Kind]
	if !ok {
		kind = cty.DynamicPseudoType
	}
	if t.List {
		return cty.List(kind)
	}
	return kind
}

// structure makes an object of attributes.
func structure(path string, s catalog.Structure, given map[string]any) cty.Value {
	out := make(map[string]cty.Value)
	for _, a := range s.Attributes {
		out[a.Name] = attribute(path+"."+a.Name, a, given[a.Name])
	}
	for _, e := range s.Embedded {
		out[e.Name] = embedded(path+"."+e.Name, e, given)
	}
	for _, r := range s.Relations {
		value, given := given[r.Name]
		at := path + "." + r.Name
		switch {
		case r.Modifier == catalog.Allocated && (!given || value == nil):
			out[r.Name] = pending(cty.String, at)
		case value == nil:
			out[r.Name] = cty.NullVal(cty.String)
		default:
			out[r.Name] = fromGo(value)
		}
	}
	return cty.ObjectVal(out)
}

func attribute(path string, a catalog.Attribute, value any) cty.Value {
	t := typeOf(a.Type)
	var out cty.Value
	switch list, isList := value.([]any); {
	case value == nil && a.Modifier == catalog.Allocated:
		out = pending(t, path)
	case value == nil:
		out = cty.NullVal(t)
	case isList && a.Type.List && a.Type.Kind != catalog.Dict:
		out = primitives(list, t.ElementType())
	default:
		out = fromGo(value)
	}
	if a.Sensitive {
		out = out.Mark(sensitive)
	}
	return out
}

// primitives makes a list of values of one type.
func primitives(list []any, element cty.Type) cty.Value {
	if len(list) == 0 {
		return cty.ListValEmpty(element)
	}
	out := make([]cty.Value, len(list))
	for i, e := range list {
		out[i] = fromGo(e)
	}
	if !cty.CanListVal(out) {
		return cty.TupleVal(out) // attributes that were not checked
	}
	return cty.ListVal(out)
}

func embedded(path string, e catalog.Embedded, given map[string]any) cty.Value {
	value, present := given[e.Name]
	switch v := value.(type) {
	case map[string]any:
		return structure(path, e.Structure, v)
	case []any:
		out := make([]cty.Value, len(v))
		for i, child := range v {
			object, _ := child.(map[string]any) // an object, as the check made sure
			out[i] = structure(path, e.Structure, object)
		}
		return cty.TupleVal(out)
	}
	if e.Modifier == catalog.Allocated && (!present || value == nil) {
		return pending(cty.DynamicPseudoType, path)
	}
	if e.Single() {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return cty.EmptyTupleVal
}

// unknownScope is a scope in which nothing is known but the types: with it a template is checked before there is a
// service.
func unknownScope(s catalog.Structure, each bool) Scope {
	out := unknownNode().with("self", unknownStructure(s)).
		with("service", cty.ObjectVal(map[string]cty.Value{"name": cty.UnknownVal(cty.String)}))
	if each {
		return out.withEach(cty.DynamicVal, cty.DynamicVal)
	}
	return out
}

// unknownNode is a scope with a node and a site of which nothing is known.
func unknownNode() Scope {
	text := cty.UnknownVal(cty.String)
	list := cty.UnknownVal(cty.List(cty.String))
	return Scope{map[string]cty.Value{
		"site": cty.ObjectVal(map[string]cty.Value{"name": text}),
		"node": cty.ObjectVal(map[string]cty.Value{"name": text, "address": text, "rack": text, "tags": list,
			"roles":  list,
			"labels": cty.UnknownVal(cty.Map(cty.String))}),
	}}
}

func unknownStructure(s catalog.Structure) cty.Value {
	out := make(map[string]cty.Value)
	for _, a := range s.Attributes {
		out[a.Name] = cty.UnknownVal(typeOf(a.Type))
		if a.Type.List && a.Type.Kind == catalog.Dict {
			out[a.Name] = cty.DynamicVal
		}
	}
	for _, e := range s.Embedded {
		child := unknownStructure(e.Structure)
		if e.Single() {
			out[e.Name] = cty.UnknownVal(child.Type())
			continue
		}
		out[e.Name] = cty.UnknownVal(cty.List(child.Type()))
		if child.Type().HasDynamicTypes() {
			out[e.Name] = cty.DynamicVal
		}
	}
	for _, r := range s.Relations {
		out[r.Name] = cty.UnknownVal(cty.List(cty.String))
		if r.Single() {
			out[r.Name] = cty.UnknownVal(cty.String)
		}
	}
	return cty.ObjectVal(out)
}

// firstLevel are the names that a template may write after each variable.
func firstLevel(s catalog.Structure) map[string][]string {
	return map[string][]string{
		"self": s.Names(), "service": {"name"}, "site": {"name"}, "each": {"key", "value"},
		"node": nodeNames,
	}
}

var nodeNames = []string{"name", "address", "rack", "tags", "labels", "roles"}
