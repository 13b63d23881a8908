package item

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func TestDefinitions(t *testing.T) {
	basic := []PropertyType{{ID: "any"}, {ID: "digit", Pattern: "[0-9]"}}
	prop := func(e Element) []Element { e.Kind = Property; return []Element{e} }
	tests := []struct {
		name       string
		properties []PropertyType
		types      []Type
		want       []string // "object id attribute code: part of the message"
	}{
		{"type registered twice", nil, []Type{{ID: "a"}, {ID: "a"}}, []string{"item type a  duplicate: more than one"}},
		{"unknown property type", nil, []Type{{ID: "a", Elements: prop(Element{Name: "p", Type: "digi"})}}, []string{`item type a p.type unknown_type: did you mean "digit"?`}},
		{"unknown super type", nil, []Type{{ID: "abc", Extends: "abd"}}, []string{`item type abc extends unknown_type: "abd"`}},
		{"super type has the property", nil, []Type{
			{ID: "a", Elements: prop(Element{Name: "p", Type: "any"})}, {ID: "b", Extends: "a"}, {ID: "c", Extends: "b", Elements: prop(Element{Name: "p", Type: "any"})},
		}, []string{`item type c p duplicate: super type "a"`}},
		{"super type has an element of the name", nil, []Type{
			{ID: "a", Elements: []Element{{Name: "p", Kind: Child, Type: "a"}}}, {ID: "b", Extends: "a", Elements: []Element{{Name: "p", Kind: Collection, Type: "a"}}},
		}, []string{"item type b p no_effect: which counts"}},
		{"two children of a type", nil, []Type{{ID: "a", Elements: []Element{{Name: "x", Kind: Child, Type: "a"}, {Name: "y", Kind: Child, Type: "a"}}}},
			[]string{`item type a y.type duplicate: child "x"`}},
		{"element twice", nil, []Type{{ID: "a", Elements: []Element{{Name: "x", Kind: View}, {Name: "x", Kind: View}}}}, []string{"item type a x duplicate: more than one"}},
		{"bad names", []PropertyType{{ID: "a b"}}, []Type{{ID: "a/b", Elements: []Element{{Name: "", Kind: View}}}},
			[]string{"property type a b  bad_name: usable", "item type a/b  bad_name: usable", "item type a/b  bad_name: usable name"}},
		{"unknown item type", nil, []Type{{ID: "abc", Elements: []Element{{Name: "x", Kind: Child, Type: "abd"}}}}, []string{`item type abc x.type unknown_type: did you mean "abc"?`}},
		{"unknown kind", nil, []Type{{ID: "a", Elements: []Element{{Name: "x", Kind: "chld"}}}}, []string{"item type a x.kind unknown_type: use property"}},
		{"fields without meaning", nil, []Type{{ID: "a", Elements: []Element{
			{Name: "x", Kind: Child, Type: "a", Min: 1, Data: true}, {Name: "v", Kind: View, Type: "any", Required: true}, {Name: "p", Kind: Property, Type: "any", FoldCase: true, ReadOnly: true},
		}}}, []string{
			"item type a x.data bad_structure: belongs to property", "item type a x.min bad_structure: belongs to collection", "item type a v.required bad_structure: belongs to",
			"item type a v.type bad_structure: no type", "item type a p.read_only bad_structure: belongs to", "item type a p.fold_case bad_structure: without unique",
		}},
		{"min and max", nil, []Type{{ID: "a", Elements: []Element{{Name: "x", Kind: Collection, Type: "a", Min: 3, Max: 2}}}}, []string{"item type a x.min bad_value: min is 3"}},
		{"bad default", nil, []Type{{ID: "a", Elements: prop(Element{Name: "p", Type: "digit", Default: new("ab")})}}, []string{"item type a p.default bad_value: does not match"}},
		{"require", nil, []Type{{ID: "a", Elements: []Element{
			{Name: "one", Kind: Collection, Type: "a", Require: []string{"two", "onee", "one", "p"}}, {Name: "two", Kind: Collection, Type: "a", Require: []string{"one"}},
			{Name: "p", Kind: Property, Type: "any"},
		}}}, []string{
			"item type a one.require[0] cycle: ", `item type a one.require[1] unresolved_reference: did you mean "one"?`, "item type a one.require[2] cycle: ",
			"item type a one.require[3] bad_structure: is a property", "item type a two.require[0] cycle: ",
		}},
		{"extends in a cycle", nil, []Type{{ID: "a", Extends: "b"}, {ID: "b", Extends: "a"}, {ID: "c", Extends: "a"}},
			[]string{"item type a extends cycle: a -> b -> a", "item type b extends cycle: b -> a -> b"}},
		{"required children without end", nil, []Type{{ID: "a", Elements: []Element{{Name: "x", Kind: Child, Type: "b", Required: true}}}, {ID: "b", Extends: "c"},
			{ID: "c", Elements: []Element{{Name: "y", Kind: Child, Type: "a", Required: true}}}},
			[]string{"item type a x cycle: a -> x -> b -> y -> a", "item type b y cycle: b -> y -> a -> x -> b"}},
		{"bad role", nil, []Type{{ID: "a", Role: "king"}}, []string{"item type a role bad_value: king"}},
		{"property types", []PropertyType{{ID: "any"}, {ID: "p", Pattern: "("}, {ID: "q", Validators: []Validator{
			{Kind: "lenght"}, {Kind: "one_of"}, {Kind: "length"}, {Kind: "integer", Min: new(int64(2)), Max: new(int64(1))},
		}}}, nil, []string{
			"property type any  duplicate: more than one", "property type p pattern bad_value: missing", `property type q validators[0].kind unknown_type: did you mean "length"?`,
			"property type q validators[1] bad_value: needs values", "property type q validators[2] bad_value: needs min or max", "property type q validators[3] bad_value: greater",
		}},
		{"item validators", nil, []Type{{ID: "a", Elements: prop(Element{Name: "p", Type: "any"}), Validators: []ItemValidator{
			{Kind: "togeter", Properties: []string{"p", "q"}}, {Kind: "together", Properties: []string{"p"}}, {Kind: "at_least_one", Properties: []string{"p"}},
		}}}, []string{
			`item type a validators[0].kind unknown_type: did you mean "together"?`, "item type a validators[0].properties[1] unresolved_reference: not a property",
			"item type a validators[1].properties missing_field: at least two",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			registry, problems := Register(Definitions{Properties: append(append([]PropertyType{}, basic...), tt.properties...), Types: tt.types})
			if (registry == nil) != (len(problems.Errors()) > 0) {
				t.Errorf("registry %v with problems %v", registry, problems)
			}
			if len(problems) != len(tt.want) {
				t.Fatalf("got\n%v\nwant %q", problems, tt.want)
			}
			for i, want := range tt.want {
				head, part, _ := strings.Cut(want, ": ")
				p := problems[i]
				if got := strings.Join([]string{p.Object, p.Name, p.Attribute, string(p.Code)}, " "); got != head || !strings.Contains(p.Message, part) {
					t.Errorf("got %q: %s, want %q", got, p.Message, want)
				}
			}
		})
	}
}

// TestStructure: a sub type has all of its super types, of equal names that of the outermost (litp.md 8).
func TestStructure(t *testing.T) {
	registry, problems := Register(Definitions{Types: []Type{
		{ID: "c", Extends: "b", Elements: []Element{{Name: "z", Kind: Collection, Type: "a", Require: []string{"y"}}, {Name: "x", Kind: Collection, Type: "c"}}},
		{ID: "a", Role: RoleNode, Elements: []Element{{Name: "x", Kind: Child, Type: "a"}}},
		{ID: "b", Extends: "a", Elements: []Element{{Name: "y", Kind: Collection, Type: "a", Require: []string{"x"}}}},
	}})
	if len(problems) != 1 || problems[0].Code != site.NoEffect {
		t.Fatal(problems)
	}
	var names []string
	for _, e := range registry.Elements("c") {
		names = append(names, e.Name+" "+string(e.Kind))
	}
	if got := strings.Join(names, ", "); got != "x child, y collection, z collection" {
		t.Errorf("got %s", got)
	}
	if registry.RoleOf("c") != RoleNode || !registry.Is("c", "a") || registry.Is("a", "c") || registry.Is("nosuch", "a") || registry.RoleOf("nosuch") != "" {
		t.Error("role, or is a")
	}
	if got := registry.types["c"].byName["z"].require; strings.Join(got, ",") != "x,y" {
		t.Errorf("require: %v", got)
	}
}

func TestValues(t *testing.T) {
	tests := []struct {
		v         Validator
		good, bad []string
	}{
		{Validator{Kind: "one_of", Values: []string{"on", "off"}}, []string{"on"}, []string{"", "On"}},
		{Validator{Kind: "none_of", Values: []string{"root"}}, []string{"", "user"}, []string{"root"}},
		{Validator{Kind: "integer", Min: new(int64(-1)), Max: new(int64(3))}, []string{"-1", "3"}, []string{"", "-2", "4", "1.0", "x", "99999999999999999999"}},
		{Validator{Kind: "integer"}, []string{"-5"}, []string{"five"}},
		{Validator{Kind: "length", Min: new(int64(1)), Max: new(int64(2))}, []string{"é", "ab"}, []string{"", "abc"}},
		{Validator{Kind: "address"}, []string{"10.0.0.1", "::1"}, []string{"", "10.0.0.0/8", "10.0.0"}},
		{Validator{Kind: "network"}, []string{"10.0.0.0/8", "fe80::/10"}, []string{"", "10.0.0.1"}},
		{Validator{Kind: "no_digit"}, []string{"", "a1"}, []string{"12"}},
	}
	covered := make(map[string]bool)
	for _, tt := range tests {
		covered[tt.v.Kind] = true
		kind := valueValidators[tt.v.Kind]
		for _, value := range tt.good {
			if m := kind.check(tt.v, value); m != "" {
				t.Errorf("%s %q: %s", tt.v.Kind, value, m)
			}
		}
		for _, value := range tt.bad {
			if kind.check(tt.v, value) == "" {
				t.Errorf("%s accepts %q", tt.v.Kind, value)
			}
		}
	}
	for kind := range valueValidators {
		if !covered[kind] {
			t.Errorf("no test of %s", kind)
		}
	}
	word := &values{PropertyType: PropertyType{Pattern: "a|b"}}
	word.pattern, _ = whole(word.Pattern)
	if word.mistake("a") != "" || word.mistake("ab") == "" || word.mistake("xb") == "" {
		t.Error("a pattern is for the whole value")
	}
}

func TestItemValidators(t *testing.T) {
	tests := []struct {
		kind, values string // of the properties a, b, c
		good         bool
	}{
		{"exactly_one", "b=1", true}, {"exactly_one", "", false}, {"exactly_one", "a=1 b=1", false},
		{"at_least_one", "c=1", true}, {"at_least_one", "", false},
		{"at_most_one", "", true}, {"at_most_one", "a=1 c=1", false},
		{"together", "", true}, {"together", "a=1 b=1 c=1", true}, {"together", "a=1 b=1", false},
		{"different", "a=1 b=2", true}, {"different", "a=1 c=1", false},
		{"ascending", "a=2 b=10 c=10", true}, {"ascending", "a=3 c=2", false}, {"ascending", "a=x c=2", true},
	}
	covered := make(map[string]bool)
	for _, tt := range tests {
		covered[tt.kind] = true
		d := Definitions{Properties: []PropertyType{{ID: "any"}}, Types: []Type{
			{ID: "base", Validators: []ItemValidator{{tt.kind, []string{"a", "b", "c"}}}, Elements: []Element{
				{Name: "a", Kind: Property, Type: "any"}, {Name: "b", Kind: Property, Type: "any"}, {Name: "c", Kind: Property, Type: "any"},
			}},
			{ID: "sub", Extends: "base"},
		}}
		registry, problems := Register(d)
		if problems != nil {
			t.Fatal(problems)
		}
		got := checkProperties("/x", registry.types["sub"], propertiesOf(strings.Fields(tt.values)))
		if (got == nil) != tt.good || got != nil && got[0].Code != ValidationFailed {
			t.Errorf("%s with %q: %v", tt.kind, tt.values, got)
		}
	}
	for kind := range itemValidators {
		if !covered[kind] {
			t.Errorf("no test of %s", kind)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("[a-z]+", "abc")
	f.Add("a)(b", "x")
	f.Fuzz(func(t *testing.T, pattern, value string) {
		registry, problems := Register(Definitions{
			Properties: []PropertyType{{ID: "p", Pattern: pattern}},
			Types:      []Type{{ID: "root", Elements: []Element{{Name: "p", Kind: Property, Type: "p", Default: &value}}}},
		})
		if registry == nil && len(problems.Errors()) == 0 {
			t.Error("no registry and no reason")
		}
	})
}
