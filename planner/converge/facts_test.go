package converge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// The facts of a machine follow from its files and interfaces, and not from what passes: link-local and temporary
// addresses are left out before, and memory is all that there is.
func TestFactsOfAMachine(t *testing.T) {
	debian := map[string]string{
		"etc/os-release":                "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nID=debian\n",
		"sys/devices/system/cpu/online": "0-2,5\n",
		"proc/meminfo":                  "MemTotal:        2014756 kB\nMemFree:           10000 kB\n",
		"proc/sys/kernel/hostname":      "web1\n",
		"etc/hosts":                     "127.0.0.1 localhost\n# 10.0.0.9 web1.old.example\n10.0.0.5 web1 web1.example.org www\n",
		"proc/cpuinfo":                  "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor sse\n",
		"sys/class/dmi/id/sys_vendor":   "QEMU\n",
		"proc/net/route": "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
			"wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n" +
			"eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n" +
			"eth1\t00000000\t0100000A\t0200\t0\t0\t1\t00000000\t0\t0\t0\n",
	}
	ip := func(b ...byte) []byte { return b }
	six := ip(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5)
	all := []link{
		{name: "lo", loopback: true, addresses: [][]byte{ip(127, 0, 0, 1)}},
		{name: "eth0", mac: "52:54:00:12:34:56", addresses: [][]byte{six, ip(10, 0, 0, 50), ip(10, 0, 0, 5)}},
		{name: "eth1", mac: "52:54:00:12:34:57"},
		{name: "veth1", mac: "52:54:00:12:34:58", made: true},
		{name: "br0", mac: "52:54:00:12:34:59", made: true, addresses: [][]byte{ip(172, 17, 0, 1)}},
	}
	with := func(changes map[string]string) map[string]string {
		out := map[string]string{}
		for name, content := range debian {
			out[name] = content
		}
		for name, content := range changes {
			out[name] = content
		}
		return out
	}
	machine := resource.Facts{
		OS:   resource.OS{Family: "Debian", Name: "Debian", Release: "12", Codename: "bookworm"},
		CPUs: 4, MemoryMiB: 1967, Hostname: "web1", FQDN: "web1.example.org", Virtual: true, Virtualization: "qemu",
		DefaultInterface: "eth0", DefaultAddress: "10.0.0.50", Interfaces: map[string]resource.Interface{
			"eth0": {MAC: "52:54:00:12:34:56", Addresses: []string{"10.0.0.5", "10.0.0.50", "2001:db8::5"}},
			"eth1": {MAC: "52:54:00:12:34:57"},
			"br0":  {MAC: "52:54:00:12:34:59", Addresses: []string{"172.17.0.1"}},
		}}
	changed := func(change func(*resource.Facts)) resource.Facts {
		f := machine
		change(&f)
		return f
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  resource.Facts
	}{
		"virtual machine": {debian, machine},
		"container": {with(map[string]string{"proc/1/environ": "PATH=/bin\x00container=lxc\x00"}),
			changed(func(f *resource.Facts) { f.Virtualization = "lxc" })},
		"container of systemd": {with(map[string]string{"run/systemd/container": "docker\n"}),
			changed(func(f *resource.Facts) { f.Virtualization = "docker" })},
		"physical machine of a cloud": {with(map[string]string{"proc/cpuinfo": "vendor_id\t: GenuineIntel\nflags\t\t: fpu\n",
			"sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}),
			changed(func(f *resource.Facts) { f.Virtual, f.Virtualization = false, "" })},
		"virtual machine that nobody knows": {with(map[string]string{"sys/class/dmi/id/sys_vendor": "ACME\n"}),
			changed(func(f *resource.Facts) { f.Virtualization = "vm-other" })},
		"another system, without IPv4": {with(map[string]string{"proc/net/route": "",
			"etc/os-release":           "ID=\"newos\"\nID_LIKE=\"rhel fedora\"\nVERSION_ID=3\n",
			"proc/sys/kernel/hostname": "a.b.example",
			"proc/net/ipv6_route": strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth0\n" +
				strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200 lo\n"}),
			changed(func(f *resource.Facts) {
				f.OS, f.Hostname, f.FQDN = resource.OS{Family: "RedHat", Name: "newos", Release: "3"}, "a", "a.b.example"
			})},
		"nothing can be read": {nil, resource.Facts{Interfaces: machine.Interfaces}},
	} {
		root := t.TempDir()
		for path, content := range tt.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got := gather(root, "", all).Bounded()
		got.Architecture = ""
		if diff := cmp.Diff(&tt.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
