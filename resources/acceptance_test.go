package resources_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/provider"
)

// factories starts the provider inside the test, anew for every Terraform command, as Terraform does.
func factories() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"slipway": func() (tfprotov6.ProviderServer, error) {
			return provider.NewServer(context.Background(), "test", &engine.Runs{})
		},
	}
}

// heldLife takes a held resource through its life: created from first, then nothing to do, changed in place to second,
// replaced by renamed; then imported by its name, with a plan that brings the rest; then imported by identity.
func heldLife(t *testing.T, address, first, second, renamed string, afterFirst []statecheck.StateCheck, afterSecond []statecheck.StateCheck) {
	t.Helper()
	t.Parallel()
	action := func(a plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, a)}}
	}
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: first, ConfigPlanChecks: action(plancheck.ResourceActionCreate), ConfigStateChecks: afterFirst},
			{Config: first, ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
			{Config: second, ConfigPlanChecks: action(plancheck.ResourceActionUpdate), ConfigStateChecks: afterSecond},
			{Config: renamed, ConfigPlanChecks: action(plancheck.ResourceActionDestroyBeforeCreate)},
		},
	})
	imported := func(by string) string {
		return fmt.Sprintf("%s\nimport {\n  to = %s\n  %s\n}\n", renamed, address, by)
	}
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: imported(`id = "no name"`), PlanOnly: true, ExpectError: wrapped(`"no name" is not a name`)},
			{Config: imported(`id = "renamed"`), ConfigPlanChecks: action(plancheck.ResourceActionUpdate)},
			{Config: imported(`id = "renamed"`), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
		},
	})
	identity := []statecheck.StateCheck{statecheck.ExpectIdentity(address, map[string]knownvalue.Check{"name": knownvalue.StringExact("renamed")})}
	t.Run("identity", func(t *testing.T) {
		resource.UnitTest(t, resource.TestCase{
			ProtoV6ProviderFactories: factories(),
			TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)}, // keeps identities from there on
			Steps: []resource.TestStep{
				{Config: imported(`identity = { name = "no name" }`), PlanOnly: true, ExpectError: wrapped(`"no name" is not a name`)},
				{Config: imported(`identity = { name = "renamed" }`), ConfigPlanChecks: action(plancheck.ResourceActionUpdate), ConfigStateChecks: identity},
				{Config: second},
				{Config: renamed, ConfigStateChecks: identity},
			},
		})
	})
}

// wrapped matches an error text wherever Terraform breaks its lines.
func wrapped(pattern string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(pattern, " ", `\s+`))
}

// error is the body of a resource, and what Terraform is expected to report about it.
type wrong struct{ body, pattern string }

// errors plans resources of one type, all wrong in their own way, and expects the error of each: all errors of a
// configuration are reported together.
func errs(t *testing.T, typ, beside string, cases map[string]wrong) {
	t.Helper()
	config := beside + "\n"
	for label, c := range cases {
		config += fmt.Sprintf("resource %q %q {\n%s\n}\n", typ, label, c.body)
	}
	checked := false
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps:                    []resource.TestStep{{Config: config, PlanOnly: true}},
		ErrorCheck: func(err error) error {
			checked = true
			failures := strings.Split(err.Error(), "\nError: ")
			for label, c := range cases {
				where := fmt.Sprintf("in resource %q %q", typ, label)
				if !slices.ContainsFunc(failures, func(e string) bool { return strings.Contains(e, where) && wrapped(c.pattern).MatchString(e) }) {
					t.Errorf("%s: no error %q for\n%s", label, c.pattern, c.body)
				}
			}
			if t.Failed() {
				t.Log(err)
			}
			return nil
		},
	})
	if !checked {
		t.Error("no mistake was found")
	}
}
