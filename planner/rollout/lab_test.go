package rollout

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// A restart goes through on a real node, once, inside one lock window, and what comes after it runs on the node that is
// back.
func TestLabRestart(t *testing.T) {
	n := lab.Borrow(t)
	for _, user := range []string{"root", "slipway"} {
		sudo := user != "root"
		node := site.Node{Name: n.Name, Address: n.Address, Connection: site.Connection{
			User: user, Sudo: &sudo, PrivateKeyFile: n.Lab.State("id_ed25519"), KnownHostsFile: n.Lab.State(
				"known_hosts"),
		}}
		bootID := func() string { return strings.TrimSpace(n.On(t, "cat /proc/sys/kernel/random/boot_id")) }
		const trace = "/var/tmp/slipway-restart"
		n.On(t, "rm -rf /var/lib/slipway "+trace)
		before := bootID()

		act := func(typ, title string, p resource.Parameters) converge.Item {
			r := resource.Resource{Type: typ, Title: title, Parameters: p}
			return converge.Item{Resource: r, Digest: resource.Digest(r)}
		}
		note := func(what string) resource.Parameters {
			return resource.Parameters{"command": "./note " + what,
				"files": map[string]any{"note": "IyEvYmluL3NoCmVjaG8gIiQxICQoY2F0IC9wcm9jL3N5cy9rZXJuZWwvcmFuZG9tL2Jvb3RfaWQpIiA+Pi92YXIvdG1wL3NsaXB3YXktcmVzdGFydAo="}}
		}
		items := []converge.Item{
			act("shell", "p/before", note("before")),
			act("reboot", "p/restart", resource.Parameters{"timeout": int64(60)}),
			act("shell", "p/after", note("after")),
		}
		e := NewInProcess()
		begun := time.Now()
		var results []converge.Result
		summary, err := e.Converge(t.Context(), node, converge.Manifest{
			Protocol: converge.Protocol, Site: "lab", Run: "r1", Mode: converge.Apply, Items: items, Needs: []string{"sh", "systemctl"},
			Lock: "echo lock >>" + trace, Unlock: "echo unlock >>" + trace,
		}, func(r converge.Result) { results = append(results, r) })
		if err != nil {
			t.Fatal(err)
		}
		after := bootID()
		if before == after || summary.BootID != after || summary.Locked {
			t.Errorf("boot id before %s, after %s; summary %+v", before, after, summary)
		}
		for i, item := range items {
			if i >= len(results) || results[i].ID != item.ID() || results[i].Status != converge.Changed ||
				summary.Ledger[item.ID()] != item.Digest {
				t.Fatalf("results %+v, ledger %v", results, summary.Ledger)
			}
		}
		if got, want := n.On(t, "cat "+trace), "lock\nbefore "+before+"\nafter "+after+"\nunlock\n"; got != want {
			t.Errorf("traces %q, want %q", got, want)
		}
		t.Logf("%s: %s, of which the restart %d ms", user, time.Since(begun).Round(time.Millisecond), results[1].Millis)

		// A node that lacks a program is not touched, and a second look finds nothing to do.
		if _, err := e.Converge(t.Context(), node,
			converge.Manifest{Protocol: converge.Protocol, Site: "lab", Run: "r2", Mode: converge.Prepare,
				Needs: []string{"puppet"}}, nil); err == nil ||
			!strings.Contains(err.Error(), "the program puppet is not on the node") {
			t.Errorf("needs: %v", err)
		}
		results = nil
		if _, err := e.Converge(t.Context(), node,
			converge.Manifest{Protocol: converge.Protocol, Site: "lab", Run: "r2", Mode: converge.Check, Items: items},
			func(r converge.Result) { results = append(results, r) }); err != nil {
			t.Error(err)
		}
		for _, r := range results {
			if r.Status != converge.Unchanged {
				t.Errorf("%+v", r)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What a controller that is gone asked for is finished by the next one, without a second restart.
func TestLabRestartWithoutItsController(t *testing.T) {
	n := lab.Borrow(t)
	node := site.Node{Name: n.Name, Address: n.Address, Connection: site.Connection{
		User: "root", PrivateKeyFile: n.Lab.State("id_ed25519"), KnownHostsFile: n.Lab.State("known_hosts"),
	}}
	n.On(t, "rm -rf /var/lib/slipway")
	r := resource.Resource{Type: "reboot", Title: "p/restart", Parameters: resource.Parameters{"timeout": int64(60)}}
	c := converge.Manifest{Protocol: converge.Protocol, Site: "lab", Run: "r1", Mode: converge.Apply,
		Items: []converge.Item{{Resource: r, Digest: resource.Digest(r)}}}
	run := func(ctx context.Context) (summary converge.Summary, results []converge.Result, err error) {
		e := NewInProcess()
		defer func() { err = errors.Join(err, e.Close()) }()
		summary, err = e.Converge(ctx, node, c, func(r converge.Result) { results = append(results, r) })
		return
	}
	const bootID = "cat /proc/sys/kernel/random/boot_id"
	asked := n.On(t, bootID)
	// changed waits until the boot id, which is empty while the node is away, is another one.
	changed := func(from ...string) (id string) {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
			out, _ := n.Command(bootID).Output()
			if id = string(out); !slices.Contains(from, id) {
				break
			}
		}
		return id
	}
	ctx, cancel := context.WithCancel(t.Context())
	var polling sync.WaitGroup
	polling.Go(func() { defer cancel(); changed(asked) })
	_, results, err := run(ctx)
	polling.Wait()
	var failed *converge.SessionError
	if !errors.As(err, &failed) || failed.Code != converge.CodeLost || len(results) > 0 {
		t.Fatalf("results %+v, error %v", results, err)
	}
	after := changed(asked, "")
	c.Run = "r2"
	summary, results, err := run(t.Context())
	if err != nil || len(results) != 1 || results[0].Status != converge.Changed || asked == after ||
		summary.BootID != strings.TrimSpace(after) {
		t.Errorf("boot ids %q, %q; summary %+v, results %+v, error %v", asked, after, summary, results, err)
	}
}
