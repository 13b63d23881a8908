package converge

import (
	"net"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// What the kernel says of the interfaces of this machine is what package net says, and two looks say the same. A
// sandbox has the facts of its machine, and its own operating system.
func TestFactsOfThisMachine(t *testing.T) {
	b := newBench(t)
	f := facts(b.System).Bounded()
	if diff := cmp.Diff(f, facts(b.System).Bounded()); diff != "" {
		t.Errorf("two looks differ:\n%s", diff)
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Interfaces) == 0 && len(interfaces) > 1 {
		t.Errorf("no interfaces among %v", interfaces)
	}
	for _, i := range interfaces {
		got, listed := f.Interfaces[i.Name]
		if !listed {
			continue
		}
		if got.MAC != i.HardwareAddr.String() {
			t.Errorf("%s has the address %q, want %q", i.Name, got.MAC, i.HardwareAddr)
		}
		addresses, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addresses {
			if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil &&
				!slices.Contains(got.Addresses, ip.IP.String()) {
				t.Errorf("%s has %v, want %s among them", i.Name, got.Addresses, ip.IP)
			}
		}
	}
	if f.Architecture == "" || f.CPUs < int64(runtime.NumCPU()) || f.MemoryMiB < 64 || f.Hostname == "" || f.OS.Name == "" {
		t.Errorf("the facts are %+v", f)
	}
	b.put("/etc/os-release", "ID=alpine\nVERSION_ID=3.20.1\n")
	if got, want := facts(b.System).OS, (resource.OS{Family: "Alpine", Name: "Alpine", Release: "3.20.1"}); got != want {
		t.Errorf("the sandbox has %+v, want %+v", got, want)
	}
	for _, tt := range [][2]string{{"none"}, {"openrc", "/run/openrc/x"}, {"systemd", "/run/systemd/system/x"}} {
		if tt[1] != "" {
			b.put(tt[1], "")
		}
		if got := facts(b.System).ServiceProvider; got != tt[0] {
			t.Errorf("with %s it is run by %q, want %q", tt[1], got, tt[0])
		}
	}
}

// BenchmarkFacts is what the facts cost each session.
func BenchmarkFacts(b *testing.B) {
	release, _ := os.ReadFile("/etc/os-release")
	for b.Loop() {
		gather("/", string(release), links())
	}
}
