package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/task"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// A value that is not there is called empty.
func TestChangeOfEmptyValues(t *testing.T) {
	item := rollout.DriftItem{Differences: []types.Difference{{Parameter: "groups", Should: "adm"}, {Parameter: "comment", Is: "x"}, {Parameter: "mode", Is: "0600", Should: "0644"}}}
	if got, want := change(item), "groups is empty, should be adm; comment is x, should be empty; mode is 0600, should be 0644"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a node says of its drift is in the state: all that drifted is there, but not all texts of a node that sends many long ones.
func TestDriftOfANodeIsBounded(t *testing.T) {
	const resources, each = 1000, 8 << 10
	survey := rollout.NodeSurvey{Ledger: map[resource.ID]string{}}
	tasks := make([]task.Task, resources)
	for i := range resources {
		tasks[i] = task.Task{Digest: "d", Resource: resource.Resource{Type: "file", Title: fmt.Sprint("/", i)}}
		survey.Ledger[tasks[i].Resource.ID()] = "d"
		survey.Drift = append(survey.Drift, rollout.DriftItem{ID: tasks[i].Resource.ID(), Diff: strings.Repeat("x", each),
			Differences: []types.Difference{{Parameter: "mode", Is: "0600", Should: "0644"}}})
	}
	found := driftOn("web1", survey, tasks, nil)
	size, whole := 0, 0
	for i, d := range found {
		size += len(d.Change)
		if len(d.Change) > each {
			whole++
		}
		if d.Resource != tasks[i].Resource.ID() || !strings.HasPrefix(d.Change, "mode is 0600, should be 0644") {
			t.Fatalf("drift %d is of %s: %.100q", i, d.Resource, d.Change)
		}
	}
	if last := found[len(found)-1].Change; len(found) != resources || size > 256<<10 || whole < 10 || !strings.Contains(last, "left out") {
		t.Errorf("%d of %d resources, %d bytes, %d with all of their text; the last: %.200q", len(found), resources, size, whole, last)
	}
}

// The same error on many nodes is said once, with their number and the first names.
func TestReasonsSaySameErrorOnce(t *testing.T) {
	of := map[string]error{"other": errors.New("no space left"), "lonely": &transport.Error{Node: "lonely", Message: "the host key changed"}}
	for i := range 100 {
		name := fmt.Sprintf("n%03d", i)
		of[name] = &transport.Error{Node: name, Message: "no key was accepted"}
	}
	want := "lonely: node \"lonely\": the host key changed\n100 nodes (n000, n001, n002, n003, n004 and 95 more): no key was accepted\nother: no space left\n"
	if got := Reasons(of); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
