package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

type (
	conf   = resource.Configuration
	titles = map[string]resource.Parameters
	params = resource.Parameters
)

func ptr[T any](v T) *T { return &v }

// lon1 is the example of seed 001: its five groups, with nodes, services and an override.
func lon1() site.Site {
	node := func(name, rack string, tags ...string) site.Node {
		return site.Node{Name: name, Rack: rack, Tags: tags, Roles: tags}
	}
	tag := func(tag string, racks ...string) site.Selectors {
		return site.Selectors{{NodeTags: []string{tag}, RackNames: racks}}
	}
	return site.Site{
		Name: "lon1",
		Nodes: []site.Node{
			node("ctl1", "rack03", "control"), node("ctl2", "rack03", "control"), node("ctl3", "rack03", "control"),
			node("cmp11", "rack01", "compute"), node("cmp12", "rack01", "compute"), node("cmp21", "rack02", "compute"),
			node("mon1", "rack02", "monitoring", "compute"), node("ntp01", "rack01"),
		},
		Groups: []site.Group{
			{
				Name: "control-nodes", Critical: true, DependsOn: []string{"ntp-node"},
				Selectors: tag("control", "rack03"),
				SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: ptr(90), MinimumSuccessfulNodes: ptr(3),
					MaximumFailedNodes: ptr(1)},
				Rolling: &site.Rolling{MaxParallel: 1, Lock: "/usr/local/sbin/drain",
					Unlock: "/usr/local/sbin/undrain"},
			},
			{
				Name: "compute-nodes-1", DependsOn: []string{"control-nodes"}, Selectors: tag("compute", "rack01"),
				SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: ptr(50)},
			},
			{
				Name: "compute-nodes-2", DependsOn: []string{"control-nodes"}, Selectors: tag("compute", "rack02"),
				SuccessCriteria: &site.SuccessCriteria{PercentSuccessfulNodes: ptr(50)},
			},
			{Name: "monitoring-nodes", Selectors: tag("monitoring", "rack03", "rack02", "rack01")},
			{
				Name: "ntp-node", Critical: true, Selectors: site.Selectors{{NodeNames: []string{"ntp01"}}},
				SuccessCriteria: &site.SuccessCriteria{MinimumSuccessfulNodes: ptr(1)},
			},
		},
		Services: []site.Service{
			{Name: "motd", Configuration: conf{"file": titles{"/etc/motd": {"content": "welcome\n", "mode": "0644"}}}},
			{Name: "ntp", Configuration: conf{
				"package": titles{"chrony": {"ensure": "installed"}},
				"file": titles{"/etc/chrony/chrony.conf": {
					"content": "server 10.0.0.1\n", "require": "Package[chrony]", "notify": "service[chrony]",
				}},
				"service": titles{"chrony": {"ensure": "running", "enable": true}},
			}},
			{Name: "nova", Selectors: tag("compute"), Configuration: conf{
				"user":  titles{"nova": {"gid": "nova"}},
				"group": titles{"nova": {"ensure": "present"}},
				"file": titles{"/etc/nova": {"ensure": "directory"},
					"/etc/nova/nova.conf": {"content": "x", "owner": "nova"}},
				"package": titles{"mc": {"ensure": "installed"}},
			}},
		},
		Overrides: []site.Override{{Name: "tuning", Roles: []string{"compute"},
			Configuration: conf{"package": titles{"mc": {"ensure": "absent"}}}}},
	}
}

// mustMake plans, and fails the test when anything is invalid.
func mustMake(t testing.TB, s site.Site, applied planner.Applied, drift planner.Drift) *planner.Plan {
	t.Helper()
	p, errs := planner.Make(s, applied, drift)
	if p == nil {
		t.Fatalf("no plan:\n%v", errs)
	}
	return p
}

// allApplied is what nodes have applied when a plan ran to its end.
func allApplied(t testing.TB, s site.Site) planner.Applied {
	t.Helper()
	applied, errs := planner.AppliedAfter(s)
	if applied == nil {
		t.Fatalf("nothing desired:\n%v", errs)
	}
	return applied
}

// apply does to applied what a task does to a node.
func apply(applied planner.Applied, t task.Task) {
	switch t.Action {
	case task.Create, task.Update, task.Repair, task.Run:
		place, id := t.Node, t.Resource.ID()
		if t.Kind == task.Callback {
			place, id = planner.Controller, planner.CallbackID(t)
		}
		if applied[place] == nil {
			applied[place] = map[resource.ID]string{}
		}
		applied[place][id] = t.Digest
	case task.Remove:
		delete(applied[t.Node], t.Resource.ID())
	case task.Unlock:
		delete(applied[t.Node], task.LeftLocked)
	case task.Forget:
		delete(applied, t.Node)
	}
}

// text is everything that a plan says, for golden files.
func text(p *planner.Plan, errs invalid.Errors) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, wrong := range errs {
		line("problem (warning %t, %s): %s", wrong.Warning, wrong.Code, wrong.Error())
	}
	if p == nil {
		return b.String()
	}
	line("site %s", p.Site)
	line("digest %s", p.Digest)
	line("changed nodes: %s", strings.Join(p.ChangedNodes(), " "))
	line("departed: %s", strings.Join(p.Departed, " "))
	for _, g := range p.Groups {
		line("group %s: members %v, owned %v", g.Name, g.Members, g.Owned)
	}
	line("\nsteps")
	for _, s := range p.Steps() {
		line("  %s", s)
	}
	for i, phase := range p.Phases {
		line("\nphase %d: %s %s", i+1, phase.TaskGroup, phase.Group)
		for _, t := range phase.Tasks {
			s := fmt.Sprintf("  %s: %s", t.Node, t.Action)
			if t.Resource.Type != "" {
				s += " " + string(t.Resource.ID())
			}
			for _, part := range []struct {
				label string
				value any
				given bool
			}{
				{"kind", t.Kind, t.Kind != task.Config}, {"limit", t.Limit, t.Limit > 0},
				{"tolerate", t.Tolerate, t.Tolerate}, {"pending", t.Pending, len(t.Pending) > 0},
				{"service", t.Service, t.Service != ""}, {"override", t.Override, len(t.Override) > 0},
				{"digest", t.Digest, t.Digest != ""},
				{"requires", t.Requires, len(t.Requires) > 0}, {"notifies", t.Notifies, len(t.Notifies) > 0},
			} {
				if part.given {
					s += fmt.Sprintf(" %s=%v", part.label, part.value)
				}
			}
			line("%s", s)
		}
	}
	return b.String()
}
