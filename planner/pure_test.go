package planner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/slipway/terraform-provider-slipway/"

// pure packages compute: no clock, no network, no files, no logging, no goroutine. What they import must be pure as well.
var pure = []string{
	"planner", "planner/callback", "planner/catalog", "planner/catalog/template", "planner/digraph", "planner/enroll",
	"planner/invalid", "planner/lifecycle", "planner/override", "planner/plugin", "planner/refine", "planner/resource", "planner/run",
	"planner/schema", "planner/sequence", "planner/services", "planner/simulate", "planner/site", "planner/strategy",
	"planner/task",
}

// impure are packages of the standard library that a pure package must not import, with everything below them; addresses
// and URLs are values.
var impure = []string{"os", "net", "syscall", "database", "log", "crypto/rand", "math/rand", "testing", "plugin", "sync"}

var values = []string{"net/netip", "net/url"}

// modules of others that pure packages may use: parsers, values and text. Of google/uuid they use what makes an id of a
// name. kevinburke/ssh_config reads files for Include alone, which planner/enroll takes out before.
var modules = []string{
	"github.com/agext/levenshtein", "github.com/apparentlymart/go-textseg", "github.com/google/uuid", "github.com/hashicorp/hcl",
	"github.com/kevinburke/ssh_config", "github.com/mitchellh/go-wordwrap", "github.com/zclconf/go-cty", "golang.org/x/text", "gopkg.in/yaml.v3",
}

// apart are packages that must not meet, although both are pure or neither is.
var apart = map[string][]string{
	"planner":          {"planner/converge"},
	"planner/site":     {"planner/lifecycle"},
	"planner/document": {"planner/simulate"},
	"datasources":      {"resources"},
}

// known are the imports that break the rules today. One that is gone must leave the list.
var known = []string{
	"planner/services imports planner/document",
	"planner/site imports planner/lifecycle",
}

// belowEngine returns the packages that know nothing of Terraform: the engine, what it is made of, and what uses it without
// Terraform.
func belowEngine(imports map[string][]string) []string {
	var out []string
	for p := range imports {
		if strings.HasPrefix(p, "planner/") || p == "planner" {
			out = append(out, p)
		}
	}
	return out
}

// terraform are the modules that only main, provider, resources and datasources may use.
var terraform = []string{"github.com/hashicorp/terraform-", "resources", "datasources", "provider"}

// TestPurePackages checks every import of the pure packages, and of what they import.
func TestPurePackages(t *testing.T) {
	const format = `{{if not .Standard}}{{.ImportPath}} {{join .Imports " "}}{{end}}`
	out, err := exec.Command("go", "list", "-deps", "-f", format, "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) > 0 {
			imports[strings.TrimPrefix(fields[0], module)] = fields[1:]
		}
	}
	found := map[string]bool{}
	for _, p := range pure {
		if _, ok := imports[p]; !ok {
			t.Errorf("there is no package %s", p)
		}
		for _, to := range imports[p] {
			if own, ok := strings.CutPrefix(to, module); ok && !slices.Contains(pure, own) || !ok && !allowed(to) {
				found[p+" imports "+strings.TrimPrefix(to, module)] = true
			}
		}
	}
	for _, p := range belowEngine(imports) {
		for _, to := range imports[p] {
			to = strings.TrimPrefix(to, module)
			if slices.ContainsFunc(terraform, func(top string) bool { return strings.HasPrefix(to, top) }) {
				found[p+" imports "+to] = true
			}
		}
	}
	for p, others := range apart {
		for _, other := range others {
			if slices.Contains(imports[p], module+other) {
				found[p+" imports "+other] = true
			}
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, known) {
		t.Errorf("imports that break the rules:\n%s\nknown are:\n%s", strings.Join(got, "\n"), strings.Join(known, "\n"))
	}
}

// TestPurePackagesStartNoGoroutine: make test has no race detector for these packages.
func TestPurePackagesStartNoGoroutine(t *testing.T) {
	for _, p := range pure {
		files, err := filepath.Glob(filepath.Join("..", p, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", p, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for node := range ast.Preorder(file) {
				if start, is := node.(*ast.GoStmt); is {
					t.Errorf("%s starts a goroutine", set.Position(start.Pos()))
				}
			}
		}
	}
}

// allowed reports whether a pure package may import one that is not slipway's.
func allowed(path string) bool {
	under := func(top string) bool { return path == top || strings.HasPrefix(path, top+"/") }
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		return slices.ContainsFunc(modules, under)
	}
	return slices.Contains(values, path) || !slices.ContainsFunc(impure, under)
}
