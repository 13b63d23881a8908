package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// limits are the rows of the table of sizes in the guide "Operating a site", by the beginning of their first column, with the
// constants that the second column states.
var limits = map[string][]struct {
	file, name string
	unit       string // of the constant; empty: it is a number of things
}{
	"resources of a site on a node": {{"planner/schema/schema.go", "MostResources", ""}},
	"`content` of a `file`":         {{"planner/schema/file.go", "mostContent", "bytes"}},
	"content of which a diff":       {{"planner/converge/types/file_diff.go", "diffTextLimit", "bytes"}},
	"files of a plugin, or": {{"planner/plugin/files.go", "MaxFiles", "bytes"}, {"planner/engine/plugin_folder.go", "maxFiles", ""},
		{"planner/plugin/files.go", "pathLimit", "bytes"}},
	"a YAML document": {{"planner/document/reader.go", "maxSize", "bytes"}, {"planner/engine/plugin_folder.go", "maxDocument", "bytes"},
		{"planner/document/jsontree.go", "maxShowSize", "bytes"}},
	"a template of a catalog":      {{"planner/catalog/template/template.go", "MaxSize", "bytes"}, {"planner/catalog/template/template.go", "MaxResult", "bytes"}},
	"the definition of an":         {{"planner/catalog/definition.go", "definitionLimit", "bytes"}},
	"attributes, embedded":         {{"planner/catalog/resolve.go", "maxElements", ""}, {"planner/catalog/resolve.go", "maxTotal", ""}},
	"entities that extend":         {{"planner/catalog/resolve.go", "maxAncestors", ""}, {"planner/catalog/resolve.go", "maxDepth", ""}},
	"tasks of a service on":        {{"planner/refine/entity.go", "mostTasks", ""}},
	"networks of a pool":           {{"planner/catalog/pool.go", "mostNetworks", ""}, {"planner/catalog/pool.go", "mostExcluded", ""}},
	"a regular expression":         {{"planner/catalog/rule.go", "expressionLimit", "bytes"}, {"planner/catalog/pattern.go", "patternSize", ""}},
	"`stdin`, `body`, `json`":      {{"planner/callback/callback.go", "longestText", "bytes"}, {"planner/callback/controller/command.go", "outputLimit", "bytes"}, {"planner/callback/controller/request.go", "bodyLimit", "bytes"}},
	"a path in `values`":           {{"planner/callback/path.go", "longestPath", "bytes"}, {"planner/callback/path.go", "farthest", ""}},
	"drift of a node in the state": {{"planner/engine/check.go", "driftRoom", "bytes"}},
	"drift of a check in the":      {{"planner/journal/check.go", "DriftLimit", ""}, {"planner/journal/writer.go", "outputLimit", "bytes"}},
	"of a task in the journal":     {{"planner/journal/writer.go", "messageLimit", "bytes"}, {"planner/journal/writer.go", "outputLimit", "bytes"}},
}

// The guide states the limits that the code has.
func TestLimitsAreStated(t *testing.T) {
	_, table, _ := strings.Cut(read(t, pages, "guides", "operating.md"), "\nSizes:\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for row, constants := range limits {
		_, cells, found := strings.Cut(table, "\n| "+row)
		cells, _, _ = strings.Cut(cells, "\n")
		if !found {
			t.Errorf("the table of sizes has no row %q", row)
			continue
		}
		for _, c := range constants {
			if want := written(t, c.file, c.name, c.unit); !strings.Contains(cells, want) {
				t.Errorf("%s: %s is %s, and the guide has %q", row, c.name, want, cells)
			}
		}
	}
}

// written returns the value of a constant as the guide writes it: 8 MiB, 1,024 bytes, 10,000.
func written(t *testing.T, file, name, unit string) string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	n, found := int64(0), false
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != name || len(spec.Values) == 0 {
			return true
		}
		value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(spec.Values[0]))
		if err != nil {
			t.Fatalf("%s: %s: %v", file, name, err)
		}
		n, found = constant.Int64Val(value.Value)
		return true
	})
	if !found {
		t.Fatalf("%s has no constant %s", file, name)
	}
	switch {
	case unit != "" && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case unit != "" && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	case n >= 1_000_000:
		return strings.TrimSpace(fmt.Sprintf("%d,%03d,%03d %s", n/1_000_000, n/1000%1000, n%1000, unit))
	case n >= 1000:
		return strings.TrimSpace(fmt.Sprintf("%d,%03d %s", n/1000, n%1000, unit))
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", n, unit))
}
