package types

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestMount(t *testing.T) {
	const line = "tmpfs\t/mnt\ttmpfs\tnoexec\t0\t0\n"
	given := func(more resource.Parameters) resource.Parameters {
		p := resource.Parameters{"device": "tmpfs", "fstype": "tmpfs", "options": "noexec"}
		for k, v := range more {
			p[k] = v
		}
		return p
	}
	for _, tt := range []struct {
		name, fstab string
		live        []string
		parameters  resource.Parameters
		diffs       []Difference
		wantFstab   string
		wantLive    []string
		calls       []string
	}{
		{"new", systemtest.RootFstab, nil, given(nil), []Difference{{"ensure", "absent", "mounted"}}, systemtest.RootFstab + line, []string{"/mnt tmpfs tmpfs noexec"}, []string{"mount /mnt"}},
		{"only in fstab", systemtest.RootFstab, nil, given(resource.Parameters{"ensure": "defined"}), []Difference{{"ensure", "absent", "present"}}, systemtest.RootFstab + line, nil, nil},
		{"not mounted", line, nil, given(nil), []Difference{{"ensure", "unmounted", "mounted"}}, line, []string{"/mnt tmpfs tmpfs noexec"}, []string{"mount /mnt"}},
		{"as it should be", line, []string{"/mnt tmpfs tmpfs noexec"}, given(nil), nil, line, []string{"/mnt tmpfs tmpfs noexec"}, nil},
		{"unmounted", line, []string{"/mnt tmpfs tmpfs noexec"}, given(resource.Parameters{"ensure": "unmounted"}), []Difference{{"ensure", "mounted", "unmounted"}}, line, nil, []string{"umount /mnt"}},
		{"other options", line, []string{"/mnt tmpfs tmpfs noexec"}, given(resource.Parameters{"options": "ro"}), []Difference{{"options", "noexec", "ro"}},
			strings.Replace(line, "noexec", "ro", 1), []string{"/mnt tmpfs tmpfs ro"}, []string{"mount -o remount /mnt"}},
		{"other options only live", line, []string{"/mnt tmpfs tmpfs rw"}, given(nil), []Difference{{"options", "exec", "noexec"}}, line, []string{"/mnt tmpfs tmpfs noexec"}, []string{"mount -o remount /mnt"}},
		{"other device", line + "# end", []string{"/mnt tmpfs tmpfs noexec"}, given(resource.Parameters{"device": "/dev/x", "fstype": "xfs"}),
			[]Difference{{"device", "tmpfs", "/dev/x"}, {"fstype", "tmpfs", "xfs"}}, "/dev/x\t/mnt\txfs\tnoexec\t0\t0\n# end", []string{"/mnt /dev/x xfs noexec"}, []string{"umount /mnt", "mount /mnt"}},
		{"mounted by hand", systemtest.RootFstab, []string{"/mnt tmpfs tmpfs noexec"}, given(nil), []Difference{{"ensure", "absent", "mounted"}}, systemtest.RootFstab + line, []string{"/mnt tmpfs tmpfs noexec"}, []string{"mount -o remount /mnt"}},
		{"other thing mounted by hand", systemtest.RootFstab, []string{"/mnt other ramfs rw"}, given(nil), []Difference{{"ensure", "absent", "mounted"}}, systemtest.RootFstab + line, []string{"/mnt tmpfs tmpfs noexec"}, []string{"umount /mnt", "mount /mnt"}},
		{"absent", systemtest.RootFstab + line, []string{"/mnt tmpfs tmpfs noexec"}, resource.Parameters{"ensure": "absent"}, []Difference{{"ensure", "mounted", "absent"}}, systemtest.RootFstab, nil, []string{"umount /mnt"}},
		{"absent, mounted by hand", systemtest.RootFstab, []string{"/mnt other ramfs rw"}, resource.Parameters{"ensure": "absent"}, []Difference{{"ensure", "mounted", "absent"}}, systemtest.RootFstab, nil, []string{"umount /mnt"}},
		{"dump and pass", line, []string{"/mnt tmpfs tmpfs noexec"}, given(resource.Parameters{"dump": int64(1), "pass": 2.0}), []Difference{{"dump", "0", "1"}, {"pass", "0", "2"}},
			strings.Replace(line, "0\t0", "1\t2", 1), []string{"/mnt tmpfs tmpfs noexec"}, []string{"mount -o remount /mnt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKernel(t, tt.fstab, tt.live...)
			was := systemtest.Inventory(t, k.sys.Root)
			r := res(t, mountType{}, "/mnt", tt.parameters)
			diffs, err := mountType{}.Check(t.Context(), k.sys, r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.diffs, diffs); diff != "" {
				t.Error(diff)
			}
			before := applied(t, k.sys, mountType{}, r)
			content, err := k.sys.ReadFile("/etc/fstab")
			if err != nil || string(content) != tt.wantFstab {
				t.Errorf("%v, got\n%s\nwant\n%s", err, content, tt.wantFstab)
			}
			if diff := cmp.Diff(tt.wantLive, k.Live()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.calls, k.Calls); diff != "" {
				t.Error(diff)
			}
			undone(t, k.sys, mountType{}, r, before)
			if diff := cmp.Diff(was, systemtest.Inventory(t, k.sys.Root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMountWithoutRemount: what takes no new options while it is mounted is unmounted for them, also by a refresh and by undo.
func TestMountWithoutRemount(t *testing.T) {
	const line = "tmpfs\t/mnt\ttmpfs\tnoexec\t0\t0\n"
	k := newKernel(t, line, "/mnt tmpfs tmpfs noexec")
	r := res(t, mountType{}, "/mnt", resource.Parameters{"device": "tmpfs", "fstype": "tmpfs", "options": "ro", "remounts": false, "atboot": true})
	ran := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, k.Calls); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		k.Calls = nil
	}
	before := applied(t, k.sys, mountType{}, r)
	ran("apply", "umount /mnt", "mount /mnt")
	if err := (mountType{}).Refresh(t.Context(), k.sys, r); err != nil {
		t.Fatal(err)
	}
	ran("refresh", "umount /mnt", "mount /mnt")
	undone(t, k.sys, mountType{}, r, before)
	ran("undo", "umount /mnt", "mount /mnt")
	if diff := cmp.Diff([]string{"/mnt tmpfs tmpfs noexec"}, k.Live()); diff != "" {
		t.Error(diff)
	}
	for _, no := range []any{false, "no"} {
		errs := mountType{}.Schema().Validate(resource.Resource{Type: "mount", Title: "/mnt", Parameters: resource.Parameters{"device": "tmpfs", "atboot": no}})
		if len(errs) != 1 || errs[0].Attribute != "atboot" || !strings.Contains(errs[0].Message, `options = "noauto"`) {
			t.Errorf("atboot = %v: %v", no, errs)
		}
	}
}

// systemd makes mount units from fstab, so it reads each change, before the mount that follows; and a change only.
func TestMountIsAnnouncedToSystemd(t *testing.T) {
	k := newKernel(t, systemtest.RootFstab)
	if err := os.MkdirAll(k.sys.Root+"/run/systemd/system", 0o755); err != nil {
		t.Fatal(err)
	}
	r := res(t, mountType{}, "/mnt", resource.Parameters{"device": "tmpfs", "fstype": "tmpfs", "options": "noexec"})
	before := applied(t, k.sys, mountType{}, r)
	k.Set(nil)
	if err := (mountType{}).Apply(t.Context(), k.sys, r); err != nil {
		t.Fatal(err)
	}
	undone(t, k.sys, mountType{}, r, before)
	want := []string{"systemctl daemon-reload", "mount /mnt", "mount /mnt", "umount /mnt", "systemctl daemon-reload"}
	if diff := cmp.Diff(want, k.Calls); diff != "" {
		t.Error(diff)
	}
}

func TestMountRefused(t *testing.T) {
	r := res(t, mountType{}, "/mnt", resource.Parameters{"device": "tmpfs", "fstype": "tmpfs", "options": "ro"})
	const line = "tmpfs /mnt tmpfs rw 0 0\n"
	k := newKernel(t, line, "/mnt tmpfs tmpfs rw")
	k.Fail = "mount -o remount"
	if err := (mountType{}).Apply(t.Context(), k.sys, r); err == nil || !strings.Contains(err.Error(), "mount: refused") {
		t.Errorf("%v", err)
	}
	if content, err := k.sys.ReadFile("/etc/fstab"); err != nil || string(content) != line {
		t.Errorf("after a remount that failed, fstab is %q, %v", content, err)
	}
	busy := newKernel(t, line, "/mnt tmpfs tmpfs rw")
	busy.Fail = "umount"
	gone := res(t, mountType{}, "/mnt", resource.Parameters{"ensure": "absent"})
	if err := (mountType{}).Apply(t.Context(), busy.sys, gone); err == nil || !strings.Contains(err.Error(), "unmount /mnt") {
		t.Errorf("%v", err)
	}
	if content, err := busy.sys.ReadFile("/etc/fstab"); err != nil || string(content) != line {
		t.Errorf("after an unmount that failed, fstab is %q, %v", content, err)
	}
	missing := res(t, mountType{}, "/none", resource.Parameters{"device": "tmpfs"})
	const want = `the mount point /none is not there; add file["/none"] with ensure = "directory", which comes first by itself`
	if err := (mountType{}).Apply(t.Context(), busy.sys, missing); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// What a file says of its mount point, what is mounted there gets at once, also when it is unmounted and mounted again.
// A file that is still to come does that itself, once what is there was recorded.
func TestMountGetsWhatTheFileSays(t *testing.T) {
	for _, later := range []bool{false, true} {
		k := newKernel(t, systemtest.RootFstab)
		k.Mode = 0o777
		dir := res(t, fileType{}, "/mnt", resource.Parameters{"ensure": "directory", "mode": "0750"})
		other := res(t, fileType{}, "/other", resource.Parameters{"ensure": "directory", "mode": "0700"})
		k.sys.Site, k.sys.Ledger, k.sys.Wanted = "s", &ledger.Ledger{}, []resource.Resource{other, dir}
		want := fs.FileMode(0o777)
		if !later {
			want = 0o750
			k.sys.Ledger.Change(ledger.Record{Entry: &ledger.Entry{Site: "s", ID: dir.ID(), Type: "file", Title: "/mnt", Digest: "d"}})
		}
		for _, options := range []string{"noexec", "exec"} {
			r := res(t, mountType{}, "/mnt", resource.Parameters{"device": "tmpfs", "options": options, "remounts": false})
			if err := (mountType{}).Apply(t.Context(), k.sys, r); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(k.sys.Root + "/mnt"); err != nil || info.Mode().Perm() != want {
				t.Errorf("the file comes later: %v, options %s: what is mounted has %v, want %v (%v)", later, options, info.Mode(), want, err)
			}
		}
	}
}

// A mount that is notified is mounted again with its options, where it is mounted; swap is not.
func TestMountRefresh(t *testing.T) {
	const live = "/mnt tmpfs tmpfs noexec"
	for name, tt := range map[string]struct {
		live   []string
		ensure string
		calls  []string
	}{
		"mounted":               {[]string{live}, "mounted", []string{"mount -o remount /mnt"}},
		"is to be in fstab":     {[]string{live}, "present", []string{"mount -o remount /mnt"}},
		"in fstab, not mounted": {nil, "present", nil},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKernel(t, "tmpfs\t/mnt\ttmpfs\tnoexec\t0\t0\n", tt.live...)
			r := res(t, mountType{}, "/mnt", resource.Parameters{"device": "tmpfs", "fstype": "tmpfs", "options": "noexec", "ensure": tt.ensure})
			var typ Type = mountType{}
			refresher, ok := typ.(Refresher)
			if !ok {
				t.Fatal("a mount cannot be notified")
			}
			if err := refresher.Refresh(t.Context(), k.sys, r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.calls, k.Calls); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMountSchema(t *testing.T) {
	for _, tt := range []struct {
		title      string
		parameters resource.Parameters
		want       string
	}{
		{"/mnt", nil, "device: is required unless ensure is absent"},
		{"mnt", resource.Parameters{"device": "x"}, `title: "mnt" must be an absolute path`},
		{"/mnt/", resource.Parameters{"device": "x"}, `title: "/mnt/" must be written "/mnt"`},
		{"/mnt", resource.Parameters{"device": "x", "options": ""}, "options: must not be empty"},
		{"/mnt", resource.Parameters{"device": "x", "pass": int64(10)}, "pass: 10 is out of bounds"},
	} {
		errs := mountType{}.Schema().Validate(resource.Resource{Type: "mount", Title: tt.title, Parameters: tt.parameters})
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tt.want) {
			t.Errorf("%s %v: %v, want %q", tt.title, tt.parameters, errs, tt.want)
		}
	}
	if !(mountType{}).Schema().NeedsMachine || !(sysctlType{}).Schema().NeedsMachine {
		t.Error("mount and sysctl must be refused in a sandbox")
	}
}

// TestUndoOfAMountLeavesTheRest: what is mounted, and parts of the line in fstab, are brought back only where the resource has spoken of them.
func TestUndoOfAMountLeavesTheRest(t *testing.T) {
	k := newKernel(t, "tmpfs /mnt tmpfs size=1m 0 0\n")
	first := res(t, mountType{}, "/mnt", resource.Parameters{"device": "shm", "ensure": "present", "pass": int64(2)})
	before := applied(t, k.sys, mountType{}, first)
	// By others: mounted, and with other options.
	k.Set([]string{"/mnt shm tmpfs rw"})
	if err := k.sys.WriteFile("/etc/fstab", []byte("shm /mnt tmpfs size=2m 0 2\n"), system.Attributes{}); err != nil {
		t.Fatal(err)
	}
	undone(t, k.sys, mountType{}, first, before)
	if content, err := k.sys.ReadFile("/etc/fstab"); err != nil || string(content) != "tmpfs\t/mnt\ttmpfs\tsize=2m\t0\t0\n" || len(k.Live()) != 1 {
		t.Errorf("%q, live %v, %v", content, k.Live(), err)
	}

	k = newKernel(t, "tmpfs /mnt tmpfs size=1m 0 0\n")
	before = applied(t, k.sys, mountType{}, first)
	second := res(t, mountType{}, "/mnt", resource.Parameters{"device": "shm", "options": "noexec", "pass": int64(2)})
	before = updated(t, k.sys, mountType{}, second, before)
	if len(k.Live()) != 1 {
		t.Fatalf("not mounted: %v", k.Live())
	}
	undone(t, k.sys, mountType{}, second, before)
	if content, err := k.sys.ReadFile("/etc/fstab"); err != nil || string(content) != "tmpfs /mnt tmpfs size=1m 0 0\n" || len(k.Live()) > 0 {
		t.Errorf("%q, live %v, %v", content, k.Live(), err)
	}
}
