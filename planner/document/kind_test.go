package document

import (
	"os"
	"testing"
)

func TestKindOf(t *testing.T) {
	shown, err := os.ReadFile("../command/testdata/plan.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct {
		kind Kind
		is   string
	}{
		string(shown): {OfShow,
			"is what `terraform show -json` prints (it has the key \"format_version\")"},
		"\ufeff" +
			string(shown): {OfShow, "is what `terraform show -json` prints (it has the key \"format_version\")"},
		"PK\x03\x04\x00":           {OfShow, "is a plan file as Terraform writes it"},
		"nodes: []\n":              {OfSite, `is a site document (it has the key "nodes")`},
		"catalog: {}\n":            {OfSite, `is a site document (it has the key "catalog")`},
		"{plugins: [], tasks: []}": {OfSite, `is a site document (it has the key "plugins")`},
		"entities: {}\n":           {OfSite, `is a catalog (it has the key "entities")`},
		"schema: shipyard/DeploymentStrategy/v1\ntasks: []\n": {OfSite,
			`is a document of the schema "shipyard/DeploymentStrategy/v1"`},
		"[]":                          {OfPlugin, "is the document of a plugin (it is a list)"},
		"- id: a\n":                   {OfPlugin, "is the document of a plugin (it is a list)"},
		"name: a\ngraph_tasks: []\n":  {OfPlugin, `is the document of a plugin (it has the key "graph_tasks")`},
		"version: 1.0.0\n":            {OfPlugin, `is the document of a plugin (it has the key "version")`},
		"configuration: text\n":       {OfLayer, `is a configuration or a layer (it has the key "configuration")`},
		"name: a\nmerge: title\n":     {OfLayer, `is a configuration or a layer (it has the key "merge")`},
		"a: &a {tasks: []}\n<<: *a\n": {OfPlugin, `is the document of a plugin (it has the key "tasks")`},
		"task: []\n": {OfPlugin,
			`is perhaps the document of a plugin (it has the key "task", which is near "tasks")`},
		"node: []\n": {OfSite,
			`is perhaps a site document (it has the key "node", which is near "nodes")`},
		"task: []\nnodes: []\n":     {OfSite, `is a site document (it has the key "nodes")`},
		"name: a\n":                 {Unclear, ""},
		"{}":                        {Unclear, ""},
		"a: [":                      {Unclear, ""},
		"\x00":                      {Unclear, ""},
		"1: 2\n":                    {Unclear, ""},
		"prepare: {}\n":             {NoKind, `has the key "prepare"`},
		"{one: 1, two: 2, name: x}": {NoKind, `has the keys "one", "two"`},
		"{k1: 1, k2: 2, k3: 3, k4: 4, k5: 5, k6: 6}": {NoKind, `has the keys "k1", "k2", "k3", "k4", "k5" and more`},
		"secret":                   {NoKind, "is text"},
		"":                         {NoKind, "is empty; where a command wrote it, look whether that command failed"},
		"---\n# nothing\n":         {NoKind, "is empty; where a command wrote it, look whether that command failed"},
		"one: 1\n---\nnodes: []\n": {OfSite, `is a site document (it has the key "nodes")`},
		"name: a\n---\none: 1\n":   {NoKind, `has the key "one"`},
		"one: 1\n---\nname: a\n":   {NoKind, `has the key "one"`},
	} {
		kind, is := KindOf(Source{Name: "f.yaml", Data: []byte(text)})
		if kind != want.kind || is != want.is {
			t.Errorf("%.60q: got %q, %q, want %q, %q", text, kind, is, want.kind, want.is)
		}
		if got, want := kind.DescribesSite(), kind == OfShow || kind == OfSite; got != want {
			t.Errorf("%q describes a site: %v", kind, got)
		}
	}
}
