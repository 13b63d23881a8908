package types

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// swapNode is a node whose kernel swaps on areas, each `file priority`.
type swapNode struct {
	*Session
	t     *testing.T
	calls []string
}

func newSwapNode(t *testing.T, fstab string, areas ...string) *swapNode {
	n := &swapNode{t: t}
	n.Session = wholeMachine(t, map[string]string{"etc/fstab": fstab, "swapfile": "", "dev/sda2": "",
		"dev/disk/by-uuid/": "", "proc/self/mountinfo": "", "proc/swaps": ""}, n.run)
	if err := os.Symlink("../../sda2", n.Root+"/dev/disk/by-uuid/1-2"); err != nil {
		t.Fatal(err)
	}
	n.set(areas)
	return n
}

func (n *swapNode) set(areas []string) {
	text := "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
	for _, a := range areas {
		f := strings.Fields(a)
		text += fmt.Sprintf("%-40s%s\t\t%d\t\t%d\t\t%s\n", f[0], "partition", 1048572, 0, f[1])
	}
	if err := os.WriteFile(n.Root+swapsPath, []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

func (n *swapNode) areas() (areas []string) {
	content, err := os.ReadFile(n.Root + swapsPath)
	if err != nil {
		n.t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(content)), "\n")[1:] {
		f := strings.Fields(line)
		areas = append(areas, f[0]+" "+f[4])
	}
	return areas
}

func (n *swapNode) run(c system.Command) (system.Output, error) {
	n.calls = append(n.calls, strings.Join(c.Argv, " "))
	device, areas := c.Argv[len(c.Argv)-1], n.areas()
	switch c.Argv[0] {
	case "swapon":
		priority := "-2"
		if i := slices.Index(c.Argv, "-p"); i > 0 {
			priority = c.Argv[i+1]
		}
		n.set(append(areas, device+" "+priority))
	case "swapoff":
		n.set(slices.DeleteFunc(areas, func(a string) bool { return strings.HasPrefix(a, device+" ") }))
	}
	return system.Output{}, nil
}

// Swap is a line of fstab and what the kernel swaps on; undo brings both back.
func TestMountOfSwap(t *testing.T) {
	const line = "/swapfile\tnone\tswap\tdefaults\t0\t0\n"
	given := func(more ...string) resource.Parameters {
		p := resource.Parameters{"device": "/swapfile", "fstype": "swap"}
		for i := 0; i < len(more); i += 2 {
			p[more[i]] = more[i+1]
		}
		return p
	}
	for name, tt := range map[string]struct {
		fstab      string
		areas      []string
		parameters resource.Parameters
		diffs      []Difference
		want       string
		wantAreas  []string
		calls      []string
	}{
		"new": {systemtest.RootFstab, nil, given(), []Difference{{"ensure", "absent", "mounted"}}, systemtest.RootFstab + line, []string{"/swapfile -2"}, []string{"swapon /swapfile"}},
		"only in fstab": {systemtest.RootFstab, nil, given("ensure", "present"), []Difference{{"ensure", "absent", "present"}}, systemtest.RootFstab + line, nil,
			nil},
		"not in use":      {line, nil, given(), []Difference{{"ensure", "unmounted", "mounted"}}, line, []string{"/swapfile -2"}, []string{"swapon /swapfile"}},
		"as it should be": {line, []string{"/swapfile -2"}, given(), nil, line, []string{"/swapfile -2"}, nil},
		"not to be used": {line, []string{"/swapfile -2", "/dev/sda2 5"}, given("ensure", "unmounted"), []Difference{{"ensure", "mounted", "unmounted"}},
			line, []string{"/dev/sda2 5"}, []string{"swapoff /swapfile"}},
		"absent": {systemtest.RootFstab + line, []string{"/swapfile 3"}, given("ensure", "absent"), []Difference{{"ensure", "mounted", "absent"}}, systemtest.RootFstab, nil, []string{"swapoff /swapfile"}},
		"priority": {line, []string{"/swapfile -2"}, given("options", "pri=7,discard=once"), []Difference{{"options", "defaults", "pri=7,discard=once"}},
			strings.Replace(line, "defaults", "pri=7,discard=once", 1), []string{"/swapfile 7"}, []string{"swapoff /swapfile", "swapon -p 7 -donce /swapfile"}},
		"priority by hand": {strings.Replace(line, "defaults", "pri=7", 1), []string{"/swapfile 3"}, given("options", "pri=7"),
			[]Difference{{"options", "pri=3", "pri=7"}}, strings.Replace(line, "defaults", "pri=7", 1), []string{"/swapfile 7"},
			[]string{"swapoff /swapfile", "swapon -p 7 /swapfile"}},
		"other options": {line, []string{"/swapfile -2"}, given("options", "nofail"), []Difference{{"options", "defaults", "nofail"}},
			strings.Replace(line, "defaults", "nofail", 1), []string{"/swapfile -2"}, nil},
		"by UUID, beside another": {line, []string{"/swapfile -2"}, given("device", "UUID=1-2"), []Difference{{"ensure", "absent", "mounted"}},
			line + "UUID=1-2\tnone\tswap\tdefaults\t0\t0\n", []string{"/swapfile -2", "/dev/sda2 -2"}, []string{"swapon /dev/sda2"}},
		"by UUID, in use": {line + "UUID=1-2\tnone\tswap\tdefaults\t0\t0\n", []string{"/dev/sda2 -2"}, given("device", "UUID=1-2"), nil,
			line + "UUID=1-2\tnone\tswap\tdefaults\t0\t0\n", []string{"/dev/sda2 -2"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := newSwapNode(t, tt.fstab, tt.areas...)
			was, areas := systemtest.Inventory(t, n.Root), n.areas()
			r := res(t, mountType{}, "swap", tt.parameters)
			diffs, err := mountType{}.Check(t.Context(), n.Session, r)
			if d := cmp.Diff(tt.diffs, diffs); err != nil || d != "" {
				t.Fatalf("%v\n%s", err, d)
			}
			before := applied(t, n.Session, mountType{}, r)
			if got, err := n.ReadFile("/etc/fstab"); err != nil || string(got) != tt.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, tt.want)
			}
			if d := cmp.Diff(tt.wantAreas, n.areas()) + cmp.Diff(tt.calls, n.calls); d != "" {
				t.Error(d)
			}
			if err := (mountType{}).Refresh(t.Context(), n.Session, r); err != nil || len(n.calls) != len(tt.calls) {
				t.Errorf("a refresh ran %v, %v", n.calls[len(tt.calls):], err)
			}
			undone(t, n.Session, mountType{}, r, before)
			slices.Sort(areas)
			now := n.areas()
			slices.Sort(now)
			if d := cmp.Diff(areas, now); d != "" {
				t.Error(d)
			}
			delete(was, swapsPath) // areas in another order
			is := systemtest.Inventory(t, n.Root)
			delete(is, swapsPath)
			if d := cmp.Diff(was, is); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestErrorsOfSwap(t *testing.T) {
	n := newSwapNode(t, "")
	r := res(t, mountType{}, "swap", resource.Parameters{"device": "/missing", "fstype": "swap"})
	if err := (mountType{}).Apply(t.Context(), n.Session, r); err == nil || !strings.Contains(err.Error(),
		"swap on /missing: it is not there; make it first, with mkswap, and require that") {
		t.Error(err)
	}
	for _, ensure := range []string{"mounted", "absent"} {
		errs := (mountType{}).Schema().Validate(resource.Resource{Type: "mount", Title: "swap",
			Parameters: resource.Parameters{"fstype": "swap", "ensure": ensure}})
		if len(errs) != 1 || errs[0].Attribute != "device" || !strings.HasPrefix(errs[0].Message, `is required with fstype = "swap"`) {
			t.Errorf("the errors are %v", errs)
		}
	}
}
