package types

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// backup = ".bak" copies a file to the path with this ending, before it is replaced or removed, as in Puppet. Undo
// brings back what was at both paths.
func TestFileCopiedBeside(t *testing.T) {
	const at, beside = "/etc/x", "/etc/x.bak"
	with := func(p resource.Parameters) resource.Resource {
		p["backup"] = ".bak"
		return res(t, fileType{}, at, p)
	}
	for name, files := range map[string]map[string]string{
		"no copy yet":   {"etc/x": "old\n", "var/lib/": ""},
		"one of others": {"etc/x": "old\n", "etc/x.bak": "of others\n", "var/lib/": ""},
		"no file":       {"etc/": "", "var/lib/": ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := folder(t, files)
			was := systemtest.Inventory(t, s.Root)
			want := func(step, content string) {
				t.Helper()
				if is, err := s.ReadFile(beside); content != string(is) || content != "" && err != nil {
					t.Errorf("%s: the copy is %q (%v), want %q", step, is, err, content)
				}
			}
			before := applied(t, s, fileType{}, with(resource.Parameters{"content": "new\n"}))
			want("create", files["etc/x"])
			before = updated(t, s, fileType{}, with(resource.Parameters{"content": "new\n", "mode": "0600"}), before)
			want("another mode", files["etc/x"])
			before = updated(t, s, fileType{}, with(resource.Parameters{"content": "newer\n", "mode": "0600"}), before)
			want("another content", "new\n")
			if info, err := s.Lstat(beside); err != nil || info.Mode.Perm() != 0o600 {
				t.Errorf("mode of the copy: %v, %v", info.Mode, err)
			}
			before = updated(t, s, fileType{}, with(resource.Parameters{"ensure": "absent"}), before)
			want("removed", "newer\n")
			undone(t, s, fileType{}, with(resource.Parameters{"ensure": "absent"}), before)
			if diff := cmp.Diff(was, systemtest.Inventory(t, s.Root)); diff != "" {
				t.Errorf("after undo (-was +is):\n%s", diff)
			}
		})
	}
}

// A copy takes no other resource's place, and no directory's.
func TestFileIsNotCopiedOverOthers(t *testing.T) {
	r := res(t, fileType{}, "/etc/x", resource.Parameters{"content": "new\n", "backup": ".bak"})
	s := folder(t, map[string]string{"etc/x": "old\n", "etc/x.bak/": "", "var/lib/": ""})
	was := systemtest.Inventory(t, s.Root)
	if err := (fileType{}).Apply(t.Context(), s, r); err == nil || !strings.Contains(err.Error(),
		"backup: /etc/x.bak is a directory; give another ending") {
		t.Error(err)
	}
	s = folder(t, map[string]string{"etc/x": "old\n"})
	s.Wanted = []resource.Resource{r, res(t, fileType{}, "/etc/x.bak", resource.Parameters{"content": "other\n"})}
	if _, err := (fileType{}).Capture(t.Context(), s, r); err == nil || !strings.Contains(err.Error(),
		"backup: file[/etc/x.bak] manages /etc/x.bak; give another ending") {
		t.Error(err)
	}
	s = folder(t, map[string]string{"etc/x": "old\n", "etc/x.bak/": "", "var/lib/": ""})
	if _, err := (fileType{}).Capture(t.Context(), s, r); err == nil {
		t.Error("a directory was taken down as the copy")
	}
	if diff := cmp.Diff(was, systemtest.Inventory(t, s.Root)); diff != "" {
		t.Error(diff)
	}
}

func TestBackupIsChecked(t *testing.T) {
	for backup, want := range map[any]string{
		true: "", false: "", "true": "", ".bak": "", ".puppet-bak": "",
		"main": `backup: "main" must be true, false, or the ending of a copy beside the file, which begins with a dot: ".bak"`,
		"":     `backup: "" must be`, ".": `backup: "." must be`, "./x": `backup: "./x" must be`,
		int64(1): `backup: must be true or false, without quotes, not 1`,
	} {
		errs := (fileType{}).Schema().Validate(resource.Resource{Type: "file", Title: "/x",
			Parameters: resource.Parameters{"backup": backup, "content": "x"}})
		got := ""
		for _, e := range errs {
			got += e.Attribute + ": " + e.Message
		}
		if got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%v: %q, want %q", backup, got, want)
		}
	}
}
