package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/item"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// itemInputs fails the test when a vector has parts that no code looks at, in itself or in what it gives.
func itemInputs(t testing.TB, v *vector, more ...string) {
	t.Helper()
	v.inputs(t, append([]string{"source", "source_kind", "stage", "given"}, more...)...)
	for key := range mapping(t, v.keys["given"]) {
		if !slices.Contains(modelKeys, key) {
			t.Errorf("the vector gives %q, which no code looks at", key)
		}
	}
}

// replayItemRequires checks the paths that items require by the structure of their types.
func replayItemRequires(t testing.TB, f *file, v *vector) {
	itemInputs(t, v)
	tree := loadItems(t, f, v.keys["given"])
	expect := expectations(t, v.keys["expect"], "required_paths")
	want := decode[map[string][]string](t, expect["required_paths"])
	if len(want) == 0 {
		t.Fatal("the vector expects no paths")
	}
	for path, paths := range want {
		at := expand(t, f, path)
		if tree.Get(at) == nil {
			t.Errorf("%s: there is no such item", path)
		}
		var expanded []item.Path
		for _, p := range paths {
			expanded = append(expanded, expand(t, f, p))
		}
		slices.SortFunc(expanded, item.Path.Compare)
		same(t, path, tree.Required(at), expanded)
	}
}

// replayItemValidate checks which mistakes a model has, by path and kind.
func replayItemValidate(t testing.TB, f *file, v *vector) {
	itemInputs(t, v)
	tree := loadItems(t, f, v.keys["given"])
	expect := expectations(t, v.keys["expect"], "errors")
	want, got := make(map[string]bool), make(map[string]bool)
	for _, e := range strictly[[]struct{ Path, Type string }](t, expect["errors"]) {
		want[string(expand(t, f, e.Path))+" "+e.Type] = true
	}
	for _, p := range tree.Validate().Errors() {
		got[p.Name+" "+string(p.Code)] = true
	}
	same(t, "errors", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
}

// stepOf is one step of a vector of the state machine of items.
type stepOf struct {
	Op, Path, Type, Source, Error string
	Props                         map[string]*string
	Tasks                         map[string][]string
	Expect                        map[string]yaml.Node
}

func (s stepOf) given() map[string]string {
	out := make(map[string]string)
	for name, value := range s.Props {
		if value != nil {
			out[name] = *value
		}
	}
	return out
}

// itemSteps is the table of what a step does.
var itemSteps = map[string]func(t testing.TB, f *file, tree *item.Tree, s stepOf) site.Problems{
	"create": func(t testing.TB, f *file, tree *item.Tree, s stepOf) site.Problems {
		return tree.Create(expand(t, f, s.Path), s.Type, s.given())
	},
	"inherit": func(t testing.TB, f *file, tree *item.Tree, s stepOf) site.Problems {
		return tree.Inherit(expand(t, f, s.Path), expand(t, f, s.Source), s.given())
	},
	"update": func(t testing.TB, f *file, tree *item.Tree, s stepOf) site.Problems {
		return tree.Update(expand(t, f, s.Path), s.Props)
	},
	"remove": func(t testing.TB, f *file, tree *item.Tree, s stepOf) site.Problems {
		return tree.Remove(expand(t, f, s.Path))
	},
	"undeterminable": func(t testing.TB, f *file, tree *item.Tree, s stepOf) site.Problems {
		return tree.MarkUndeterminable(expand(t, f, s.Path))
	},
	"set_all_applied": func(_ testing.TB, _ *file, tree *item.Tree, _ stepOf) site.Problems {
		tree.PlanSucceeded()
		return nil
	},
	"task_removed": func(t testing.TB, f *file, tree *item.Tree, s stepOf) site.Problems {
		tree.TasksSucceeded(expand(t, f, s.Path))
		return nil
	},
	"plan_end": func(_ testing.TB, _ *file, tree *item.Tree, _ stepOf) site.Problems {
		tree.DeleteRemoved()
		return nil
	},
	"plan_tasks": func(t testing.TB, f *file, tree *item.Tree, s stepOf) site.Problems {
		outcomes := make(map[item.Path][]item.Outcome)
		for path, states := range s.Tasks {
			for _, state := range states {
				word, lock := strings.CutPrefix(state, "lock:")
				progress, known := taskProgress[word]
				if !known {
					t.Fatalf("%q is not a state of a task", word)
				}
				at := expand(t, f, path)
				outcomes[at] = append(outcomes[at], item.Outcome{Progress: progress, Lock: lock})
			}
		}
		tree.PlanEnded(outcomes)
		return nil
	},
}

var taskProgress = map[string]item.Progress{
	"Initial": item.NotStarted, "Success": item.Succeeded, "Failed": item.Unfinished, "Stopped": item.Unfinished, "Running": item.Unfinished,
}

// replayItemState takes items through steps and looks at their states after each.
func replayItemState(t testing.TB, f *file, v *vector) {
	itemInputs(t, v, "steps")
	tree := loadItems(t, f, v.keys["given"])
	for i, node := range decode[[]yaml.Node](t, v.keys["steps"]) {
		s := step(t, node)
		do, known := itemSteps[s.Op]
		if !known {
			t.Fatalf("step %d: no code does %q", i, s.Op)
		}
		errors := do(t, f, tree, s).Errors()
		switch failed := slices.ContainsFunc(errors, func(p site.Problem) bool { return string(p.Code) == s.Error }); {
		case s.Error == "" && len(errors) > 0:
			t.Errorf("step %d (%s %s): %v", i, s.Op, s.Path, errors)
		case s.Error != "" && !failed:
			t.Errorf("step %d (%s %s): got %v, want the error %s", i, s.Op, s.Path, errors, s.Error)
		}
		for path, want := range s.Expect {
			expectItem(t, i, tree.Get(expand(t, f, path)), path, want)
		}
	}
}

func step(t testing.TB, node yaml.Node) stepOf {
	t.Helper()
	known := []string{"op", "path", "type", "source", "error", "props", "tasks", "expect"}
	for key := range mapping(t, node) {
		if !slices.Contains(known, key) {
			t.Errorf("the step has the part %q, which no code looks at", key)
		}
	}
	return decode[stepOf](t, node)
}

func expectItem(t testing.TB, i int, it *item.Item, path string, want yaml.Node) {
	t.Helper()
	if want.Tag == "!!null" {
		if it != nil {
			t.Errorf("step %d: %s is %s, want it gone", i, path, it.State())
		}
		return
	}
	if it == nil {
		t.Errorf("step %d: there is no item %s", i, path)
		return
	}
	if want.Kind == yaml.ScalarNode {
		if string(it.State()) != want.Value {
			t.Errorf("step %d: %s is %s, want %s", i, path, it.State(), want.Value)
		}
		return
	}
	for key, value := range mapping(t, want) {
		switch key {
		case "state":
			if string(it.State()) != value.Value {
				t.Errorf("step %d: %s is %s, want %s", i, path, it.State(), value.Value)
			}
		case "determinable":
			if it.Determinable() != decode[bool](t, value) {
				t.Errorf("step %d: %s: determinable is %t", i, path, it.Determinable())
			}
		case "props":
			expectProperties(t, i, path, it.Properties(), value)
		case "applied_props":
			expectProperties(t, i, path, it.Applied(), value)
		default:
			t.Errorf("step %d: %s: the vector expects %q, which no code checks", i, path, key)
		}
	}
}

// expectProperties checks the properties that the vector names; null is one that is not there.
func expectProperties(t testing.TB, i int, path string, got map[string]string, want yaml.Node) {
	t.Helper()
	for name, value := range decode[map[string]*string](t, want) {
		have, set := got[name]
		if set != (value != nil) || set && have != *value {
			t.Errorf("step %d: %s: %s is %q (set: %t), want %v", i, path, name, have, set, value)
		}
	}
}
