package e2e

import (
	"slices"
	"testing"
)

// TestGraphTasks runs tasks of two plugins that name each other, on groups that are worked on one node after the other, and two at a time.
func TestGraphTasks(t *testing.T) {
	t.Parallel()
	six := takeForDiary(t, 6)
	w := pluginSite(t, config{site: "graph", nodes: six},
		[]string{"controller"}, []string{"controller"}, []string{"compute"}, []string{"compute"}, []string{"compute"}, []string{"compute"})
	defer w.mustDestroy()
	graph := func(name, tasks string) {
		w.plugin(name, map[string]string{"metadata.yaml": "name: " + name + "\nversion: 1.0.0\n", "deployment_tasks.yaml": tasks, "deployment_scripts/note.sh": note})
	}
	graph("base", `
- {id: controller, type: group, role: [controller], parameters: {strategy: {type: one_by_one}}}
- {id: compute, type: group, role: [compute], parameters: {strategy: {type: parallel, amount: 2}}}
- {id: drivers, type: shell, groups: [compute], requires: [controller], required_for: [bridges], parameters: {cmd: sh note.sh drivers, timeout: 60}}
- {id: api, type: shell, groups: [controller], parameters: {cmd: sh note.sh api, timeout: 60}}
- {id: early, type: shell, role: '*', required_for: [pre_deployment_end], parameters: {cmd: sh note.sh early, timeout: 60}}
`)
	graph("network", `
- {id: bridges, type: shell, groups: [/comp/], parameters: {cmd: sh note.sh bridges, timeout: 60}}
- {id: late, type: shell, role: '*', requires: [bridges, post_deployment_start], parameters: {cmd: sh note.sh late, timeout: 60}}
`)
	w.set("plugins", []string{"base", "network"})
	w.must(w.plan(), 2, "pre_node: run shell base-1.0.0/early on 6 nodes", "cluster: run shell base-1.0.0/api on 2 nodes, 1 node at a time",
		"cluster: run shell base-1.0.0/drivers on 4 nodes, 2 nodes at a time", "cluster: run shell network-1.0.0/bridges on 4 nodes, 2 nodes at a time",
		"post_cluster: run shell network-1.0.0/late on 6 nodes")
	w.must(w.apply(), 0)
	var all []entry
	for i, n := range six {
		want := []string{"early", "drivers", "bridges", "late"}
		if i < 2 {
			want = []string{"early", "api", "late"}
		}
		got := diaryOf(t, n)
		if !slices.Equal(names(got), want) {
			t.Errorf("%s ran %v, want %v", n.Name, names(got), want)
		}
		all = append(all, got...)
	}
	for _, pair := range [][2]string{{"early", "api"}, {"early", "drivers"}, {"api", "drivers"}, {"drivers", "bridges"}, {"bridges", "late"}} {
		for _, before := range all {
			for _, after := range all {
				if before.task == pair[0] && after.task == pair[1] && after.begun < before.ended {
					t.Errorf("%s begins at %f, before %s has ended at %f", after.task, after.begun, before.task, before.ended)
				}
			}
		}
	}
	for task, limit := range map[string]int{"api": 1, "drivers": 2, "bridges": 2} {
		if got := atOnce(all, task); got > limit {
			t.Errorf("%s ran on %d nodes at once, want %d", task, got, limit)
		}
	}
	if got := atOnce(all, "early"); got < 3 {
		t.Errorf("a task without a limit ran on %d nodes at once", got)
	}
	w.must(w.plan(), 0, "No changes")
}

// atOnce returns on how many nodes a task ran at once, at most.
func atOnce(entries []entry, task string) (most int) {
	for _, e := range entries {
		n := 0
		for _, o := range entries {
			if e.task == task && o.task == task && o.begun <= e.begun && e.begun < o.ended {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
