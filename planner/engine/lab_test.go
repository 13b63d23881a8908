package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// A node restarts once, is back afterwards, and its ledger has nothing of it.
func TestLabReboot(t *testing.T) {
	n := lab.Borrow(t)
	s := site.Site{Name: "reboot", Nodes: []site.Node{{Name: n.Name, Address: n.Address, Connection: site.Connection{
		PrivateKeyFile: n.Lab.State("id_ed25519"), KnownHostsFile: n.Lab.State("known_hosts")}}}}
	location := journal.Location{Path: t.TempDir()}
	e := engine.Engine{Journals: location, Executor: func() rollout.Executor { return rollout.NewInProcess() }, Now: time.Now}
	boot := func() string { return n.On(t, "cat /proc/sys/kernel/random/boot_id; touch /run/before") }
	was := boot()
	var back []string
	m := e.Reboot(t.Context(), s, []string{n.Name}, 2*time.Minute, engine.Settings{}, func(node string) { back = append(back, node) })
	if m.Failed() || len(back) != 1 {
		t.Fatalf("%v, back are %q", m, back)
	}
	if n.Command("test -e /run/before").Run() == nil {
		t.Errorf("the node did not restart: its boot id was %s", was)
	}
	if left := n.On(t, "cat /var/lib/slipway/ledger* 2>/dev/null || true"); strings.Contains(left, "reboot[") {
		t.Errorf("the ledger has the restart: %s", left)
	}
	store, err := location.OpenExisting(t.Context(), s.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	runs, err := store.Runs(t.Context(), 10)
	if err != nil || len(runs) != 1 || runs[0].Operation != engine.Reboot || runs[0].Status != "succeeded" {
		t.Errorf("the journal has %v, %v", runs, err)
	}
}
