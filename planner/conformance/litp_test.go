package conformance

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// litpStages is the table of what replays the vectors of litp.yaml, by what they are about. All of it is planned by
// [planner.Make] and run by package rollout.
var litpStages = map[string]func(t testing.TB, f *file, v *vector){
	"build":          replayPlan,
	"plan":           replayPlan,
	"groups":         replayPlan,
	"topsort":        replayLevels,
	"lock_decision":  replayLockDecision,
	"left_locked":    replayLeftLocked,
	"tree":           replayTree,
	"ready":          replayReady,
	"model_requires": replayRequired,
	"validate":       replayModelErrors,
	"state":          replayState,
}

func replayLITP(t testing.TB, f *file, v *vector) {
	v.inputs(t, "source", "source_kind", "stage", "quirk", "domain_rule", "given", "cases", "steps")
	stage := decode[string](t, v.keys["stage"])
	replay, ok := litpStages[stage]
	if !ok {
		t.Fatalf("no code handles vectors of the stage %q", stage)
	}
	replay(t, f, v)
}

// replayPlan makes a plan, looks at its tasks and requirements, and runs it.
func replayPlan(t testing.TB, f *file, v *vector) {
	expect := expectations(t, v.keys["expect"], "phases", "after", "before", "contains", "absent", "phase_count",
		"groups", "replaces", "tree", "error", "message_contains")
	m := readModel(t, f, v.keys["given"])
	p := m.plan(t, m.applied(t))
	if kind, ok := expect["error"]; ok {
		p.fails(t, kind.Value)
		return
	}
	if p.plan == nil {
		t.Fatalf("no plan: %v %v", p.err, p.errs.Errors())
	}
	groups := p.groups()
	for id, want := range decode[map[string]string](t, expect["groups"]) {
		same(t, "group of "+id, groups[id], want)
	}
	if len(expect) == 1 && expect["groups"].Kind != 0 {
		return // such tasks need not make a run
	}
	entries := p.trace(t, false)
	var done []string
	phases := make(map[int]bool)
	for _, e := range entries {
		done = append(done, e.ids...)
		phases[e.phase] = true
	}
	for _, chain := range decode[[][]string](t, expect["before"]) {
		inOrder(t, done, chain)
	}
	for _, id := range p.want(decode[[]string](t, expect["contains"])) {
		if !slices.Contains(done, id) {
			t.Errorf("want %s in %v", id, done)
		}
	}
	for _, id := range decode[[]string](t, expect["absent"]) {
		if slices.Contains(done, id) {
			t.Errorf("want no %s in %v", id, done)
		}
	}
	for id, want := range decode[map[string][][]string](t, expect["replaces"]) {
		slices.SortFunc(want, slices.Compare)
		same(t, "dropped by "+id, p.dropped(id), want)
	}
	if count, ok := expect["phase_count"]; ok {
		same(t, "number of phases", len(phases), decode[int](t, count))
	}
	if want, ok := expect["phases"]; ok {
		p.phases(t, entries, decode[[][]string](t, want))
	}
	if want, ok := expect["tree"]; ok {
		same(t, "tree", p.tree(t, decode[[][]string](t, expect["phases"])), closed(decode[map[int][]int](t, want)))
	}
	if want, ok := expect["after"]; ok {
		after := p.after(t)
		for id, list := range decode[map[string][]string](t, want) {
			same(t, "after of "+id, after[id], sortedIDs(list))
		}
	}
}

// fails checks that there is no plan, and why.
func (p planned) fails(t testing.TB, kind string) {
	t.Helper()
	about := func(is func(invalid.Error) bool) bool {
		return p.err == nil && p.plan == nil && slices.ContainsFunc(p.errs.Errors(), is)
	}
	var ok bool
	switch kind {
	case "empty_plan":
		ok = p.plan != nil && p.plan.Empty()
	case "cyclic":
		ok = about(func(e invalid.Error) bool { return e.Code == invalid.DependencyCycle })
	case "view":
		ok = about(func(e invalid.Error) bool { return e.Object == "group" })
	case "non_unique_task":
		ok = about(func(e invalid.Error) bool { return e.Code == invalid.DuplicateResource })
	case "task_validation":
		ok = p.err != nil || about(func(e invalid.Error) bool { return e.Object == "service" })
	default:
		t.Fatalf("no code knows the error %q", kind)
	}
	if !ok {
		t.Errorf("got %v %v, want the error %s", p.err, p.errs.Errors(), kind)
	}
}

// replayLevels makes each entry of a graph a callback on one node and looks at the phases.
func replayLevels(t testing.TB, f *file, v *vector) {
	expect := expectations(t, v.keys["expect"], "levels", "error", "message_contains")
	graph := decode[map[string][]string](t, mapping(t, v.keys["given"])["graph"])
	m := model{items: []itemOf{{Path: "/sites/s/clusters/c"}, {Path: "/sites/s/clusters/c/nodes/n"}}}
	names := slices.Collect(maps.Keys(graph))
	for _, list := range graph {
		names = append(names, list...)
	}
	for _, name := range sortedIDs(names) {
		w := taskOf{ID: name, Kind: "callback", Item: "/sites/s/clusters/c/nodes/n/" + name}
		for _, required := range graph[name] {
			w.Requires = append(w.Requires, "item:/sites/s/clusters/c/nodes/n/"+required)
		}
		m.tasks = append(m.tasks, w)
	}
	p := m.plan(t, nil)
	if kind, ok := expect["error"]; ok {
		p.fails(t, kind.Value)
		return
	}
	var got [][]string
	for _, phase := range p.plan.Phases {
		if phase.TaskGroup != task.Prepare {
			got = append(got, sortedIDs(each(phase.Tasks, p.id)))
		}
	}
	if want := decode[[][]string](t, expect["levels"]); len(want)+len(got) > 0 {
		same(t, "levels", got, want)
	}
}

// given lays what a case of a vector gives over what the vector gives.
func given(t testing.TB, v *vector, more yaml.Node) yaml.Node {
	t.Helper()
	all := maps.Clone(mapping(t, v.keys["given"]))
	if all == nil {
		all = make(map[string]yaml.Node)
	}
	maps.Copy(all, mapping(t, more))
	out := yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		node := all[key]
		out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &node)
	}
	return out
}

// replayLockDecision asks the plan of each case whether a node is locked.
func replayLockDecision(t testing.TB, f *file, v *vector) {
	for i, c := range strictly[[]struct {
		Given     yaml.Node
		Node, Why string
		Policy    any
		Lock      bool
	}](t, v.keys["cases"]) {
		m := readModel(t, f, given(t, v, c.Given))
		m.lockProvider = true
		if c.Policy != nil {
			m.policies = []any{c.Policy}
		}
		p := m.plan(t, m.applied(t))
		if p.plan == nil {
			t.Fatal(p.err, p.errs)
		}
		node, _ := nodeOf(expand(t, f, c.Node))
		locked := slices.ContainsFunc(p.plan.Groups, func(g planner.Group) bool {
			return g.Locked && slices.Contains(g.Owned, node) && !slices.Contains(g.Unlocked, node)
		})
		if locked != c.Lock {
			t.Errorf("case %d: got %t, want %t", i, locked, c.Lock)
		}
	}
}

// replayLeftLocked asks the plan of each case whether a node that an earlier run left locked is unlocked.
func replayLeftLocked(t testing.TB, f *file, v *vector) {
	for i, c := range strictly[[]struct {
		Policies []any
		Lock     bool
	}](t, v.keys["cases"]) {
		m := readModel(t, f, v.keys["given"])
		m.policies = c.Policies
		p := m.plan(t, m.applied(t))
		if p.plan == nil {
			t.Fatal(p.err, p.errs)
		}
		node, _ := nodeOf(m.leftLocked)
		if _, unlocked := p.groups()["unlock:"+node]; unlocked != c.Lock {
			t.Errorf("case %d: got %t, want %t", i, unlocked, c.Lock)
		}
	}
}

// replayTree makes a site whose plan has the phases given, each of the tasks of one cluster or common to all, and runs
// it.
func replayTree(t testing.TB, f *file, v *vector) {
	in := strictly[struct {
		Clusters map[string][]string
		Phases   [][]*string
	}](t, v.keys["given"])
	m := model{dependsOn: make(map[string]string)}
	for _, c := range slices.Sorted(maps.Keys(in.Clusters)) {
		m.dependsOn[c] = strings.Join(in.Clusters[c], ",")
		m.items = append(m.items, itemOf{Path: "/sites/s/clusters/" + c}, itemOf{Path: "/sites/s/clusters/" + c + "/nodes/n-" + c})
	}
	if len(in.Clusters) == 0 {
		m.items = []itemOf{{Path: "/sites/s/clusters/c"}, {Path: "/sites/s/clusters/c/nodes/n-c"}}
	}
	var phases [][]string
	last := make(map[string]string) // cluster, or empty for a phase common to several -> its last task
	tag := task.Management
	for i, of := range in.Phases {
		clusters := each(of, func(c *string) string {
			if c == nil {
				return ""
			}
			return *c
		})
		w := taskOf{ID: "p" + string(rune('0'+i)), Kind: "callback", Item: "/sites/s", Group: string(tag)}
		if c := sortedIDs(clusters); len(c) == 1 && c[0] != "" {
			w.Item, w.Group, tag = "/sites/s/clusters/"+c[0]+"/nodes/n-"+c[0], "", task.PostCluster
			w.Kind, w.Nodes = "remote", []string{w.Item} // the controller carries out one callback at a time
		}
		node, _ := nodeOf(w.Item)
		if before := cmp.Or(last[node], last[w.Group]); before != "" && node+w.Group != "" {
			w.Requires = []string{"task:" + before}
		}
		last[cmp.Or(node, w.Group)] = w.ID
		m.tasks, phases = append(m.tasks, w), append(phases, []string{w.ID})
	}
	p := m.plan(t, nil)
	if p.plan == nil {
		t.Fatal(p.err, p.errs)
	}
	want := expectations(t, v.keys["expect"], "tree")["tree"]
	same(t, "tree", p.tree(t, phases), closed(decode[map[int][]int](t, want)))
}

// replayReady makes each phase of a tree a group, and each group that was successful one without work. It runs the rest
// again and again, with one more group done each time, and looks at which groups start at once.
func replayReady(t testing.TB, f *file, v *vector) {
	in := strictly[struct {
		Tree                        map[int][]int
		Successful, Failed, Running []int
	}](t, v.keys["given"])
	name := func(i int) string { return "p" + string(rune('0'+i)) }
	m := model{dependsOn: make(map[string]string)}
	for i := range len(in.Tree) {
		m.dependsOn[name(i)] = strings.Join(each(in.Tree[i], name), ",")
		node := "/sites/s/clusters/" + name(i) + "/nodes/n" + name(i)
		m.items = append(m.items, itemOf{Path: "/sites/s/clusters/" + name(i)}, itemOf{Path: node})
		m.tasks = append(m.tasks, taskOf{ID: name(i), Node: node, Item: node})
	}
	done := make(map[int]bool)
	state := func(numbers []int, text string) {
		for _, i := range numbers {
			m.previous = slices.DeleteFunc(m.previous, func(w taskOf) bool { return w.ID == name(i) })
			w := m.tasks[i]
			w.State = text
			m.previous = append(m.previous, w)
			done[i] = text == "Success"
		}
	}
	state(in.Successful, "Success")
	state(in.Failed, "Failed")
	ready := func() []string {
		p := m.plan(t, m.applied(t))
		if p.plan == nil {
			t.Fatal(p.err, p.errs)
		}
		var out []string
		entries := p.trace(t, true)
		for _, e := range entries {
			if e.start == entries[0].start {
				out = append(out, e.ids...)
			}
		}
		return sortedIDs(out)
	}
	started := make(map[string]bool)
	for _, phase := range in.Running {
		started[name(phase)] = true
	}
	for i, step := range strictly[[]struct {
		Completed      int
		Ready          []int
		ThenSuccessful []int `yaml:"then_successful"`
		ThenFailed     []int `yaml:"then_failed"`
	}](t, expectations(t, v.keys["expect"], "steps")["steps"]) {
		state(step.ThenSuccessful, "Success")
		state(step.ThenFailed, "Failed")
		var got []string
		for _, id := range ready() {
			if !started[id] {
				got = append(got, id)
			}
		}
		for _, phase := range step.Ready {
			if !slices.Contains(got, name(phase)) {
				t.Errorf("step %d: %s does not start: %v", i, name(phase), got)
			}
			started[name(phase)] = true
		}
		for phase, requires := range in.Tree { // what starts, but is not told of yet
			if slices.Contains(got, name(phase)) && slices.ContainsFunc(requires, func(r int) bool { return !done[r] }) {
				t.Errorf("step %d: %s starts before what it requires", i, name(phase))
			}
		}
	}
}

// replayRequired puts a task on each item and looks at which come before it on a node.
func replayRequired(t testing.TB, f *file, v *vector) {
	want := decode[map[string][]string](t, expectations(t, v.keys["expect"], "required_paths")["required_paths"])
	m := readModel(t, f, v.keys["given"])
	items := make(map[string]string)
	for _, text := range slices.Sorted(maps.Keys(want)) {
		w := taskOf{ID: "on" + strings.NewReplacer("@", "-", "/", "-").Replace(text), Item: expand(t, f, text)}
		if strings.HasSuffix(w.Item, "/nodes") {
			continue // no task can be on a collection of nodes
		}
		node, _ := nodeOf(w.Item)
		if w.Node = w.Item; node == "" {
			w.Node = expand(t, f, "@n1")
		}
		for _, path := range m.siblings(w.Item) {
			w.Requires = append(w.Requires, "item:"+path)
		}
		m.tasks, items[w.ID] = append(m.tasks, w), w.Item
	}
	p := m.plan(t, nil)
	if p.plan == nil {
		t.Fatal(p.err, p.errs)
	}
	after := p.after(t)
	for _, w := range m.tasks {
		expected := []string{}
		for text, paths := range want {
			for _, path := range each(paths, func(text string) string { return expand(t, f, text) }) {
				for _, other := range m.tasks {
					if expand(t, f, text) == w.Item && within(other.Item, path) && slices.Equal(other.on(), w.on()) {
						expected = append(expected, other.ID)
					}
				}
			}
		}
		same(t, "before "+w.ID, after[w.ID], sortedIDs(expected))
	}
}

// replayModelErrors makes a plan for a model that is not valid. An item that is not on a node is a service, or what one
// embeds.
func replayModelErrors(t testing.TB, f *file, v *vector) {
	m := readModel(t, f, v.keys["given"])
	p := m.plan(t, nil)
	if p.err == nil && len(p.errs.Errors()) == 0 {
		s, err := m.structures(t, v)
		if p.err = err; err == nil {
			_, p.errs = planner.Make(s, nil, nil)
		}
	}
	type report struct{ Path, Type string }
	var got []report
	for _, e := range p.errs.Errors() {
		got = append(got, report{m.pathOf(e), modelErrors[e.Code]})
	}
	want := decode[[]report](t, expectations(t, v.keys["expect"], "errors")["errors"])
	for i := range want {
		want[i].Path = expand(t, f, want[i].Path)
	}
	if p.err != nil {
		t.Fatal(p.err)
	}
	same(t, "errors", got, want)
}

// modelErrors are the types of LITP's errors.
var modelErrors = map[invalid.Code]string{
	catalog.MissingAttribute: "MissingRequiredItemError", catalog.LimitViolation: "CardinalityError",
	invalid.Cycle: "ValidationError", invalid.SameMachine: "ValidationError",
}

// pathOf returns the item that an error is about. Of two nodes that are one machine the error names both.
func (m model) pathOf(p invalid.Error) string {
	switch p.Object {
	case "group":
		return "/sites/s1/clusters"
	case "node":
		for _, i := range m.items {
			if node, element := nodeOf(i.Path); element == "" && node != "" && strings.Contains(p.Message, strconv.Quote(node)) {
				return i.Path
			}
		}
	case "service":
		return "/" + strings.ReplaceAll(p.Name, ".", "/") + strings.TrimPrefix(strings.ReplaceAll(p.Attribute, ".", "/"), "attributes")
	}
	return p.Name
}

// structures is a site of services that are the items of a vector's own types: what such an item has below it is
// embedded.
func (m model) structures(t testing.TB, v *vector) (site.Site, error) {
	t.Helper()
	types := decode[map[string]map[string]any](t, mapping(t, v.keys["given"])["types"])
	s, err := m.site(t, nil, true)
	if len(types) == 0 || err != nil {
		return s, err
	}
	entities := make(map[string]any)
	for name, of := range types {
		var attributes, embedded = make(map[string]any), make(map[string]any)
		for _, p := range anyList(of["props"]) {
			attributes[p.(string)] = map[string]any{"type": "string?", "default": nil}
		}
		for _, kind := range []string{"children", "collections"} {
			elements, _ := of[kind].(map[string]any)
			for element, is := range elements {
				e := map[string]any{"attributes": map[string]any{"any": map[string]any{"type": "string?", "default": nil}}}
				is, _ := is.(map[string]any)
				if limit, ok := is["max"]; ok {
					e["upper"] = limit
				}
				if limit, ok := is["min"]; ok {
					e["lower"] = limit
				}
				if kind == "children" {
					e["lower"], e["upper"] = 0, 1
				}
				if is["required"] == true {
					e["lower"] = 1
				}
				embedded[element] = e
			}
		}
		entities[name] = map[string]any{"attributes": attributes, "embedded": embedded}
	}
	data, err := json.Marshal(map[string]any{"entities": entities})
	if err != nil {
		t.Fatal(err)
	}
	c, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml", Data: data}})
	if err != nil {
		return s, err
	}
	for _, i := range m.items {
		at := slices.IndexFunc(c.Catalog.Entities, func(e catalog.Entity) bool { return e.Name == i.Type })
		if at < 0 || strings.Count(i.Path, "/") != 3 || m.isRemoved(i.Path) {
			continue
		}
		of := &c.Catalog.Entities[at]
		service := site.Service{Name: strings.ReplaceAll(i.Path[1:], "/", "."), Entity: of, Attributes: make(map[string]any)}
		for _, e := range of.Embedded {
			path := i.Path + "/" + e.Name
			list := []any{}
			for _, below := range m.items {
				if strings.HasPrefix(below.Path, path+"/") && !m.isRemoved(below.Path) {
					list = append(list, map[string]any{})
				}
			}
			switch {
			case !e.Single():
				service.Attributes[e.Name] = list
			case !m.isRemoved(path): // it is created with the item
				service.Attributes[e.Name] = map[string]any{}
			}
		}
		s.Services = append(s.Services, service)
	}
	return s, nil
}

func mapping(t testing.TB, node yaml.Node) map[string]yaml.Node {
	t.Helper()
	if node.Kind == 0 {
		return nil
	}
	out := make(map[string]yaml.Node)
	if err := node.Decode(&out); err != nil {
		t.Fatalf("line %d: %v", node.Line, err)
	}
	for key, value := range out {
		if value.Kind == yaml.AliasNode {
			out[key] = *value.Alias
		}
	}
	return out
}
