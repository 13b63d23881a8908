package workers

import (
	"strings"
	"syscall"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// ofZone makes a worker have the key of its zone and nothing else.
func (c *cluster) ofZone(zone string) setting { return variable("SLIPWAY_KEY", c.keyOf(zone)) }

// keyOf returns the key of a zone, as `key --zone` prints it.
func (c *cluster) keyOf(zone string) string {
	c.t.Helper()
	keys, err := encryption.Parse(c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	key, err := keys.ForZone(zone)
	if err != nil {
		c.t.Fatal(err)
	}
	return key
}

// Nodes are served by the workers of their zone, which have the key of that zone alone, and by no others. A zone without
// a worker is named after a limit of time, and the criteria decide what becomes of the run.
func TestZones(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a", Zone: "rack1"}, site.Node{Name: "b", Zone: "rack2"}, site.Node{Name: "c", Zone: "rack2"})
	c.worker([]string{"--control", "--zone-wait", "5s"})
	one := c.worker([]string{"--zone", "rack1"}, c.ofZone("rack1"))
	two := c.worker([]string{"--zone", "rack2"}, c.ofZone("rack2"))
	c.file("x\n")
	c.apply()
	for _, node := range []string{"a", "b", "c"} {
		if got := c.content(node, "etc/app"); got != "x\n" {
			t.Errorf("node %s has %q", node, got)
		}
	}
	first, second := one.metric("slipway_sessions_total"), two.metric("slipway_sessions_total")
	if first == "0" || second == "0" {
		t.Errorf("%s and %s sessions of the zones", first, second)
	}

	ours := c.key
	c.key = encryption.New()
	c.worker([]string{"--zone", "rack3"}, c.ofZone("rack3")) // of another site
	c.key = ours
	c.site.Nodes = append(c.site.Nodes, site.Node{Name: "d", Zone: "rack3",
		Connection: site.Connection{Transport: "local", Root: c.dir}})
	for budget, status := range []engine.Status{engine.Failed, engine.Degraded} {
		c.site.Groups = []site.Group{{Name: "all", Critical: true,
			SuccessCriteria: &site.SuccessCriteria{MaximumFailedNodes: &budget}}}
		out, said := c.start().wait()
		if out.Status != status {
			t.Errorf("with %d failed nodes allowed, the run ended as %q, want %q: %s", budget, out.Status, status, said)
		}
		if want := "node \"d\": it has the zone \"rack3\", and no worker took its session in 5s; start " +
			"`terraform-provider-slipway worker --zone rack3`. This is slipway " + build + " with the key "; !strings.Contains(said, want) {
			t.Errorf("the run does not say %s:\n%s", want, said)
		}
		if there := "There is a worker of slipway " + build + " on "; strings.Count(said, there) != 1 ||
			strings.Contains(said, `of the zone "rack1"`) {
			t.Errorf("the run does not name the one worker of the zone, which has another key:\n%s", said)
		}
	}
}

// Nodes of a zone whose worker is not there are not forgotten, also when the refresh did not reach them: nobody asked
// them. Neither a destroy nor a run that they leave forgets them, and both tear them down when the worker is back.
func TestNodesOfAZoneWithoutAWorkerStay(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a", Zone: "rack1"}, site.Node{Name: "b", Zone: "rack2"})
	c.worker([]string{"--control", "--zone-wait", "5s"})
	c.worker([]string{"--zone", "rack1"}, c.ofZone("rack1"))
	two := c.worker([]string{"--zone", "rack2"}, c.ofZone("rack2"))
	c.file("x\n")
	c.apply()
	two.end(syscall.SIGTERM)
	all := c.site.Nodes
	c.site.Nodes = all[:1]
	c.prior.Unreachable = []string{"b"}
	want := "because no worker is known to have tried to reach it: node \"b\": it has the zone \"rack2\", and no worker " +
		"took its session in "
	out, said := c.start().wait()
	if out.Status != engine.Failed || out.State.Applied["b"] == nil || !strings.Contains(said, want) {
		t.Errorf("the run that b leaves ended as %q, with %v applied: %s", out.Status, out.State.Applied["b"], said)
	}
	c.site.Nodes = all
	destroy := func() engine.Outcome {
		prior := engine.Prior{State: out.State, Nodes: all, Unreachable: []string{"b"}}
		return c.engine(c.settings()).Destroy(t.Context(), c.site.Name, prior, engine.Run{})
	}
	out = destroy()
	if out.Status != engine.Failed || out.State.Applied["b"] == nil || !strings.Contains(out.Report, want) {
		t.Errorf("the destroy ended as %q, with %v applied: %s", out.Status, out.State.Applied["b"], out.Report)
	}
	c.worker([]string{"--zone", "rack2"}, c.ofZone("rack2"))
	if out = destroy(); out.Status != engine.Destroyed || len(out.Unreachable) > 0 || c.content("b", "etc/app") != "-" {
		t.Errorf("the last destroy ended as %q: %s", out.Status, out.Report)
	}
}
