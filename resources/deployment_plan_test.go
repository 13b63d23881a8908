package resources_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

// planContains checks that the deployment's planned steps mention a text.
func planContains(text string) plancheck.PlanCheck { return stepsCheck{text, true} }

// planLacks checks that they do not.
func planLacks(text string) plancheck.PlanCheck { return stepsCheck{text, false} }

// changedNodes checks which nodes the deployment's plan shows as changed.
func changedNodes(names ...string) plancheck.PlanCheck { return changedNodesCheck(names) }

// noWork checks that the deployment's plan has no work, though something of it may change.
func noWork() plancheck.PlanCheck { return noWorkCheck{} }

// preview is what a plan shows of a run.
type preview struct {
	Run   int
	Steps []string
	Nodes map[string]int `json:"changed_nodes"`
}

// previews returns what the state has, and what the plan shows.
func previews(req plancheck.CheckPlanRequest) (before, after preview, err error) {
	for _, r := range req.Plan.ResourceChanges {
		if r.Address != deployment {
			continue
		}
		raw, err := json.Marshal([]any{r.Change.Before, r.Change.After})
		if err != nil {
			return before, after, err
		}
		both := []*preview{&before, &after}
		return before, after, json.Unmarshal(raw, &both)
	}
	return before, after, fmt.Errorf("the plan does not mention %s", deployment)
}

type stepsCheck struct {
	text string
	want bool
}

func (c stepsCheck) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	_, after, err := previews(req)
	steps := strings.Join(after.Steps, "\n")
	if resp.Error = err; err == nil && strings.Contains(steps, c.text) != c.want {
		resp.Error = fmt.Errorf("steps contain %q: %v, want %v:\n%s", c.text, !c.want, c.want, steps)
	}
}

type changedNodesCheck []string

func (c changedNodesCheck) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	before, after, err := previews(req)
	var changed []string
	for name, run := range after.Nodes {
		if run == after.Run && after.Run != before.Run {
			changed = append(changed, name)
		}
	}
	for name := range before.Nodes {
		if _, stays := after.Nodes[name]; !stays {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	if resp.Error = err; err == nil && !slices.Equal(changed, c) {
		resp.Error = fmt.Errorf("the plan shows the nodes %q as changed, want %q", changed, []string(c))
	}
}

type noWorkCheck struct{}

func (noWorkCheck) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	before, after, err := previews(req)
	if resp.Error = err; err == nil && !reflect.DeepEqual(before, after) {
		resp.Error = fmt.Errorf("the plan has work: %+v, the state has %+v", after, before)
	}
}
