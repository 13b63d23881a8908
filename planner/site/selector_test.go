package site

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// grid has four nodes in two racks.
var grid = []Node{
	{Name: "n3", Rack: "r2", Tags: []string{"b"}, Labels: map[string]string{"par": "odd"}},
	{Name: "n1", Rack: "r1", Tags: []string{"a"}, Labels: map[string]string{"par": "odd", "size": "big one"}},
	{Name: "n2", Rack: "r1", Tags: []string{"a", "b"}, Labels: map[string]string{"par": "even"}},
	{Name: "n4"},
}

func TestMembers(t *testing.T) {
	tests := []struct {
		name      string
		selectors Selectors
		want      []string
	}{
		{"no selectors are all nodes", nil, []string{"n1", "n2", "n3", "n4"}},
		{"a selector without criteria is all nodes", Selectors{{}}, []string{"n1", "n2", "n3", "n4"}},
		{"also beside another (D-03)", Selectors{{NodeNames: []string{"n1"}}, {NodeTags: []string{}}},
			[]string{"n1", "n2", "n3", "n4"}},
		{"criteria intersect", Selectors{{NodeTags: []string{"b"}, RackNames: []string{"r1"}}}, []string{"n2"}},
		{"values are alternatives", Selectors{{NodeTags: []string{"a", "b"}}}, []string{"n1", "n2", "n3"}},
		{"selectors unite, each node once", Selectors{{NodeTags: []string{"a"}}, {RackNames: []string{"r1", "r2"}}},
			[]string{"n1", "n2", "n3"}},
		{"label", Selectors{{NodeLabels: []string{" par :\todd "}}}, []string{"n1", "n3"}},
		{"label with a blank inside", Selectors{{NodeLabels: []string{"size:big one"}}}, []string{"n1"}},
		{"one label key with two values (D-05)", Selectors{{NodeLabels: []string{"par:odd", "par:even"},
			RackNames: []string{"r1"}}}, []string{"n1", "n2"}},
		{"malformed labels match nothing", Selectors{{NodeLabels: []string{"par", "par:odd:x", ":odd"}}}, []string{}},
		{"unknown names match nothing", Selectors{{NodeNames: []string{"n1", "ghost"}}}, []string{"n1"}},
		{"an empty rack is no rack to name", Selectors{{RackNames: []string{"nowhere"}}}, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.selectors.Members(grid); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestParseLabel(t *testing.T) {
	tests := []struct{ in, key, value, cause string }{
		{"a:b", "a", "b", ""},
		{" a b : c ", "a b", "c", ""},
		{"a.b/c:1", "a.b/c", "1", ""},
		{"", "", "", "has no colon"},
		{"ab", "", "", "has no colon"},
		{"a:b:c", "", "", "has 2 colons"},
		{":::", "", "", "has 3 colons"},
		{" :b", "", "", "has no key"},
		{"a: ", "", "", "has no value"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			key, value, err := ParseLabel(tt.in)
			if key != tt.key || value != tt.value {
				t.Errorf("got %q and %q, want %q and %q", key, value, tt.key, tt.value)
			}
			var errs invalid.Errors
			if (tt.cause != "") != errors.As(err, &errs) {
				t.Fatalf("got error %v, want %q", err, tt.cause)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.cause) || errs[0].Code != invalid.BadLabel || !strings.Contains(err.Error(), strconv.Quote(tt.in))) {
				t.Errorf("got error %v, want %q", err, tt.cause)
			}
		})
	}
}

func TestSelectorsValidate(t *testing.T) {
	selectors := Selectors{
		{NodeNames: []string{"n1", "n22"}},
		{NodeLabels: []string{"par:odd", "par"}, NodeNames: []string{"elsewhere"}},
	}
	want := []string{
		`error bad_label service "s": selectors[1].node_labels[1]: label "par" has no colon; write one as "key:value"`,
		`warning unknown_node service "s": selectors[0].node_names[1]: there is no node "n22", so it selects nothing; did you mean "n2"?`,
		`warning unknown_node service "s": selectors[1].node_names[0]: there is no node "elsewhere", so it selects nothing`,
	}
	if got := lines(selectors.Validate("service", "s", grid)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// lines writes errors with all that tests look at.
func lines(errs invalid.Errors) []string {
	out := make([]string, len(errs))
	for i, p := range errs {
		out[i] = "error "
		if p.Warning {
			out[i] = "warning "
		}
		out[i] += string(p.Code) + " " + p.Error()
	}
	return out
}

func FuzzParseLabel(f *testing.F) {
	for _, seed := range []string{"a:b", " a : b ", "", ":", "a:b:c", "\u00a0:\u2003", "é:\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, value, err := ParseLabel(s)
		if err != nil {
			if key != "" || value != "" {
				t.Errorf("%q: an error with a label %q:%q", s, key, value)
			}
			return
		}
		if key == "" || value == "" || strings.TrimSpace(key) != key || strings.TrimSpace(value) != value {
			t.Errorf("%q: label %q:%q is not trimmed or not whole", s, key, value)
		}
		again, also, err := ParseLabel(key + ":" + value)
		if again != key || also != value || err != nil {
			t.Errorf("%q: %q:%q is not a fixed point: %q:%q, %v", s, key, value, again, also, err)
		}
	})
}

func FuzzMembers(f *testing.F) {
	f.Add("n1", "a", "par:odd", "r1")
	f.Add("", "", "", "")
	f.Add("ghost", "b", "par", "r2")
	f.Fuzz(func(t *testing.T, name, tag, label, rack string) {
		whole := Selector{NodeNames: []string{name}, NodeTags: []string{tag}, NodeLabels: []string{label},
			RackNames: []string{rack}}
		parts := Selectors{{NodeNames: whole.NodeNames}, {NodeTags: whole.NodeTags}, {NodeLabels: whole.NodeLabels},
			{RackNames: whole.RackNames}}
		united := parts.Members(grid)
		if !slices.IsSorted(united) {
			t.Errorf("not sorted: %v", united)
		}
		both := Selectors{whole}.Members(grid)
		inventory := NewNodeIndex(grid)
		for _, s := range []Selectors{nil, {}, {{}}, parts, {whole}, {whole, {}}, {whole, whole}} {
			if want, got := s.Members(grid), inventory.Members(s); !slices.Equal(want, got) {
				t.Errorf("%v: the inventory gives %v, not %v", s, got, want)
			}
		}
		for _, member := range both {
			for _, part := range parts {
				if !slices.Contains(Selectors{part}.Members(grid), member) {
					t.Errorf("%q is in the intersection and not in each part", member)
				}
			}
		}
		_, _, err := ParseLabel(label)
		if failures := parts.Validate("group", "g", grid).Errors(); (len(failures) > 0) != (err != nil) {
			t.Errorf("label %q: %v, but validation gives %v", label, err, failures)
		}
	})
}
