package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// workOf is a task as the vectors write it.
type workOf struct {
	ID, Kind, Node, Item, Type, Key, Tag, Group, State, Callback, Plugin string
	Nodes                                                                []string
	AlsoItems                                                            []string `yaml:"also_items"`
	Args                                                                 yaml.Node
	Persist                                                              *bool
	Requires                                                             []string
	Replaces                                                             [][]string
	NotReturned                                                          bool `yaml:"not_returned"`
	Ordered                                                              []yaml.Node
}

var workKeys = []string{
	"id", "kind", "node", "item", "type", "key", "tag", "group", "state", "callback", "plugin", "nodes", "also_items", "args", "persist",
	"requires", "replaces", "not_returned", "ordered",
}

// work reads a task. Group is that of the vector for all its tasks.
func work(t testing.TB, f *file, node yaml.Node, group string) (sequence.Work, workOf) {
	t.Helper()
	for key := range mapping(t, node) {
		if !slices.Contains(workKeys, key) {
			t.Errorf("the task has the part %q, which no code looks at", key)
		}
	}
	in := decode[workOf](t, node)
	path := func(text string) string { return string(expand(t, f, text)) }
	w := sequence.Work{
		ID: in.ID, Kind: task.Kind(in.Kind), Source: in.Plugin, Node: path(in.Node), Item: path(in.Item), Tag: in.Tag, Group: task.Group(group),
		Transient: in.Persist != nil && !*in.Persist, Digest: digest(t, in.Args), Future: future(in.Args), Action: in.Callback,
	}
	if in.Group != "" {
		w.Group = task.Group(in.Group)
	}
	for _, n := range in.Nodes {
		w.Nodes = append(w.Nodes, path(n))
	}
	for _, also := range in.AlsoItems {
		w.Also = append(w.Also, path(also))
	}
	switch {
	case w.Item != "":
	case w.Node != "":
		w.Item = w.Node
	case len(w.Nodes) > 0:
		w.Item = w.Nodes[0]
	}
	switch in.Kind {
	case "", "config":
		w.Kind, w.Resource = task.Config, sequence.Resource{Type: "res", Title: in.ID}
		if in.Type != "" {
			w.Resource.Type = in.Type
		}
		if in.Key != "" {
			w.Resource.Title = in.Key
		}
	}
	for _, text := range in.Requires {
		r, err := sequence.ParseRequirement(text)
		if err != nil {
			r = sequence.Requirement{} // Make has to find it
		}
		if r.Item != "" || strings.HasPrefix(text, "item:@") {
			r = sequence.Requirement{Item: path(strings.TrimPrefix(text, "item:"))}
		}
		w.Requires = append(w.Requires, r)
	}
	for _, pair := range in.Replaces {
		w.Replaces = append(w.Replaces, sequence.Resource{Type: pair[0], Title: pair[1]})
	}
	return w, in
}

func digest(t testing.TB, args yaml.Node) string {
	t.Helper()
	if args.Kind == 0 {
		return ""
	}
	text, err := json.Marshal(decode[any](t, args))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// future reports whether arguments hold a value that is read later, at any depth.
func future(node yaml.Node) bool {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && child.Value == "future" || future(*child) {
			return true
		}
	}
	return false
}

// sequenceInput reads what a vector gives for a schedule.
func sequenceInput(t testing.TB, f *file, v *vector) sequence.Input {
	t.Helper()
	given := mapping(t, v.keys["given"])
	for key := range given {
		if !slices.Contains(append([]string{"tasks", "previous", "locks", "group", "lock_provider", "lock_policies"}, modelKeys...), key) {
			t.Errorf("the vector gives %q, which no code looks at", key)
		}
	}
	rules := sequence.DefaultRules()
	rules.TransientRemoves, rules.UniquePerSource = true, true
	in := sequence.Input{
		Model: treeModel{loadItems(t, f, v.keys["given"])}, Rules: rules, Policies: policies(t, given["lock_policies"]),
		Locks: make(map[string][]sequence.LockPair),
	}
	group := decode[string](t, given["group"])
	for _, node := range decode[[]yaml.Node](t, given["tasks"]) {
		list := []yaml.Node{node}
		ordered := len(mapping(t, node)["ordered"].Content) > 0
		if ordered {
			list = decode[workOf](t, node).Ordered
		}
		var ids []string
		for _, node := range list {
			w, about := work(t, f, node, group)
			if ids = append(ids, w.ID); about.NotReturned {
				in.Others = append(in.Others, w)
			} else {
				in.Works = append(in.Works, w)
			}
		}
		if ordered {
			in.Ordered = append(in.Ordered, ids)
		}
	}
	for _, node := range decode[[]yaml.Node](t, given["previous"]) {
		w, about := work(t, f, node, group)
		switch {
		case about.NotReturned: // it is only in what another one requires
			in.Stale = append(in.Stale, w)
		case about.State == "" || about.State == "Success":
			in.Remembered = append(in.Remembered, w)
		default:
			in.Lost = append(in.Lost, w)
		}
	}
	if node, ok := given["left_locked"]; ok {
		in.LeftLocked = []string{string(expand(t, f, node.Value))}
	}
	for _, node := range decode[[]string](t, given["locks"]) {
		addLock(in, string(expand(t, f, node)))
	}
	if provider := decode[string](t, given["lock_provider"]); provider == "all" {
		for _, c := range in.Model.Clusters() {
			for _, node := range c.Nodes {
				addLock(in, node)
			}
		}
	} else if provider != "" {
		t.Errorf("no code knows the lock provider %q", provider)
	}
	return in
}

func addLock(in sequence.Input, node string) {
	w := sequence.Work{Kind: task.Callback, Item: node}
	in.Locks[node] = append(in.Locks[node], sequence.LockPair{Lock: w, Unlock: w})
}

// replayBuild makes a schedule, or only builds it, and looks at its phases.
func replayBuild(t testing.TB, f *file, v *vector) {
	litpInputs(t, v, "given")
	in := sequenceInput(t, f, v)
	schedule := sequence.Make
	if decode[string](t, v.keys["stage"]) == "build" {
		schedule = sequence.Build
	}
	s, problems := schedule(in)
	expect := expectations(t, v.keys["expect"], "phases", "after", "before", "contains", "absent", "phase_count", "groups", "replaces",
		"tree", "error", "message_contains")
	if want := decode[string](t, expect["error"]); want != "" {
		if len(problems) == 0 {
			t.Fatalf("there is a schedule, %v; want the error %s", phaseIDs(s), want)
		}
		for _, p := range problems {
			if string(p.Code) != want {
				t.Errorf("got the error %s (%s), want %s", p.Code, p.Message, want)
			}
		}
		return
	}
	if len(expect) == 0 {
		t.Fatal("the vector expects nothing")
	}
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	checkSchedule(t, f, s, expect)
}

func phaseIDs(s *sequence.Schedule) [][]string {
	out := [][]string{}
	for _, batch := range s.Phases {
		var ids []string
		for _, w := range batch.Works {
			ids = append(ids, w.ID)
		}
		out = append(out, ids)
	}
	return out
}

func checkSchedule(t testing.TB, f *file, s *sequence.Schedule, expect map[string]yaml.Node) {
	t.Helper()
	phases := phaseIDs(s)
	position := make(map[string]int)
	for _, id := range slices.Concat(phases...) {
		position[id] = len(position)
	}
	for _, chain := range decode[[][]string](t, expect["before"]) {
		for i := 1; i < len(chain); i++ {
			if position[chain[i-1]] >= position[chain[i]] {
				t.Errorf("want %s before %s: %v", chain[i-1], chain[i], phases)
			}
		}
	}
	works := make(map[string]sequence.Work)
	for _, batch := range s.Phases {
		for _, w := range batch.Works {
			works[w.ID] = w
			if group := decode[map[string]string](t, expect["groups"])[w.ID]; group != "" && string(w.Group) != group {
				t.Errorf("%s is in group %s, want %s", w.ID, w.Group, group)
			}
		}
	}
	for _, id := range decode[[]string](t, expect["contains"]) {
		if _, ok := works[id]; !ok {
			t.Errorf("want %s in %v", id, phases)
		}
	}
	for _, id := range decode[[]string](t, expect["absent"]) {
		if _, ok := works[id]; ok {
			t.Errorf("want no %s in %v", id, phases)
		}
	}
	for id, want := range decode[map[string][][]string](t, expect["replaces"]) {
		var got [][]string
		for _, r := range works[id].Replaces {
			got = append(got, []string{r.Type, r.Title})
		}
		same(t, "replaced by "+id, sortedLists(got), sortedLists(want))
	}
	for id, want := range decode[map[string][]string](t, expect["after"]) {
		slices.Sort(want)
		same(t, "after of "+id, append([]string{}, s.After(id)...), append([]string{}, want...))
	}
	if node, ok := expect["tree"]; ok {
		same(t, "tree", s.Tree(), treeOf(t, node))
	}
	if node, ok := expect["phase_count"]; ok {
		same(t, "number of phases", len(phases), decode[int](t, node))
	}
	if node, ok := expect["phases"]; ok {
		want := decode[[][]string](t, node)
		for _, list := range slices.Concat(phases, want) {
			slices.Sort(list)
		}
		if len(want) == 0 {
			want = [][]string{}
		}
		same(t, "phases", phases, want)
	}
}

func sortedLists(lists [][]string) [][]string {
	slices.SortFunc(lists, func(a, b []string) int { return slices.Compare(a, b) })
	return lists
}

// treeOf reads a phase tree: the phases that each phase waits for.
func treeOf(t testing.TB, node yaml.Node) [][]int {
	t.Helper()
	byPhase := decode[map[int][]int](t, node)
	out := make([][]int, len(byPhase))
	for i, requires := range byPhase {
		if i < 0 || i >= len(out) {
			t.Fatalf("the tree has %d phases and names phase %d", len(out), i)
		}
		if len(requires) > 0 {
			out[i] = slices.Sorted(slices.Values(requires))
		}
	}
	return out
}

func replayTaskGroups(t testing.TB, f *file, v *vector) {
	litpInputs(t, v, "given")
	want := decode[map[string]string](t, expectations(t, v.keys["expect"], "groups")["groups"])
	got := make(map[string]string)
	for id, group := range sequence.Groups(sequenceInput(t, f, v)) {
		got[id] = string(group)
	}
	for id := range got {
		if _, asked := want[id]; !asked {
			delete(got, id)
		}
	}
	same(t, "groups", got, want)
}

func replayLevels(t testing.TB, f *file, v *vector) {
	litpInputs(t, v, "given")
	expect := expectations(t, v.keys["expect"], "levels", "error", "message_contains")
	levels, cycle := sequence.Levels(decode[map[string][]string](t, mapping(t, v.keys["given"])["graph"]))
	if kind := decode[string](t, expect["error"]); kind != "" {
		if kind != string(sequence.Cyclic) || len(cycle) == 0 {
			t.Errorf("got %v, want the error %s", levels, kind)
		}
		return
	}
	if cycle != nil {
		t.Fatalf("got the cycle %v", cycle)
	}
	if want := decode[[][]string](t, expect["levels"]); len(want)+len(levels) > 0 {
		same(t, "levels", levels, want)
	}
}

func replayMayDepend(t testing.TB, f *file, v *vector) {
	litpInputs(t, v, "given", "cases")
	for i, c := range strictly[[]struct {
		TaskNodes []*string `yaml:"task_nodes"`
		ItemNodes []*string `yaml:"item_nodes"`
		Groups    []string
		Removes   []bool
		Allowed   bool
		Why, Note string
	}](t, v.keys["cases"]) {
		var sides [2]sequence.Side
		for s := range sides {
			sides[s] = sequence.Side{Node: textOf(c.TaskNodes[s]), ItemNode: textOf(c.ItemNodes[s]), Management: c.Groups[s] == string(task.Management)}
			if len(c.Removes) > s {
				sides[s].Removes = c.Removes[s]
			}
		}
		if reason := sequence.MayDepend(sides[0], sides[1]); (reason == "") != c.Allowed {
			t.Errorf("case %d: %+v: got %q, want allowed: %t", i, c, reason, c.Allowed)
		}
	}
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func replayTree(t testing.TB, f *file, v *vector) {
	litpInputs(t, v, "given")
	given := mapping(t, v.keys["given"])
	var phases []sequence.TreePhase
	for _, clusters := range decode[[][]*string](t, given["phases"]) {
		var p sequence.TreePhase
		for _, c := range clusters {
			if c == nil {
				p.Common = true
			} else if !slices.Contains(p.Clusters, *c) {
				p.Clusters = append(p.Clusters, *c)
			}
		}
		phases = append(phases, p)
	}
	want := treeOf(t, expectations(t, v.keys["expect"], "tree")["tree"])
	same(t, "tree", sequence.Tree(phases, decode[map[string][]string](t, given["clusters"])), want)
}

func replayReady(t testing.TB, f *file, v *vector) {
	litpInputs(t, v, "given")
	given := mapping(t, v.keys["given"])
	tree := treeOf(t, given["tree"])
	states := make([]sequence.PhaseState, len(tree))
	set := func(node yaml.Node, state sequence.PhaseState) {
		for _, i := range decode[[]int](t, node) {
			states[i] = state
		}
	}
	for key, node := range given {
		switch key {
		case "tree":
		case "successful":
			set(node, sequence.PhaseDone)
		case "failed":
			set(node, sequence.PhaseFailed)
		case "running":
			set(node, sequence.PhaseRunning)
		default:
			t.Errorf("the vector gives %q, which no code looks at", key)
		}
	}
	for i, node := range decode[[]yaml.Node](t, expectations(t, v.keys["expect"], "steps")["steps"]) {
		step := mapping(t, node)
		set(step["then_successful"], sequence.PhaseDone)
		set(step["then_failed"], sequence.PhaseFailed)
		got := sequence.Ready(tree, states, decode[int](t, step["completed"]))
		same(t, fmt.Sprintf("ready in step %d", i), append([]int{}, got...), append([]int{}, decode[[]int](t, step["ready"])...))
	}
}

func replayPlanState(t testing.TB, f *file, v *vector) {
	litpInputs(t, v, "given", "cases")
	for i, c := range strictly[[]struct {
		From, Event, To string
		Tasks           []string
		Why, Note       string
	}](t, v.keys["cases"]) {
		from := sequence.PlanReady
		if c.From != "" {
			from = sequence.PlanState(c.From)
		}
		done := !slices.ContainsFunc(c.Tasks, func(s string) bool { return s != "Success" })
		to, ok := from.Next(sequence.PlanEvent(c.Event), done)
		if got := string(to); !ok && c.To != "error" || ok && got != c.To {
			t.Errorf("case %d: %s from %s gives %q (allowed: %t), want %s", i, c.Event, from, got, ok, c.To)
		}
	}
}

func replaySnapshot(t testing.TB, f *file, v *vector) {
	litpInputs(t, v, "given")
	expect := expectations(t, v.keys["expect"], "group_order", "phases", "error")
	given := mapping(t, v.keys["given"])
	for key := range given {
		if !slices.Contains([]string{"model", "plan_type", "tasks"}, key) {
			t.Errorf("the vector gives %q, which no code looks at", key)
		}
	}
	plan := sequence.SnapshotPlan(decode[string](t, given["plan_type"]))
	if order, ok := expect["group_order"]; ok {
		same(t, "groups", plan.Groups(), decode[[]string](t, order))
	}
	var works []sequence.Work
	for _, node := range decode[[]yaml.Node](t, given["tasks"]) {
		w, _ := work(t, f, node, "")
		works = append(works, w)
	}
	if len(works) == 0 {
		return
	}
	phases, problems := plan.Phases(works)
	if kind, ok := expect["error"]; ok {
		if !slices.ContainsFunc(problems, func(p sequence.Problem) bool { return string(p.Code) == kind.Value }) {
			t.Errorf("got %v, want the error %s", problems, kind.Value)
		}
		return
	}
	got := [][]string{}
	for _, phase := range phases {
		var ids []string
		for _, w := range phase {
			ids = append(ids, w.ID)
		}
		got = append(got, ids)
	}
	same(t, "phases", got, decode[[][]string](t, expect["phases"]))
}
