package resources_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

// planContains checks that the deployment's planned steps mention a text.
func planContains(text string) plancheck.PlanCheck { return stepsCheck{text, true} }

// planLacks checks that they do not.
func planLacks(text string) plancheck.PlanCheck { return stepsCheck{text, false} }

type stepsCheck struct {
	text string
	want bool
}

func (c stepsCheck) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, r := range req.Plan.ResourceChanges {
		if r.Address != deployment {
			continue
		}
		raw, err := json.Marshal(r.Change.After)
		if err != nil {
			resp.Error = err
			return
		}
		var after struct{ Steps []string }
		if err := json.Unmarshal(raw, &after); err != nil {
			resp.Error = err
			return
		}
		steps := strings.Join(after.Steps, "\n")
		if strings.Contains(steps, c.text) != c.want {
			resp.Error = fmt.Errorf("steps contain %q: %v, want %v:\n%s", c.text, !c.want, c.want, steps)
		}
		return
	}
	resp.Error = fmt.Errorf("the plan does not mention %s", deployment)
}
