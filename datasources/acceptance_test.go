package datasources_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/provider"
)

// factories starts the provider inside the test, anew for every Terraform command, as Terraform does.
func factories(t *testing.T) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	return map[string]func() (tfprotov6.ProviderServer, error){
		"slipway": func() (tfprotov6.ProviderServer, error) {
			return provider.NewServer(t.Context(), "test", &engine.Runs{})
		},
	}
}

// run takes configurations one after the other.
func run(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	resource.UnitTest(t, resource.TestCase{ProtoV6ProviderFactories: factories(t), Steps: steps})
}

// refused plans a configuration and expects an error.
func refused(t *testing.T, config, pattern string) {
	t.Helper()
	run(t, resource.TestStep{Config: config, PlanOnly: true, ExpectError: told(pattern)})
}

// told matches an error text wherever Terraform breaks its lines.
func told(pattern string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(pattern, " ", `\s+(?:│\s*)?`))
}

// is checks an attribute of a data source.
func is(address string, at tfjsonpath.Path, want knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, at, want)
}

func at(steps ...any) tfjsonpath.Path {
	first, _ := steps[0].(string)
	p := tfjsonpath.New(first)
	for _, step := range steps[1:] {
		switch step := step.(type) {
		case string:
			p = p.AtMapKey(step)
		case int:
			p = p.AtSliceIndex(step)
		}
	}
	return p
}

func exact(s string) knownvalue.Check { return knownvalue.StringExact(s) }

func list(texts ...string) knownvalue.Check {
	checks := make([]knownvalue.Check, len(texts))
	for i, s := range texts {
		checks[i] = knownvalue.StringExact(s)
	}
	return knownvalue.ListExact(checks)
}

// folder writes files into a folder of its own and returns it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The examples of the registry's documentation are configurations that plan.
func TestExamples(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Glob(filepath.Join("..", "examples", "data-sources", "*", "data-source.tf"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range examples {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			absolute, err := filepath.Abs(filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			example, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			config := strings.ReplaceAll(string(example), "${path.module}", absolute)
			run(t, resource.TestStep{Config: config, PlanOnly: true, ExpectNonEmptyPlan: strings.Contains(config, "\nresource ") || strings.Contains(config, "\noutput ")})
		})
	}
}
