package catalog

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Kind is the kind of a value (lsm.md 2).
type Kind string

// The kinds.
const (
	String Kind = "string"
	Int    Kind = "int"
	Float  Kind = "float"
	Number Kind = "number"
	Bool   Kind = "bool"
	Dict   Kind = "dict"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{String, Int, Float, Number, Bool, Dict} }

// Type is the type of a property. In a definition, Name and Rules are what the user wrote and Kind is empty; in a
// resolved type Rules hold those of all types that it goes back to, the oldest first.
type Type struct {
	// a kind or a named type, with `?` for nullable and `[]` for a list: `vlan`, `int?`, `vlan[]`, `string[]?`
	Name     string `json:"name"`
	Kind     Kind   `json:"kind"`
	List     bool   `json:"list,omitempty"`
	Nullable bool   `json:"nullable,omitempty"` // the value, or the list as a whole, may be null
	Rules    []Rule `json:"rules,omitempty"`
}

// TypeDefinition is a named type of the user's.
type TypeDefinition struct {
	Name        string
	Description string `key:"description"`
	Extends     string `key:"extends,required"` // a kind or a named type
	Rules       []Rule
}

// ParseType takes a type as written apart: what it goes back to, whether it is a list, and whether it may be null.
func ParseType(text string) (base string, list, nullable bool) {
	base, nullable = strings.CutSuffix(text, "?")
	base, list = strings.CutSuffix(base, "[]")
	return base, list, nullable
}

// predefined are the named types that every catalog has: one for each format, and those below.
func predefined() map[string]Type {
	out := map[string]Type{"port": {Kind: Int, Rules: []Rule{{"ge", int64(1)}, {"le", int64(65535)}}}}
	for _, k := range Kinds() {
		out[string(k)] = Type{Kind: k}
	}
	for _, f := range formats {
		out[f.name] = Type{Kind: String, Rules: []Rule{{"format", f.name}}}
	}
	return out
}

// PredefinedTypes returns the names of the types that every catalog has beside the kinds, sorted.
func PredefinedTypes() []string {
	var names []string
	for name := range predefined() {
		if !slices.Contains(Kinds(), Kind(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// check returns a value in its one form (whole numbers are int64), and what is wrong with it. Types are strict: nothing
// is converted (lsm.md 18, 1); a float64 that is whole is an int, because JSON and HCL know one kind of number only.
// secret keeps the value out of the errors.
func (t Type) check(path string, value any, secret bool) (any, []invalid.Error) {
	var m errs
	if value == nil {
		if !t.Nullable {
			m.add(path, TypeMismatch, "is null; give %s", t.want())
		}
		return nil, m
	}
	if !t.List {
		value = t.checkOne(path, value, secret, &m)
		return value, m
	}
	list, ok := value.([]any)
	if !ok {
		m.add(path, TypeMismatch, "is %s, not %s", describe(value, secret), t.want())
		return nil, m
	}
	out := make([]any, len(list))
	for i, e := range list {
		at := invalid.PathAt(path, i)
		if e == nil {
			m.add(at, TypeMismatch, "is null; give %s", kindNames[t.Kind])
			continue
		}
		out[i] = t.checkOne(at, e, secret, &m)
	}
	if len(m) == 0 {
		t.apply(path, out, true, secret, &m)
	}
	return out, m
}

func (t Type) checkOne(path string, value any, secret bool, m *errs) any {
	value, ok := t.Kind.normal(value)
	if !ok {
		want := kindNames[t.Kind]
		if !t.List {
			want = t.want()
		}
		m.add(path, TypeMismatch, "is %s, not %s", describe(value, secret), want)
		return value
	}
	t.apply(path, value, false, secret, m)
	return value
}

// apply checks the rules about a list as a whole, or those about one value; the first one that fails is reported
// (litp.md 2).
func (t Type) apply(path string, value any, list, secret bool, m *errs) {
	for _, r := range t.Rules {
		definition, ok := ruleNamed(r.Name)
		if !ok || definition.list != list || !list && !slices.Contains(definition.kinds, t.Kind) ||
			!definition.argument(r.Argument) {
			continue // a rule that does not fit has been reported with the definition
		}
		if message := definition.check(r.Argument, value); message != "" {
			if shown := describe(value, secret); !list && !secret {
				message = shown + " is not valid: " + message
			}
			m.add(path, ValidationFailed, "%s", message)
			return
		}
	}
}

// kindNames name what a value must be.
var kindNames = map[Kind]string{
	String: "a string", Int: "a whole number", Float: "a number", Number: "a number", Bool: "true or false", Dict: "a map",
}

func (t Type) want() string {
	want := kindNames[t.Kind]
	if t.List {
		want = "a list in which each element is " + want
	}
	if t.Nullable {
		want += ", or null"
	}
	return want
}

// normal returns a value in its one form, and whether it is of the kind.
func (k Kind) normal(value any) (any, bool) {
	switch v := value.(type) {
	case string:
		return v, k == String
	case bool:
		return v, k == Bool
	case int64:
		return v, k == Int || k == Float || k == Number
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return v, false
		}
		if whole, ok := resource.Whole(v); ok {
			return whole, k == Int || k == Float || k == Number
		}
		return v, k == Float || k == Number
	case map[string]any:
		return v, k == Dict
	}
	return value, false
}

// describe names a value: what it is, and which one it is where that is short and not secret.
func describe(value any, secret bool) string {
	const short = 60
	var what, text string
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		what, text = "a string", fmt.Sprintf("the string %q", v)
	case bool:
		what, text = "true or false", fmt.Sprint(v)
	case int64, float64:
		what, text = "a number", fmt.Sprintf("the number %v", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	default:
		return fmt.Sprintf("a value of type %T", v)
	}
	if secret || len(text) > short {
		return what
	}
	return text
}
