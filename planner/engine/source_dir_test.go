package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func treeOf(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		at := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func filesOf(titles map[string]resource.Parameters) site.Service {
	return site.Service{Name: "web", Configuration: resource.Configuration{"file": titles}}
}

// What refers to a directory of the controller refers to all that is in it: a resource of the same service is named by
// it, one of another service names it.
func TestReferencesToDirectories(t *testing.T) {
	dir := treeOf(t, "a", "d/b")
	s := site.Site{Services: []site.Service{
		{Name: "web", Configuration: resource.Configuration{
			"file":    {"web": {"path": "/srv/web", "source_dir": dir, "owner": "www", "require": "package[web]", "purge": true}},
			"service": {"web": {"subscribe": []any{"file[web]"}}}, "package": {"web": {"before": "file[web]"}}}},
		{Name: "other", Configuration: resource.Configuration{"exec": {"index": {"require": "file[web]"}}}},
	}}
	got, errs := ReadDirectories(s)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	file := func(name string) resource.Parameters {
		return resource.Parameters{"owner": "www", "require": []any{"package[web]"}, "notify": []any{"service[web]"}, "mode": "0644",
			"source_file": filepath.Join(dir, name), "source_sha256": resource.SHA256(name)}
	}
	want := []resource.Configuration{{
		"file": {
			"web":          {"path": "/srv/web", "ensure": "directory", "owner": "www", "require": []any{"package[web]"}, "purge": true, "recurse": true},
			"/srv/web/a":   file("a"),
			"/srv/web/d":   {"owner": "www", "require": []any{"package[web]"}, "notify": []any{"service[web]"}, "mode": "0755", "ensure": "directory"},
			"/srv/web/d/b": file("d/b"),
		},
		"service": {"web": {"subscribe": []any{"file[web]"}}},
		"package": {"web": {"before": []any{"file[web]", "file[/srv/web/a]", "file[/srv/web/d]", "file[/srv/web/d/b]"}}},
	}, {
		"exec": {"index": {"require": []any{"file[web]", "file[/srv/web/a]", "file[/srv/web/d]", "file[/srv/web/d/b]"}}},
	}}
	for i := range want {
		if diff := cmp.Diff(want[i], got.Services[i].Configuration); diff != "" {
			t.Errorf("service %s: %s", got.Services[i].Name, diff)
		}
	}
	if p := s.Services[0].Configuration["file"]; len(p) != 1 || p["web"]["source_dir"] != dir {
		t.Errorf("the site that was given is changed: %v", p)
	}
}

// A file that is given by itself counts for what is in the directory.
func TestFileBesideADirectory(t *testing.T) {
	own := resource.Parameters{"content": "own"}
	s, errs := ReadDirectories(site.Site{Services: []site.Service{filesOf(map[string]resource.Parameters{
		"/srv": {"source_dir": treeOf(t, "a", "b")}, "/srv/a": own})}})
	files := s.Services[0].Configuration["file"]
	if len(errs) > 0 || len(files) != 3 || files["/srv/a"]["content"] != "own" || !files["/srv/b"].Has("source_file") {
		t.Errorf("files %v, errors %v", files, errs)
	}
}

func TestDirectoriesThatAreRefused(t *testing.T) {
	many := t.TempDir()
	for i := range mostInDirectory + 1 {
		if err := os.WriteFile(filepath.Join(many, strings.Repeat("x", i%200+1)+"-"+string(rune('a'+i/200))), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(treeOf(t, "a"), "a")
	for want, dir := range map[string]string{
		"no such file or directory": filepath.Join(many, "gone"), "more than 2000 files and directories": many, "write source_file for a file": file,
	} {
		s, errs := ReadDirectories(site.Site{Services: []site.Service{filesOf(map[string]resource.Parameters{"/srv": {"source_dir": dir}})}})
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), want) || errs[0].Attribute != `configuration.file["/srv"].source_dir` {
			t.Errorf("%s: errors %v, want one with %q", dir, errs, want)
		}
		if p := s.Services[0].Configuration["file"]["/srv"]; p["ensure"] != "directory" || p.Has("source_dir") {
			t.Errorf("%s: the directory is %v", dir, p)
		}
	}
}

// A plan does not read: it says where a directory of the controller is read.
func TestUnreadDirectoryIsRefused(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "a", Address: "a"}}, Services: []site.Service{filesOf(map[string]resource.Parameters{"/srv": {"source_dir": "x"}})}}
	_, errs := Plan(nil, s, Settings{})
	if !slices.ContainsFunc(errs, func(e invalid.Error) bool { return strings.Contains(e.Message, "not in an override") }) {
		t.Errorf("errors %v", errs)
	}
}
