package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// layers are the example of seed 004 over a configuration, and a layer for a node above it.
func layers(t *testing.T) string {
	return folderOf(t, map[string]string{
		"base.yaml": `configuration:
  package: {mc: {ensure: present}, fontconfig-config: {ensure: present}}
  user: {web: {ensure: present, password: $6$old-secret}}
`,
		"seed.yaml":  "configuration: {package: {fontconfig-config: {ensure: latest}, mc: {ensure: absent}}}\n",
		"node.yaml":  "name: this node\nconfiguration: {package: {mc: {ensure: latest}, htop: {}}, user: {web: {password: $6$new-secret}}}\nconfiguration_options:\n  defaults:\n    package: {ensure: present}\n",
		"wrong.yaml": "configuration:\n  package:\n    mc:\n      ensur: absent\n",
		"text.yaml":  "configuration: text\n",
	})
}

func TestOverrideTable(t *testing.T) {
	dir := layers(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	out, err := run(t, "override", path("base.yaml"), path("seed.yaml"), path("node.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out = strings.ReplaceAll(out, dir+"/", "")
	for _, want := range []string{
		"package[fontconfig-config]  changed  seed.yaml\n",
		"package[htop]               created  this node\n",
		"package[mc]                 changed  this node\n", // the seed's value does not count in the end
		"\npackage[mc]\n  ~ ensure: \"present\" -> \"latest\"\n",
		"\npackage[htop]\n  + ensure: \"present\"\n",
		"  ~ password: (sensitive) -> (sensitive)\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "secret") {
		t.Errorf("a secret is shown:\n%s", out)
	}
}

func TestOverrideJSON(t *testing.T) {
	dir := layers(t)
	out, err := run(t, "override", filepath.Join(dir, "base.yaml"), filepath.Join(dir, "node.yaml"), "--create=false",
		"--types-filter", "package", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Resources []overriddenJSON }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "secret") {
		t.Errorf("a secret is shown:\n%s", out)
	}
	want := []overriddenJSON{
		{Resource: "package[fontconfig-config]", Type: "package", Title: "fontconfig-config", Change: "none",
			Overrides: []string{}, Changed: []string{}, Parameters: map[string]any{"ensure": "present"}},
		{Resource: "package[mc]", Type: "package", Title: "mc", Change: "changed", Overrides: []string{"this node"},
			Changed:    []string{"ensure"},
			Parameters: map[string]any{"ensure": "latest"}, Before: map[string]any{"ensure": "present"}},
		{Resource: "user[web]", Type: "user", Title: "web", Change: "none", Overrides: []string{}, Changed: []string{},
			Parameters: map[string]any{"ensure": "present", "password": hidden}},
	}
	if d := cmp.Diff(want, got.Resources); d != "" {
		t.Error(d)
	}
}

func TestOverrideErrors(t *testing.T) {
	dir := layers(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"base.yaml"}, "give a configuration and one or more layers"},
		{[]string{"base.yaml", "wrong.yaml"},
			`wrong.yaml:4:14: configuration.package["mc"].ensur: the type package has no such parameter; did you mean "ensure"?`},
		{[]string{"wrong.yaml", "seed.yaml"}, `wrong.yaml:4:14: configuration.package["mc"].ensur: `},
		{[]string{"base.yaml", "text.yaml"}, `text.yaml:1:16: configuration: is text, not a mapping`},
		{[]string{"base.yaml", "seed.yaml", "seed.yaml"}, "is named twice"},
		{[]string{"base.yaml", "none.yaml"}, "no such file"},
	} {
		args := []string{"override"}
		for _, a := range tt.args {
			args = append(args, filepath.Join(dir, a))
		}
		if _, err := run(t, args...); err == nil || !strings.Contains(err.Error(), tt.want) ||
			ExitStatus(err) != statusInvalid {
			t.Errorf("%v: got %v, want %s", tt.args, err, tt.want)
		}
	}
}
