package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// TestAllAtOnce: what is wrong with one object hides nothing of another, and leads to nothing that is not wrong.
func TestAllAtOnce(t *testing.T) {
	group := func(name, rest string) string {
		return "- {name: " + name + ", selectors: []" + rest + "}\n"
	}
	for name, tt := range map[string]struct {
		groups string
		more   string
		want   []string
	}{
		"one of each": {
			group("a", ", critical: maybe") + group("b", ", critical: true, depends_on_groups: [zz]") +
				group("c", ", critical: true") + group("c", ", critical: true"), "",
			[]string{`s.yaml:2:38: groups[0].critical: is text`,
				`s.yaml:3:64: group "b": depends_on_groups[0]: there is no group "zz"`, `s.yaml:5:10: group "c": name: `},
		},
		"in the same object": {group("a", ", critical: maybe, depends_on_groups: [zz]"), "",
			[]string{`s.yaml:2:38: groups[0].critical: is text`}},
		"perhaps the unread name": {group("5", ", critical: true") +
			group("b", ", critical: true, depends_on_groups: [x]"), "", []string{
			`s.yaml:2:10: groups[0].name: is a number`}},
		"perhaps in another list": {group("b", ", critical: true, depends_on_groups: [x]"), "nodes: 5\n",
			[]string{`s.yaml:3:8: nodes: is a number`}},
		"a bad label and a number": {group("b", ", critical: true"), "nodes:\n- {name: a, rack: [1]}\n- {name: .b}\n",
			[]string{`s.yaml:4:19: nodes[0].rack: is a list`, `s.yaml:5:10: node ".b": name: `}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseSite([]Source{{"s.yaml", []byte("groups:\n" + tt.groups + tt.more)}}, Options{})
			var errs invalid.Errors
			if !errors.As(err, &errs) {
				t.Fatal(err)
			}
			got := make([]string, len(errs))
			for i, p := range errs {
				got[i] = p.Error()
				if i < len(tt.want) && strings.HasPrefix(got[i], tt.want[i]) {
					got[i] = tt.want[i]
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestPartsAtOnce: an entity or a key that there is not hides nothing of other services and overrides.
func TestPartsAtOnce(t *testing.T) {
	check := func(s site.Site) invalid.Errors {
		var out invalid.Errors
		for _, given := range s.Services {
			out = append(out, invalid.Error{Object: "service", Name: given.Name, Attribute: "configuration",
				Code: invalid.BadValue, Message: "is bad"})
		}
		return out
	}
	for name, tt := range map[string]struct {
		text string
		want string
	}{
		"entity": {
			"services:\n- {name: a, selectors: [], entity: ghost}\n- {name: b, selectors: [], configuration: {}}\n",
			`s.yaml:2:36: services[0].entity: there is no entity "ghost"; no document holds a catalog: name its files, too, or define it under the key "catalog"
s.yaml:3:28: service "b": configuration: is bad`},
		"key": {"nodes:\n- {name: n, rolse: []}\nservices:\n- {name: b, selectors: [], configuration: {}}\n",
			`s.yaml:2:13: nodes[0]: unknown key "rolse"; did you mean "roles"?
s.yaml:4:28: service "b": configuration: is bad`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseSite([]Source{{"s.yaml", []byte(tt.text)}}, Options{Check: check})
			if d := cmp.Diff(tt.want, fmt.Sprint(err)); d != "" {
				t.Error(d)
			}
		})
	}
}
