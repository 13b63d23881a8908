// Package docs tests that docs/ is what the schemas, templates and examples give. `make docs` writes it.
package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/provider"
)

const (
	pages     = "../../docs"
	templates = "../../templates"
	examples  = "../../examples"
)

func read(t *testing.T, elements ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatalf("%v: run `make docs`", err)
	}
	return string(content)
}

// names lists the files in a directory.
func names(t *testing.T, elements ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	return out
}

func TestGuides(t *testing.T) {
	guides := names(t, templates, "guides")
	if d := cmp.Diff(guides, names(t, pages, "guides")); d != "" {
		t.Fatalf("run `make docs`: %s", d)
	}
	for _, name := range guides {
		if d := cmp.Diff(read(t, templates, "guides", name), read(t, pages, "guides", name)); d != "" {
			t.Errorf("docs/guides/%s is stale: run `make docs`\n%s", name, d)
		}
	}
}

// Every attribute is on its page with its own description, and nothing else is; every page shows its example and how to import.
func TestSchemas(t *testing.T) {
	server, err := provider.NewServer(t.Context(), "test", &engine.Runs{})
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	matches(t, "index.md", schemas.Provider.Block, "provider/provider.tf")
	var want []string
	for _, name := range slices.Sorted(maps.Keys(schemas.ResourceSchemas)) {
		page := strings.TrimPrefix(name, "slipway_") + ".md"
		want = append(want, page)
		matches(t, "resources/"+page, schemas.ResourceSchemas[name].Block, "resources/"+name+"/resource.tf", "resources/"+name+"/import.sh")
	}
	if d := cmp.Diff(want, names(t, pages, "resources")); d != "" {
		t.Errorf("pages of resources: run `make docs`\n%s", d)
	}
}

// entry is a line that the generator writes for an attribute: name and text, without its type.
var entry = regexp.MustCompile("(?m)^- `([a-z_0-9]+)` \\((?:[^()]|\\([^()]*\\))*\\) ?(.*)$")

func matches(t *testing.T, page string, block *tfprotov6.SchemaBlock, shown ...string) {
	t.Helper()
	text := read(t, pages, page)
	if !strings.Contains(text, block.Description) {
		t.Errorf("docs/%s does not hold the description %q: run `make docs`", page, block.Description)
	}
	for _, file := range shown {
		if !strings.Contains(text, strings.TrimSpace(read(t, examples, file))) {
			t.Errorf("docs/%s does not show examples/%s as it is: run `make docs`", page, file)
		}
	}
	var got []string
	for _, m := range entry.FindAllStringSubmatch(text, -1) {
		description, _, _ := strings.Cut(m[2], "(see [below for nested schema]")
		got = append(got, m[1]+": "+strings.TrimSpace(description))
	}
	want := entries(block.Attributes)
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/%s is stale: run `make docs`\n%s", page, d)
	}
}

// entries lists attributes with their descriptions, nested ones too.
func entries(attributes []*tfprotov6.SchemaAttribute) []string {
	var out []string
	for _, a := range attributes {
		out = append(out, a.Name+": "+a.Description)
		if a.NestedType != nil {
			out = append(out, entries(a.NestedType.Attributes)...)
		}
	}
	return out
}

// The table of promises names tests that there are.
func TestReliability(t *testing.T) {
	var there strings.Builder
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, "_test.go") {
			there.WriteString(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\bTest\w+`).FindAllString(read(t, pages, "reliability.md"), -1)
	if len(named) == 0 {
		t.Fatal("no test is named")
	}
	for _, name := range named {
		if !strings.Contains(there.String(), "\nfunc "+name+"(") {
			t.Errorf("docs/reliability.md names %s, and there is no such test", name)
		}
	}
}
