package item

import (
	"slices"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	n := "/sites/s/clusters/c/nodes/n"
	tests := []struct {
		name  string
		lines []string
		want  []string // path, property and code, and a part of the message after ": "
	}{
		{"a sound model", nil, nil},
		{"required child missing", []string{"remove @/system"}, []string{n + " system MissingRequiredItemError: create it"}},
		{"required child for removal", []string{"success", "remove @/system"}, []string{n + "/system  MissingRequiredItemError: cannot be removed"}},
		{"required child for removal with its parent", []string{"success", "remove @"}, nil},
		{"collection too large", []string{"create /things/a thing", "create /things/a/parts/p part", "create /things/a/parts/q part", "create /things/a/parts/r part"},
			[]string{"/things/a/parts  CardinalityError: at most 2"}},
		{"what goes does not count", []string{"create /things/a thing", "create /things/a/parts/p part", "create /things/a/parts/q part", "success", "remove /things/a/parts/p",
			"create /things/a/parts/r part"}, nil},
		{"host names, without case", []string{"update @ host=MS", "update /sites/s/clusters/c/nodes/m host=ms"}, []string{"/mgmt host ValidationError: " + "/sites/s/clusters/c/nodes/m, " + n}},
		{"host names of what goes", []string{"success", "remove @", "create /sites/s/clusters/c/nodes/o node host=N"}, []string{n + " host ValidationError: nodes/o"}},
		{"cluster lists itself, twice, and nothing known", []string{"create /sites/s/clusters/d cluster after=d,e,c,c"}, []string{
			"/sites/s/clusters/d after ValidationError: at most 2 beside it",
			"/sites/s/clusters/d after ValidationError: depends on itself", "/sites/s/clusters/d after ValidationError: no item /sites/s/clusters/e",
			"/sites/s/clusters/d after ValidationError: more than once",
		}},
		{"cluster lists one that goes", []string{"create /sites/s/clusters/d cluster after=c", "success", "remove /sites/s/clusters/c"},
			[]string{"/sites/s/clusters/d after ValidationError: marked for removal"}},
		{"cluster that goes may list anything", []string{"create /sites/s/clusters/d cluster after=nosuch", "success", "remove /sites/s/clusters/d"}, nil},
		{"clusters in a cycle", []string{"create /sites/s/clusters/d cluster after=b", "create /sites/s/clusters/b cluster after=c,d", "update /sites/s/clusters/c after=d"},
			[]string{"/sites/s/clusters after ValidationError: b depends on d depends on b"}},
		{"service on a node that is not there", []string{"create /sites/s/clusters/c/services/v service on=n,o"},
			[]string{"/sites/s/clusters/c/services/v on ValidationError: there is no item /sites/s/clusters/c/nodes/o"}},
		{"all together", []string{"remove @/system", "create /things/a thing", "create /things/a/parts/p part", "create /things/a/parts/q part", "create /things/a/parts/r part", "update @ host=ms"},
			[]string{n + " system MissingRequiredItemError: ", "/things/a/parts  CardinalityError: ", "/mgmt host ValidationError: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := newTree(t)
			script(t, tree, tt.lines...)
			problems := tree.Validate()
			var got []string
			for _, p := range problems {
				got = append(got, p.Name+" "+p.Attribute+" "+string(p.Code)+": "+p.Message)
			}
			if len(got) != len(tt.want) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			for _, want := range tt.want {
				object, part, _ := strings.Cut(want, ": ")
				if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, object+": ") && strings.Contains(g, part) }) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}

// TestRequiredWithout: a required child that came with its parent has to be completed before there is a plan.
func TestRequiredWithout(t *testing.T) {
	registry, problems := Register(Definitions{
		Properties: []PropertyType{{ID: "any"}},
		Types: []Type{
			{ID: "root", Elements: []Element{{Name: "a", Kind: Child, Type: "x", Required: true}, {Name: "r", Kind: Reference, Type: "x", Required: true}}},
			{ID: "x", Elements: []Element{{Name: "p", Kind: Property, Type: "any", Required: true}}},
		},
	})
	if problems != nil {
		t.Fatal(problems)
	}
	tree, _ := New(registry, "root")
	got := tree.Validate()
	if len(got) != 2 || got[0].Code != MissingRequiredItem || got[0].Attribute != "r" || got[1].Code != MissingRequiredProp || got[1].Name != "/a" {
		t.Errorf("got %v", got)
	}
}
