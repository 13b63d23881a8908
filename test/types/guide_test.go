package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/provider"
)

// The guide in the tree is the one that the schemas and examples give.
func TestGuide(t *testing.T) {
	for _, file := range []string{"../../templates/guides/configuration.md", "../../docs/guides/configuration.md"} {
		written, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v: run `make docs`", err)
			continue
		}
		if d := cmp.Diff(guide(), string(written)); d != "" {
			t.Errorf("%s is stale: run `make docs`\n%s", file, d)
		}
	}
}

func TestEveryTypeHasAnExample(t *testing.T) {
	want := slices.Sorted(maps.Keys(schema.Types()))
	if got := slices.Sorted(maps.Keys(examples)); !slices.Equal(got, want) {
		t.Errorf("examples for %q, types %q", got, want)
	}
	for name, example := range examples {
		if !strings.Contains("\n"+example, "\n"+name+" = {") {
			t.Errorf("the example for %q shows none", name)
		}
	}
}

// Each type has a row in the tables of what returns when it is no longer given, and of one object under two names.
func TestEveryTypeIsInTheTables(t *testing.T) {
	for _, title := range []string{"## What is no longer given\n", "## One object under two names\n"} {
		_, table, _ := strings.Cut(head, title)
		table, _, _ = strings.Cut(table, "\n## ")
		var first []string // columns
		for line := range strings.Lines(table) {
			if cells := strings.Split(line, "|"); len(cells) > 1 {
				first = append(first, cells[1])
			}
		}
		for name := range schema.Types() {
			if !strings.Contains(strings.Join(first, ""), "`"+name+"`") {
				t.Errorf("the table of %q has no row for the type %s", strings.TrimSpace(title), name)
			}
		}
	}
}

// The guide on operating lists the types of which a run's changes can be put back.
func TestRestorableTypesAreListed(t *testing.T) {
	content, err := os.ReadFile("../../templates/guides/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(content), "\n- Types: ")
	list, _, _ = strings.Cut(list, ".")
	for name, s := range schema.Types() {
		if strings.Contains(list, "`"+name+"`") != s.Restorable {
			t.Errorf("the list of types %q: %s is restorable: %t", list, name, s.Restorable)
		}
	}
}

// Terraform takes every example, and the planner plans it: types, parameters and references are right.
func TestExamplesPlan(t *testing.T) {
	all := maps.Clone(examples)
	all["overview"] = overview
	for name, example := range all {
		t.Run(name, func(t *testing.T) {
			config := fmt.Sprintf(`
				resource "slipway_node" "n" {
					name    = "n"
					address = "192.0.2.1"
				}
				resource "slipway_service" "s" {
					name          = "s"
					selectors     = []
					configuration = {
%s
					}
				}
				resource "slipway_deployment" "d" {
					site     = "guide"
					nodes    = [slipway_node.n]
					services = [slipway_service.s]
				}`, example)
			resource.UnitTest(t, resource.TestCase{
				ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
					"slipway": func() (tfprotov6.ProviderServer, error) {
						return provider.NewServer(t.Context(), "test", &engine.Runs{})
					},
				},
				Steps: []resource.TestStep{{Config: config, PlanOnly: true, ExpectNonEmptyPlan: true}},
			})
		})
	}
}
