package conformance

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// states are those of LITP's items, by what a plan does with the resource that stands for an item.
var states = map[task.Action]string{task.Create: "Initial", task.Update: "Updated", task.Remove: "ForRemoval"}

// stored is the model as configuration: each item is a resource of one node with the item's properties as its content.
// What is removed stays in the model as long as its removal can be undone.
type stored struct {
	props     map[string]map[string]string
	removed   map[string]bool
	applied   planner.Applied
	unplanned map[string]bool // properties that are no configuration
}

const itemNode = "n1"

func (m *stored) site(t testing.TB) site.Site {
	t.Helper()
	files := make(map[string]resource.Parameters)
	for path, props := range m.props {
		if m.removed[path] {
			continue
		}
		planned := maps.Clone(props)
		maps.DeleteFunc(planned, func(name, _ string) bool { return m.unplanned[name] })
		content, err := json.Marshal(planned)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = resource.Parameters{"content": string(content)}
	}
	return site.Site{
		Name: "litp", Nodes: []site.Node{{Name: itemNode, Address: itemNode}},
		Services: []site.Service{{Name: "items", Configuration: resource.Configuration{"file": files}}},
	}
}

// do carries out one step.
func (m *stored) do(t testing.TB, op, path string, props map[string]*string) {
	t.Helper()
	switch op {
	case "create", "update":
		if m.props[path] == nil || op == "create" && m.applied[itemNode][resource.MakeID("file", path)] == "" && !m.removed[path] {
			m.props[path] = make(map[string]string)
		}
		for name, value := range props {
			if value == nil {
				delete(m.props[path], name)
			} else {
				m.props[path][name] = *value
			}
		}
		m.remove(path, false)
	case "remove":
		m.remove(path, true)
	case "set_all_applied":
		applied, errs := planner.AppliedAfter(m.site(t))
		if len(errs.Errors()) > 0 {
			t.Fatal(errs)
		}
		m.applied = applied
	case "undeterminable":
		m.applied[itemNode][resource.MakeID("file", path)] = ""
	default:
		t.Fatalf("slipway has no %s of items", op)
	}
}

// remove takes an item and all below it out of what is wanted, or back in.
func (m *stored) remove(path string, removed bool) {
	for other := range m.props {
		if within(other, path) {
			m.removed[other] = removed
		}
	}
}

// replayState changes configuration step by step and looks at what a plan would do.
func replayState(t testing.TB, f *file, v *vector) {
	m := stored{props: make(map[string]map[string]string), removed: make(map[string]bool),
		unplanned: make(map[string]bool), applied: planner.Applied{itemNode: {}}}
	for _, of := range decode[map[string]struct{ Props []any }](t, f.root["types"]) {
		for _, p := range of.Props {
			named, _ := p.(map[string]any)
			for name, is := range named {
				if options, _ := is.(map[string]any); options["configuration"] == false {
					m.unplanned[name] = true
				}
			}
		}
	}
	type expected struct {
		State        string
		Determinable *bool
		Props        map[string]string
	}
	for i, step := range strictly[[]struct {
		Op, Type, Path, Error string
		Props                 map[string]*string
		Expect                map[string]any
	}](t, v.keys["steps"]) {
		if step.Error != "" {
			t.Fatalf("step %d: slipway does not refuse %s with %s", i, step.Op, step.Error)
		}
		m.do(t, step.Op, expand(t, f, step.Path), step.Props)
		p, errs := planner.Make(m.site(t), m.applied, nil)
		if p == nil {
			t.Fatal(errs)
		}
		for _, text := range slices.Sorted(maps.Keys(step.Expect)) {
			path := expand(t, f, text)
			var want expected
			switch is := step.Expect[text].(type) {
			case string:
				want.State = is
			case map[string]any:
				data, _ := yaml.Marshal(is)
				var node yaml.Node
				if err := yaml.Unmarshal(data, &node); err != nil {
					t.Fatal(err)
				}
				want = strictly[expected](t, *node.Content[0])
			}
			id := resource.MakeID("file", path)
			digest, recorded := m.applied[itemNode][id]
			got := ""
			if m.props[path] != nil && !m.removed[path] {
				got = "Applied"
			}
			for _, phase := range p.Phases {
				for _, of := range phase.Tasks {
					if of.Resource.ID() == id {
						got = cmp.Or(states[of.Action], string(of.Action))
					}
				}
			}
			if got != want.State {
				t.Errorf("step %d: %s is %q, want %q", i, text, got, want.State)
			}
			if want.Determinable != nil && *want.Determinable == (recorded && digest == "") {
				t.Errorf("step %d: %s is recorded as %q, want determinable: %t", i, text, digest, *want.Determinable)
			}
			for name, value := range want.Props {
				same(t, text+" "+name, m.props[path][name], value)
			}
		}
	}
}
