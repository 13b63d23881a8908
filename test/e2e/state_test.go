package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// attributes are those of the deployment in the state.
type attributes struct {
	Status      string
	GroupStatus map[string]string `json:"group_status"`
	NodeStatus  map[string]string `json:"node_status"`
	Unreachable []string
	Drift       []driftItem
	Services    map[string]serviceStatus `json:"service_status"`
}

type driftItem struct{ Node, Resource, Change string }

// attributes reads the state.
func (w *workspace) attributes() attributes {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil {
		w.t.Fatal(err)
	}
	var state struct {
		Resources []struct {
			Type      string
			Instances []struct{ Attributes json.RawMessage }
		}
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		w.t.Fatal(err)
	}
	var a attributes
	for _, r := range state.Resources {
		if r.Type == "slipway_deployment" && len(r.Instances) == 1 {
			if err := json.Unmarshal(r.Instances[0].Attributes, &a); err != nil {
				w.t.Fatal(err)
			}
			return a
		}
	}
	w.t.Fatal("no deployment in the state")
	return a
}

// assertStatus checks what the state says of the site as a whole, and that exactly the given nodes are without success.
func (w *workspace) assertStatus(status string, failed ...string) {
	w.t.Helper()
	a := w.attributes()
	var got []string
	for node, stage := range a.NodeStatus {
		if stage == "FAILED" {
			got = append(got, node)
		}
	}
	slices.Sort(got)
	if a.Status != status || !slices.Equal(got, failed) {
		w.t.Errorf("status is %q with failed nodes %v, want %q with %v; groups %v, nodes %v", a.Status, got, status, failed, a.GroupStatus, a.NodeStatus)
	}
}

type event struct {
	Time                                         time.Time
	Kind, Group, Node, Resource, Status, Message string
	Phase                                        int
}

// events returns the events of the newest run, as the companion reads them.
func (w *workspace) events() []event {
	w.t.Helper()
	raw, err := w.companion("report", "--output", "json")
	if err != nil {
		w.t.Fatalf("report: %v\n%s", err, raw)
	}
	var report struct{ Events []event }
	if err := json.Unmarshal(raw, &report); err != nil {
		w.t.Fatal(err)
	}
	return report.Events
}

// changed lists what the newest run changed, as "node resource", sorted.
func (w *workspace) changed() []string {
	w.t.Helper()
	var out []string
	for _, e := range w.events() {
		if e.Kind == "task_finished" && e.Status == "changed" {
			out = append(out, e.Node+" "+e.Resource)
		}
	}
	slices.Sort(out)
	return out
}

// nodesOf returns the nodes of a list of "node resource", each once.
func nodesOf(list []string) []string {
	var out []string
	for _, s := range list {
		node, _, _ := strings.Cut(s, " ")
		out = append(out, node)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// planned is a change of the deployment in a plan file.
type planned struct{ Before, After json.RawMessage }

// planned reads the change of the deployment in a plan file.
func (w *workspace) planned(file string) planned {
	w.t.Helper()
	raw, err := w.command("show", "-json", file).Output()
	if err != nil {
		w.t.Fatal(err)
	}
	var plan struct {
		ResourceChanges []struct {
			Type   string
			Change planned
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(raw, &plan); err != nil {
		w.t.Fatal(err)
	}
	for _, c := range plan.ResourceChanges {
		if c.Type == "slipway_deployment" {
			return c.Change
		}
	}
	w.t.Fatal("no deployment in the plan")
	return planned{}
}

// assertDrift checks that a saved plan is going to repair exactly what is given, as "node resource".
func assertDrift(t *testing.T, w *workspace, file string, want ...string) {
	t.Helper()
	var before attributes
	if err := json.Unmarshal(w.planned(file).Before, &before); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range before.Drift {
		got = append(got, d.Node+" "+d.Resource)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("drift is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func sorted(names ...string) []string {
	slices.Sort(names)
	return names
}
