package types

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// filesNode is a node whose kernel and systemd do what commands say. systemd has read what the unit files had then.
func filesNode(t *testing.T, r *recorder, files map[string]string) *Session {
	t.Helper()
	all := map[string]string{
		"etc/systemd/system/": "", "run/systemd/system/": "", "proc/sys/kernel/hostname": "old\n",
		"proc/sys/kernel/osrelease": "6.1\n", "sys/module/": "", "etc/": "",
		"lib/modules/6.1/modules.builtin": "kernel/net/ipv4/tcp-cubic.ko\n",
	}
	for name, content := range files {
		all[name] = content
	}
	var s *Session
	onDisk := func(name, content string) {
		if err := os.WriteFile(filepath.Join(s.Root, name), []byte(content), 0o644); err != nil {
			t.Error(err)
		}
	}
	read := ""
	units := func() string {
		text := ""
		all := systemtest.Inventory(t, s.Root)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if strings.HasPrefix(name, "/etc/systemd/") && strings.HasPrefix(all[name], "-") {
				text += name + all[name]
			}
		}
		return text
	}
	s = wholeMachine(t, all, func(c system.Command) (system.Output, error) {
		line := strings.Join(c.Argv, " ")
		out, err := r.Run(c)
		switch {
		case c.Argv[0] == "hostname":
			onDisk("proc/sys/kernel/hostname", c.Argv[1]+"\n")
		case strings.HasPrefix(line, "modprobe -- "):
			if c.Argv[2] != "tcp_cubic" && c.Argv[2] != "broken" {
				onDisk("sys/module/"+c.Argv[2], "")
			}
		case strings.HasPrefix(line, "modprobe -r -- "):
			_ = os.Remove(filepath.Join(s.Root, "sys/module", c.Argv[3]))
		case line == "systemctl daemon-reload":
			read = units()
		case strings.HasPrefix(line, "systemctl show") && len(out.Stdout) == 0:
			answer := "NeedDaemonReload=no\n"
			if read != units() {
				answer = "NeedDaemonReload=yes\n"
			}
			return systemtest.Prints(answer), nil
		}
		return out, err
	})
	read = units()
	return s
}

// reloads is what systemd is asked for at each change and undo.
func reloads(n int) []string { return slices.Repeat([]string{"systemctl daemon-reload"}, n) }

// Each type that consists of files is applied, changed by hand, repaired and undone.
func TestFilesTypes(t *testing.T) {
	const unit = "/etc/systemd/system/"
	for name, tt := range map[string]struct {
		typ, title string
		parameters resource.Parameters
		there      map[string]string
		diffs      string
		files      map[string]string // path -> content
		ran        []string          // what changes something
		tamper     func(s *Session)
		drift      string
	}{
		"hostname": {
			"hostname", "web1.example.com", nil, map[string]string{"etc/hostname": "old\n"},
			"content is {sha256}01d09d19, should be {sha256}29e470b9; hostname is old, should be web1.example.com",
			map[string]string{"/etc/hostname": "web1.example.com\n"}, []string{"hostname web1.example.com", "hostname web1.example.com", "hostname old"},
			func(s *Session) { write(t, s, "/proc/sys/kernel/hostname", "other\n") }, "hostname is other, should be web1.example.com",
		},
		"hostname without a file": {
			"hostname", "n", resource.Parameters{"hostname": "web1"}, nil, "ensure is absent, should be file; hostname is old, should be web1",
			map[string]string{"/etc/hostname": "web1\n"}, []string{"hostname web1", "hostname old"},
			func(s *Session) { write(t, s, "/etc/hostname", "other\n") }, "content is {sha256}7e4fa2eb, should be {sha256}d61d5fc4",
		},
		"module": {
			"kernel_module", "br-netfilter", nil, nil, "ensure is absent, should be file; loaded is not loaded, should be loaded",
			map[string]string{"/etc/modules-load.d/slipway-br_netfilter.conf": "br_netfilter\n"},
			[]string{"modprobe -- br_netfilter", "modprobe -- br_netfilter", "modprobe -r -- br_netfilter"},
			func(s *Session) { _ = os.Remove(s.Root + "/sys/module/br_netfilter") }, "loaded is not loaded, should be loaded",
		},
		"module with options, loaded before": {
			"kernel_module", "bonding", resource.Parameters{"options": []any{"mode=1", "miimon=100"}}, map[string]string{"sys/module/bonding": ""},
			"ensure is absent, should be file; /etc/modprobe.d/slipway-bonding.conf: ensure is absent, should be file",
			map[string]string{"/etc/modules-load.d/slipway-bonding.conf": "bonding\n", "/etc/modprobe.d/slipway-bonding.conf": "options bonding mode=1 miimon=100\n"}, nil,
			func(s *Session) { write(t, s, "/etc/modprobe.d/slipway-bonding.conf", "") }, "/etc/modprobe.d/slipway-bonding.conf: content is {sha256}e3b0c442, should be {sha256}5fb5e1fb",
		},
		"module that is forbidden": {
			"kernel_module", "cramfs", resource.Parameters{"ensure": "absent"}, map[string]string{"sys/module/cramfs": ""},
			"/etc/modprobe.d/slipway-cramfs.conf: ensure is absent, should be file; loaded is loaded, should be not loaded",
			map[string]string{"/etc/modprobe.d/slipway-cramfs.conf": "blacklist cramfs\ninstall cramfs /bin/false\n"}, []string{"modprobe -r -- cramfs", "modprobe -r -- cramfs", "modprobe -- cramfs"},
			func(s *Session) { write(t, s, "/sys/module/cramfs", "") }, "loaded is loaded, should be not loaded",
		},
		"module built in": {
			"kernel_module", "tcp_cubic", nil, nil, "ensure is absent, should be file",
			map[string]string{"/etc/modules-load.d/slipway-tcp_cubic.conf": "tcp_cubic\n"}, nil,
			func(s *Session) { _ = os.Remove(s.Root + "/etc/modules-load.d/slipway-tcp_cubic.conf") }, "ensure is absent, should be file",
		},
		"unit": {
			"systemd_unit", "app.service", resource.Parameters{"content": "[Service]\n"}, nil, "ensure is absent, should be file",
			map[string]string{unit + "app.service": "[Service]\n"}, reloads(6),
			func(s *Session) { write(t, s, unit+"app.service", "by hand") }, "content is {sha256}c9616cb5, should be {sha256}40d8baaa; read is systemd has an earlier form, should be empty",
		},
		"drop-in": {
			"systemd_unit", "limits", resource.Parameters{"unit": "app@.service", "filename": "limits.conf", "content": "[Service]\n"}, map[string]string{"etc/systemd/system/app@.service": "x"},
			"ensure is absent, should be file",
			map[string]string{unit + "app@.service.d/limits.conf": "[Service]\n"}, reloads(6),
			func(s *Session) { _ = os.RemoveAll(s.Root + unit + "app@.service.d") }, "ensure is absent, should be file; read is systemd has an earlier form, should be empty",
		},
		"unit to be absent": {
			"systemd_unit", "app.service", resource.Parameters{"ensure": "absent"}, map[string]string{"etc/systemd/system/app.service": "x"}, "ensure is file, should be absent",
			map[string]string{unit + "app.service": "-"}, reloads(6),
			func(s *Session) { write(t, s, unit+"app.service", "by hand") }, "ensure is file, should be absent; read is systemd has an earlier form, should be empty",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &recorder{}
			s := filesNode(t, rec, tt.there)
			was := systemtest.Inventory(t, s.Root)
			typ := filesType{name: tt.typ}
			if tt.parameters == nil {
				tt.parameters = resource.Parameters{}
			}
			r := res(t, typ, tt.title, tt.parameters)
			s.ID = r.ID()
			differs := func(want string) {
				t.Helper()
				diffs, err := typ.Check(t.Context(), s, r)
				var texts []string
				for _, d := range diffs {
					texts = append(texts, d.String())
				}
				if got := strings.Join(texts, "; "); err != nil || got != want {
					t.Errorf("differs: %s, %v\nwant     %s", got, err, want)
				}
			}
			differs(tt.diffs)
			before := applied(t, s, typ, r)
			now := systemtest.Inventory(t, s.Root)
			for at, content := range tt.files {
				if is, err := s.ReadFile(at); content != "-" && (err != nil || string(is) != content) || content == "-" && now[at] != "" {
					t.Errorf("%s: %q, %v", at, is, err)
				}
			}
			tt.tamper(s)
			s.Forget()
			differs(tt.drift)
			before = updated(t, s, typ, r, before)

			// A run that is taken back brings the state of its start.
			s.Image = "run"
			image, err := typ.Image(t.Context(), s, r.Title, before)
			if err != nil {
				t.Fatal(err)
			}
			s.Image = ""
			repaired := systemtest.Inventory(t, s.Root)
			for _, f := range filesTypes[tt.typ].files(r) { // the run removes it with its directory
				if dir := filepath.Dir(f.Title); strings.HasSuffix(dir, ".d") {
					_ = os.RemoveAll(s.Root + dir)
				}
			}
			undone(t, s, typ, r, image)
			if diff := cmp.Diff(repaired, systemtest.Inventory(t, s.Root)); diff != "" {
				t.Errorf("image: %s", diff)
			}

			undone(t, s, typ, r, before)
			now = systemtest.Inventory(t, s.Root)
			delete(now, "/var")
			delete(now, "/var/lib")
			if diff := cmp.Diff(was, now); diff != "" {
				t.Error(diff)
			}
			var ran []string
			for _, line := range rec.Ran {
				if !strings.HasPrefix(line, "systemctl show") {
					ran = append(ran, line)
				}
			}
			if diff := cmp.Diff(tt.ran, ran); diff != "" {
				t.Errorf("commands: %s", diff)
			}
		})
	}
}

func write(t *testing.T, s *Session, at, content string) {
	t.Helper()
	if err := s.WriteFile(at, []byte(content), system.Attributes{}); err != nil {
		t.Error(err)
	}
}

// Options that come and go change the file that slipway made for them, and unload nothing.
func TestModuleOptionsThatGo(t *testing.T) {
	rec := &recorder{}
	s := filesNode(t, rec, nil)
	was := systemtest.Inventory(t, s.Root)
	typ := filesType{name: "kernel_module"}
	without := res(t, typ, "bonding", resource.Parameters{})
	before := applied(t, s, typ, without)
	before = updated(t, s, typ, res(t, typ, "bonding", resource.Parameters{"options": "mode=1"}), before)
	before = updated(t, s, typ, without, before)
	if there, err := s.Exists("/etc/modprobe.d/slipway-bonding.conf"); there || err != nil {
		t.Errorf("%t, %v", there, err)
	}
	rec.WantRan(t, "modprobe -- bonding")
	undone(t, s, typ, without, before)
	now := systemtest.Inventory(t, s.Root)
	if diff := cmp.Diff(was, now); diff != "" {
		t.Error(diff)
	}
}

// What fails says which module and what the tool printed, and is tried again.
func TestModuleErrors(t *testing.T) {
	rec := &recorder{Answers: map[string]system.Output{"modprobe -- nothing": {Status: 1, Combined: "modprobe: FATAL: Module nothing not found in directory /lib/modules/6.1\n"}}}
	s := filesNode(t, rec, nil)
	typ := filesType{name: "kernel_module"}
	for title, want := range map[string]string{
		"nothing": "kernel module nothing: modprobe ended with status 1: modprobe: FATAL: Module nothing not found in directory /lib/modules/6.1",
		"broken":  "kernel module broken: modprobe -- broken succeeded, and it is not loaded; the kernel may have it built in",
	} {
		if title == "nothing" {
			_ = os.Remove(s.Root + "/sys/module/nothing")
		}
		r := res(t, typ, title, resource.Parameters{})
		if err := typ.Apply(t.Context(), s, r); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Below the root of a sandbox there is no systemd to read the files.
func TestUnitInASandbox(t *testing.T) {
	s := folder(t, map[string]string{"etc/": "", "run/systemd/system/": ""})
	if _, err := s.MAC("", ""); err != nil { // its key stays until slipway leaves the node
		t.Fatal(err)
	}
	was := systemtest.Inventory(t, s.Root)
	typ := filesType{name: "systemd_unit"}
	r := res(t, typ, "app.service", resource.Parameters{"content": "x", "sensitive": true})
	before := applied(t, s, typ, r)
	if info, err := s.Lstat("/etc/systemd/system/app.service"); err != nil || info.Mode.Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode, err)
	}
	undone(t, s, typ, r, before)
	if diff := cmp.Diff(was, systemtest.Inventory(t, s.Root)); diff != "" {
		t.Error(diff)
	}
	if _, err := decode[*filesBefore]([]byte(`{"path":"/x","type":"other","files":[]}`)); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("a damaged record: %v", err)
	}
}

func TestFilesTypesRefuse(t *testing.T) {
	for _, tt := range []struct {
		typ, title   string
		parameters   resource.Parameters
		wrong, error string
	}{
		{"hostname", "a_b", nil, "hostname", "is not the name of a node"},
		{"hostname", "x", resource.Parameters{"hostname": "-a"}, "hostname", "is not the name of a node"},
		{"hostname", strings.Repeat("a", 65), nil, "hostname", "at most 64"},
		{"hostname", "a..b", nil, "hostname", "is not the name of a node"},
		{"kernel_module", "../x", nil, "title", "is not the name of a kernel module"},
		{"kernel_module", "x", resource.Parameters{"options": "a"}, "options", "NAME=VALUE"},
		{"kernel_module", "x", resource.Parameters{"options": "a=1\nb=2"}, "options", "NAME=VALUE"},
		{"kernel_module", "x", resource.Parameters{"ensure": "absent", "options": "a=1"}, "options", "does not go with"},
		{"systemd_unit", "app", resource.Parameters{"content": ""}, "unit", "with its suffix"},
		{"systemd_unit", "../app.service", resource.Parameters{"content": ""}, "unit", "with its suffix"},
		{"systemd_unit", "app.service", nil, "content", "required"},
		{"systemd_unit", "app.service", resource.Parameters{"content": "", "filename": "a"}, "filename", "limits.conf"},
		{"systemd_unit", "app.service", resource.Parameters{"content": "", "filename": "../a.conf"}, "filename", "limits.conf"},
	} {
		errs := filesType{name: tt.typ}.Schema().Validate(resource.Resource{Type: tt.typ, Title: tt.title, Parameters: tt.parameters})
		if len(errs) != 1 || errs[0].Attribute != tt.wrong || !strings.Contains(errs[0].Message, tt.error) {
			t.Errorf("%s[%s] %v: %v, want %s: %s", tt.typ, tt.title, tt.parameters, errs, tt.wrong, tt.error)
		}
	}
}
