package converge

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// A node's identity comes with every summary: the same in every session and through every spelling of its root; a copy of its folder has the
// ledger's id and the host's ids and is another machine all the same.
func TestIdentity(t *testing.T) {
	b := newBench(t)
	if _, fresh := b.converge(Check); fresh.Identity.Ledger != "" || fresh.Identity.Boot == "" || fresh.Identity.Root == "" {
		t.Errorf("a node without ledger is %+v", fresh.Identity)
	}
	_, first := b.converge(Apply, item("plain[a]", "value", "1"))
	_, again := b.converge(Apply, item("plain[a]", "value", "2"))
	if !reflect.DeepEqual(first.Identity, again.Identity) || first.Identity.Ledger == "" || !first.Identity.Same(again.Identity) {
		t.Errorf("one node is %+v, then %+v", first.Identity, again.Identity)
	}

	link, other := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "copy")
	if err := os.Symlink(b.Root, link); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(other, os.DirFS(b.Root)); err != nil {
		t.Fatal(err)
	}
	for root, same := range map[string]bool{link: true, other: false} {
		s, err := system.New(root)
		if err != nil {
			t.Fatal(err)
		}
		id := Run(t.Context(), s, Manifest{Protocol: Protocol, Site: "one", Mode: Check}, func(Result) {}).Identity
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if id.Same(first.Identity) != same || id.Ledger != first.Identity.Ledger || id.Machine != first.Identity.Machine || !id.MayBe(first.Identity) {
			t.Errorf("%s is %+v, the node %+v: want same machine = %t", root, id, first.Identity, same)
		}
	}
}

func TestIdentitiesOfMachines(t *testing.T) {
	m := Identity{Ledger: "l", Machine: "m", Boot: "b", Root: "1:2"}
	with := func(change func(*Identity)) Identity {
		i := m
		change(&i)
		return i
	}
	for name, tt := range map[string]struct {
		other       Identity
		same, maybe bool
	}{
		"itself":                  {m, true, true},
		"its ledger was lost":     {with(func(i *Identity) { i.Ledger = "other" }), true, true},
		"restarted, or a copy":    {with(func(i *Identity) { i.Boot = "c" }), false, true},
		"another folder, copied":  {with(func(i *Identity) { i.Root = "1:3" }), false, true},
		"of the same image":       {with(func(i *Identity) { i.Boot, i.Ledger = "c", "k" }), false, false},
		"of the same image, new":  {with(func(i *Identity) { i.Boot, i.Ledger = "c", "" }), false, true},
		"another machine, new":    {with(func(i *Identity) { i.Boot, i.Ledger, i.Machine = "c", "", "n" }), false, false},
		"what nobody knows":       {Identity{}, false, true},
		"without a boot id":       {with(func(i *Identity) { i.Boot = "" }), false, true},
		"too long to be an id":    {Identity{Boot: strings.Repeat("b", 65), Root: "1:2"}.Bounded(), false, true},
		"another one without all": {Identity{Machine: "n"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if same, maybe := m.Same(tt.other), m.MayBe(tt.other); same != tt.same || maybe != tt.maybe {
				t.Errorf("same %t, may be %t; want %t, %t", same, maybe, tt.same, tt.maybe)
			}
			if m.Same(tt.other) != tt.other.Same(m) || m.MayBe(tt.other) != tt.other.MayBe(m) {
				t.Error("the order counts")
			}
		})
	}
	if nobody := (Identity{Machine: "m"}); nobody.Same(nobody) {
		t.Error("without boot id and root nothing is known to be one machine")
	}
}
