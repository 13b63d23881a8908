package types

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// kernelParameters is a machine whose commands write below /proc/sys, with tabs between words as the kernel shows them.
func kernelParameters(t *testing.T, files map[string]string) *Session {
	var s *Session
	s = wholeMachine(t, files, func(c system.Command) (system.Output, error) {
		file, ok := strings.CutPrefix(c.Argv[1], "of=")
		if c.Argv[0] != "dd" || !ok {
			return noCommand(c)
		}
		if strings.Contains(string(c.Stdin), "bad") {
			return system.Output{Status: 1, Combined: "dd: error writing: Invalid argument\n"}, nil
		}
		shown := strings.Join(strings.Fields(string(c.Stdin)), "\t") + "\n"
		return system.Output{}, os.WriteFile(filepath.Join(s.Root, file), []byte(shown), 0o644)
	})
	return s
}

func TestSysctl(t *testing.T) {
	const forward, ports = "proc/sys/net/ipv4/ip_forward", "proc/sys/net/ipv4/ip_local_port_range"
	dropIn := func(key string) string { return "/etc/sysctl.d/99-zz-slipway-" + key + ".conf" }
	for _, tt := range []struct {
		name, title string
		files       map[string]string
		parameters  resource.Parameters
		diffs       []Difference
		live        map[string]string
		boot        string
	}{
		{"new", "net.ipv4.ip_forward", map[string]string{forward: "0\n"}, resource.Parameters{"value": int64(1)},
			[]Difference{{"value", "0", "1"}, {"persist", "false", "true"}}, map[string]string{forward: "1\n"}, "net.ipv4.ip_forward = 1\n"},
		{"several numbers, however many blanks", "net.ipv4.ip_local_port_range", map[string]string{ports: "32768\t60999\n", "etc/sysctl.d/": ""}, resource.Parameters{"value": "32768   60999"},
			[]Difference{{"persist", "false", "true"}}, map[string]string{ports: "32768\t60999\n"}, "net.ipv4.ip_local_port_range = 32768 60999\n"},
		{"several numbers, others", "net.ipv4.ip_local_port_range", map[string]string{ports: "1\t2\n", "etc/sysctl.d/99-zz-slipway-net.ipv4.ip_local_port_range.conf": "net.ipv4.ip_local_port_range = 3 4\n"},
			resource.Parameters{"value": "3 4"}, []Difference{{"value", "1 2", "3 4"}}, map[string]string{ports: "3\t4\n"}, "net.ipv4.ip_local_port_range = 3 4\n"},
		{"not at boot", "net/ipv4/ip_forward", map[string]string{forward: "0\n"}, resource.Parameters{"value": "1", "persist": false},
			[]Difference{{"value", "0", "1"}}, map[string]string{forward: "1\n"}, ""},
		{"not at boot any more", "net.ipv4.ip_forward", map[string]string{forward: "1\n", "etc/sysctl.d/99-zz-slipway-net.ipv4.ip_forward.conf": "# mine\n"}, resource.Parameters{"value": "1", "persist": false},
			[]Difference{{"persist", "true", "false"}}, map[string]string{forward: "1\n"}, ""},
		{"another value at boot", "net.ipv4.ip_forward", map[string]string{forward: "1\n", "etc/sysctl.d/99-zz-slipway-net.ipv4.ip_forward.conf": "# mine\n"}, resource.Parameters{"value": "1"},
			[]Difference{{"persist", "another value at boot", "this value at boot"}}, map[string]string{forward: "1\n"}, "net.ipv4.ip_forward = 1\n"},
		{"sensitive", "net.ipv4.ip_forward", map[string]string{forward: "4711\n"}, resource.Parameters{"value": "1", "sensitive": true},
			[]Difference{{"value", "4711", "1"}, {"persist", "false", "true"}}, map[string]string{forward: "1\n"}, "net.ipv4.ip_forward = 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := kernelParameters(t, tt.files)
			was := systemtest.Inventory(t, s.Root)
			r := res(t, sysctlType{}, tt.title, tt.parameters)
			s.ID = r.ID()
			diffs, err := sysctlType{}.Check(t.Context(), s, r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.diffs, diffs); diff != "" {
				t.Error(diff)
			}
			before := applied(t, s, sysctlType{}, r)
			if r.Sensitive() && strings.Contains(string(before), "4711") {
				t.Errorf("the ledger would hold %s", before)
			}
			for file, want := range tt.live {
				if got, err := s.ReadFile("/" + file); err != nil || string(got) != want {
					t.Errorf("%s is %q, %v, want %q", file, got, err, want)
				}
			}
			got, err := s.ReadFile(dropIn(tt.title))
			if string(got) != tt.boot || (err != nil) != (tt.boot == "") {
				t.Errorf("at boot %q, %v, want %q", got, err, tt.boot)
			}
			undone(t, s, sysctlType{}, r, before)
			now := systemtest.Inventory(t, s.Root)
			for _, dir := range []string{"/var", "/var/lib"} {
				delete(now, dir)
			}
			if diff := cmp.Diff(was, now); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSysctlRefused(t *testing.T) {
	s := kernelParameters(t, map[string]string{"proc/sys/kernel/x": "0\n"})
	bad := res(t, sysctlType{}, "kernel.x", resource.Parameters{"value": "bad"})
	if err := (sysctlType{}).Apply(t.Context(), s, bad); err == nil || !strings.Contains(err.Error(), "kernel parameter kernel.x: the kernel refuses the value") || !strings.Contains(err.Error(), "Invalid argument") {
		t.Errorf("%v", err)
	}
	if there, err := s.Exists("/etc/sysctl.d"); there || err != nil {
		t.Errorf("what the kernel refuses must not be set at boot: %v", err)
	}
	unknown := res(t, sysctlType{}, "kernel.y", resource.Parameters{"value": "1"})
	if diffs, err := (sysctlType{}).Check(t.Context(), s, unknown); err != nil || len(diffs) != 2 {
		t.Errorf("check: %v, %v", diffs, err)
	}
	if err := (sysctlType{}).Apply(t.Context(), s, unknown); err == nil || !strings.Contains(err.Error(), "the kernel has no parameter kernel.y") {
		t.Errorf("%v", err)
	}
}

func TestSysctlPath(t *testing.T) {
	for key, want := range map[string]string{
		"net.ipv4.ip_forward":               "/proc/sys/net/ipv4/ip_forward",
		"net/ipv4/ip_forward":               "/proc/sys/net/ipv4/ip_forward",
		"net.ipv4.conf.eth0/100.forwarding": "/proc/sys/net/ipv4/conf/eth0.100/forwarding",
		"net/ipv4/conf/eth0.100/forwarding": "/proc/sys/net/ipv4/conf/eth0.100/forwarding",
		"net":                               "", "": "", ".a": "", "a..b": "", "a.": "", "a/../b": "", "../../etc/passwd": "", "a.b c": "", "a.b=c": "", "net.*.x": "",
	} {
		got, err := schema.SysctlPath(key)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", key, got, err)
		}
	}
}

// Debian reads /etc/sysctl.conf as 99-sysctl.conf, and what is read last counts.
func TestSysctlFileIsReadLast(t *testing.T) {
	for _, other := range []string{"/etc/sysctl.d/99-sysctl.conf", "/etc/sysctl.d/90-mine.conf"} {
		if file := sysctlFile("net.ipv4.ip_forward"); file <= other {
			t.Errorf("%s is read before %s", file, other)
		}
	}
}

// What `sysctl --system` reads later counts at boot, too: the later names of its directories, then /etc/sysctl.conf.
func TestSysctlContradictedLater(t *testing.T) {
	const live, own = "proc/sys/net/ipv4/ip_forward", "etc/sysctl.d/99-zz-slipway-net.ipv4.ip_forward.conf"
	for _, tt := range []struct {
		name  string
		files map[string]string
		is    string
	}{
		{"sysctl.conf", map[string]string{"etc/sysctl.conf": "# x\nnet.ipv4.ip_forward=0\n"}, "0 by /etc/sysctl.conf, which is read later"},
		{"a later name", map[string]string{"usr/lib/sysctl.d/zz.conf": "-net/ipv4/ip_forward = 0\n", "etc/sysctl.d/99-a.conf": "net.ipv4.ip_forward = 2\n"}, "0 by /usr/lib/sysctl.d/zz.conf, which is read later"},
		{"the last one agrees", map[string]string{"etc/sysctl.d/zz.conf": "net.ipv4.ip_forward=0\n", "etc/sysctl.conf": "net.ipv4.ip_forward=0\nnet.ipv4.ip_forward=1\n"}, ""},
		{"one that is replaced", map[string]string{"etc/sysctl.d/zz.conf": "\n", "usr/lib/sysctl.d/zz.conf": "net.ipv4.ip_forward=0\n"}, ""},
		{"another name", map[string]string{"etc/sysctl.d/zz": "net.ipv4.ip_forward=0\n", "etc/sysctl.d/zz.conf": "#net.ipv4.ip_forward=0\nnet.ipv4.ip_forwarding=0\n"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{live: "1\n", own: "net.ipv4.ip_forward = 1\n"}
			for name, content := range tt.files {
				files[name] = content
			}
			s := kernelParameters(t, files)
			r := res(t, sysctlType{}, "net.ipv4.ip_forward", resource.Parameters{"value": "1"})
			var want []Difference
			if tt.is != "" {
				want = []Difference{{"persist", tt.is, "1 at boot"}}
			}
			diffs, err := sysctlType{}.Check(t.Context(), s, r)
			if diff := cmp.Diff(want, diffs); err != nil || diff != "" {
				t.Error(err, diff)
			}
			err = sysctlType{}.Apply(t.Context(), s, r)
			if (err != nil) != (tt.is != "") || err != nil && !strings.Contains(err.Error(), tt.is+"; take it out there") {
				t.Errorf("%v", err)
			}
		})
	}
}
