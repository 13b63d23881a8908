package resources_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// The examples of the registry's documentation are configurations that plan.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"slipway_node", "slipway_group", "slipway_service", "slipway_override", "slipway_deployment"} {
		t.Run(name, func(t *testing.T) {
			example, err := os.ReadFile(filepath.Join("..", "examples", "resources", name, "resource.tf"))
			if err != nil {
				t.Fatal(err)
			}
			resource.UnitTest(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: string(example), PlanOnly: true, ExpectNonEmptyPlan: true}},
			})
		})
	}
}
