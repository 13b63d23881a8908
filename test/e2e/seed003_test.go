package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// stageTask is a task of tasks.yaml that runs note.sh.
func stageTask(role, stage, name string) string {
	return fmt.Sprintf("- {role: %s, stage: %s, type: shell, parameters: {cmd: sh note.sh %s, timeout: 60}}\n", role, stage, name)
}

// The worked example of seed 003, and its plugins A and B. Tasks are named after the plugin and their place in its document.
var seed003 = map[string]string{
	"plugin1": stageTask("[controller]", "pre_deployment", "plugin1/1") +
		stageTask("[controller]", "pre_deployment/100", "plugin1/2") +
		stageTask("[controller]", "pre_deployment/-100", "plugin1/3") +
		stageTask("[controller]", "pre_deployment/-99.9", "plugin1/4"),
	"plugin2": stageTask("'*'", "pre_deployment", "plugin2/1") +
		stageTask("'*'", "pre_deployment/100.0", "plugin2/2") +
		stageTask("'*'", "pre_deployment/-101", "plugin2/3") +
		stageTask("'*'", "pre_deployment/0", "plugin2/4"),
	"A": stageTask("/comp/", "post_deployment/100", "A/1"),
	"B": stageTask("[primary-controller, controller]", "post_deployment/50", "B/1"),
}

var seed003Order = []string{
	"plugin2/3", "plugin1/3", "plugin1/4", "plugin1/1", "plugin2/1", "plugin2/4", "plugin1/2", "plugin2/2", "B/1", "A/1",
}

// TestSeed003 runs the tasks of plugins that do not know each other in the order of seed 003, one after the other over all nodes, as the
// journal and the nodes tell. What ran is not run again; what changed is.
func TestSeed003(t *testing.T) {
	t.Parallel()
	three := takeForDiary(t, 3)
	w := pluginSite(t, config{site: "seed003", nodes: three}, []string{"controller"}, []string{"controller", "compute"}, []string{"compute"})
	for name, tasks := range seed003 {
		w.plugin(name, pluginFiles(name, tasks, nil))
	}
	w.set("plugins", []string{"A", "B", "plugin1", "plugin2"})
	controller, both, compute := three[0], three[1], three[2]
	on := map[string][]lab.Node{"plugin1": {controller, both}, "plugin2": three, "A": {both, compute}, "B": {controller, both}}

	w.must(w.plan(), 2, "1.1 default (critical): prepare 3 nodes",
		"1.2 default (critical): pre_node: run shell plugin2-1.0.0/3 on 3 nodes", "1.3 default (critical): pre_node: run shell plugin1-1.0.0/3 on 2 nodes",
		"1.10 default (critical): node phase", "1.11 post_cluster: run shell B-1.0.0/1 on 2 nodes", "1.12 post_cluster: run shell A-1.0.0/1 on 2 nodes")
	w.must(w.apply(), 0, "Apply complete")
	w.assertStatus("deployed")
	assertStages(t, w, on, seed003Order...)
	w.must(w.plan(), 0, "No changes")

	// A task that says something else runs again, and nothing besides.
	w.plugin("plugin1", map[string]string{"tasks.yaml": strings.Replace(seed003["plugin1"], "note.sh plugin1/2,", "note.sh plugin1/2-again,", 1)})
	forgetDiaries(t, three)
	w.must(w.plan(), 2, "run shell plugin1-1.0.0/2 on 2 nodes")
	w.must(w.apply(), 0)
	assertRan(t, w, on, "plugin1/2")
	if got := diaryOf(t, controller); !slices.Equal(names(got), []string{"plugin1/2-again"}) {
		t.Errorf("%s ran %v", controller.Name, got)
	}
	w.must(w.plan(), 0, "No changes")

	// Any task of a plugin may call any of its scripts.
	w.plugin("B", map[string]string{"deployment_scripts/note.sh": "# Changed.\n" + note})
	forgetDiaries(t, three)
	w.must(w.apply(), 0)
	assertStages(t, w, on, "B/1")
	w.must(w.plan(), 0, "No changes")

	// A node with other work runs its tasks; the deployment of one node is none of the others'.
	controller.On(t, "rm "+testFile)
	forgetDiaries(t, three)
	w.must(w.apply(), 0)
	here := map[string][]lab.Node{"plugin1": {controller}, "plugin2": {controller}, "B": {controller}}
	if got := names(diaryOf(t, controller)); !slices.Equal(got, []string{"plugin2/3", "plugin1/3", "plugin1/4", "plugin1/1", "plugin2/1", "plugin2/4", "plugin1/2-again", "plugin2/2", "B/1"}) {
		t.Errorf("%s ran %v", controller.Name, got)
	}
	assertRan(t, w, here, seed003Order[:9]...)
	w.must(w.plan(), 0, "No changes")
	w.mustDestroy()
}

// assertStages checks that exactly these tasks ran, on all nodes of their plugins, each one over all nodes after the one before it, by the
// journal and by the clocks of the nodes, which are one.
func assertStages(t *testing.T, w *workspace, on map[string][]lab.Node, order ...string) {
	t.Helper()
	assertRan(t, w, on, order...)
	begun, ended := map[string]float64{}, map[string]float64{}
	seen := map[string]lab.Node{}
	for _, all := range on {
		for _, n := range all {
			seen[n.Name] = n
		}
	}
	for _, n := range seen {
		notes := diaryOf(t, n)
		var want []string
		for _, task := range order {
			if slices.ContainsFunc(on[pluginOf(task)], func(o lab.Node) bool { return o.Name == n.Name }) {
				want = append(want, task)
			}
		}
		if got := names(notes); !slices.Equal(got, want) {
			t.Errorf("%s ran %v, want %v", n.Name, got, want)
		}
		for _, note := range notes {
			if first, ok := begun[note.task]; !ok || note.begun < first {
				begun[note.task] = note.begun
			}
			ended[note.task] = max(ended[note.task], note.ended)
		}
	}
	for i := 1; i < len(order); i++ {
		if before, after := order[i-1], order[i]; begun[after] < ended[before] {
			t.Errorf("on the nodes %s begins at %f, before %s has ended at %f", after, begun[after], before, ended[before])
		}
	}
}

// assertRan checks in the journal that exactly these tasks ran, on all nodes of their plugins, each one over all nodes after the one before it,
// and the configuration of nodes after pre_deployment and before post_deployment.
func assertRan(t *testing.T, w *workspace, on map[string][]lab.Node, order ...string) {
	t.Helper()
	first, last := map[string]int{}, map[string]int{}
	var ran []string
	for i, e := range w.events() {
		task := e.Resource
		if name, is := strings.CutPrefix(task, "shell["); is {
			task = strings.Replace(strings.TrimSuffix(name, "]"), "-1.0.0", "", 1)
		}
		switch e.Kind {
		case "task_started":
			if _, known := first[task]; !known {
				first[task] = i
			}
		case "task_finished":
			last[task] = i
			if task != e.Resource {
				ran = append(ran, e.Node+" "+task+" "+e.Status)
			}
		}
	}
	var want []string
	for _, task := range order {
		for _, n := range on[pluginOf(task)] {
			want = append(want, n.Name+" "+task+" changed")
		}
	}
	slices.Sort(ran)
	if slices.Sort(want); !slices.Equal(ran, want) {
		t.Errorf("the journal has\n%s\nwant\n%s", strings.Join(ran, "\n"), strings.Join(want, "\n"))
	}
	for i := 1; i < len(order); i++ {
		if before, after := order[i-1], order[i]; first[after] < last[before] {
			t.Errorf("%s begins at event %d, before %s has ended at event %d", after, first[after], before, last[before])
		}
	}
	file := "file[" + testFile + "]"
	if _, configured := first[file]; !configured {
		return
	}
	for _, task := range order {
		post := pluginOf(task) == "A" || pluginOf(task) == "B"
		if post && first[task] < last[file] || !post && first[file] < last[task] {
			t.Errorf("%s ran at events %d to %d, the configuration at %d to %d", task, first[task], last[task], first[file], last[file])
		}
	}
}

func pluginOf(task string) string {
	name, _, _ := strings.Cut(task, "/")
	return name
}

// entry is what the diary tells of one task.
type entry struct {
	task         string
	begun, ended float64 // seconds since 1970; what is not told is 0
}

// diaryOf reads the diary of a node. A task that begins before another has ended is an error.
func diaryOf(t *testing.T, n lab.Node) []entry {
	t.Helper()
	var out []entry
	for line := range strings.Lines(n.On(t, "cat "+diary+" 2>/dev/null || true")) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			t.Fatalf("%s: the diary has %q", n.Name, line)
		}
		at, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		open := len(out) > 0 && out[len(out)-1].ended == 0
		switch {
		case fields[1] == "begun" && !open:
			out = append(out, entry{task: fields[0], begun: at})
		case fields[1] == "ended" && open && out[len(out)-1].task == fields[0]:
			out[len(out)-1].ended = at
		default:
			t.Errorf("%s: %q after %v", n.Name, line, out)
		}
	}
	return out
}

func names(entries []entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.task)
	}
	return out
}

func forgetDiaries(t *testing.T, from []lab.Node) {
	t.Helper()
	onEach(t, from, "rm -f "+diary)
}
