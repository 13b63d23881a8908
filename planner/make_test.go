package planner_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// chain is a site of one node with exec[a] -> exec[b] -> exec[c], each notifying the next when notify is set.
func chain(notify bool) site.Site {
	relation := "before"
	if notify {
		relation = "notify"
	}
	return site.Site{Name: "s", Nodes: []site.Node{{Name: "n"}},
		Services: []site.Service{{Name: "chain", Configuration: conf{"exec": titles{
			"a": {"command": "/bin/a", relation: "exec[b]"}, "b": {"command": "/bin/b", relation: "exec[c]"},
			"c": {"command": "/bin/c"},
		}}}}}
}

// work lists what a plan does in its node phases: `create exec[a]`.
func work(p *planner.Plan) []string {
	var out []string
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			if t.Action != task.PrepareNode {
				out = append(out, strings.TrimSpace(string(t.Action)+" "+
					strings.TrimSuffix(string(t.Resource.ID()), "[]")))
			}
		}
	}
	return out
}

func TestCompare(t *testing.T) {
	digests := func(notify bool) map[resource.ID]string { return allApplied(t, chain(notify))["n"] }
	tests := map[string]struct {
		notify bool
		change func(applied map[resource.ID]string)
		drift  []resource.ID
		want   []string
	}{
		"nothing": {false, func(map[resource.ID]string) {}, nil, nil},
		"never applied": {false, func(a map[resource.ID]string) { clear(a) }, nil,
			[]string{"create exec[a]", "create exec[b]", "create exec[c]"}},
		"another form": {false, func(a map[resource.ID]string) { a["exec[b]"] = "x" }, nil,
			[]string{"update exec[b]"}},
		"begun and not finished": {false, func(a map[resource.ID]string) { a["exec[b]"] = "" }, nil,
			[]string{"update exec[b]"}},
		"drifted": {false, func(map[resource.ID]string) {},
			[]resource.ID{"exec[b]", "exec[b]"}, []string{"repair exec[b]"}},
		"another form counts more than drift": {false, func(a map[resource.ID]string) { a["exec[b]"] = "x" },
			[]resource.ID{"exec[b]"}, []string{"update exec[b]"}},
		"drift of what is not wanted": {false, func(map[resource.ID]string) {}, []resource.ID{"exec[z]"}, nil},
		"what is not wanted goes first, in reverse": {
			false, func(a map[resource.ID]string) {
				a["exec[z]"], a["file[/a]"], a["file[/a/b]"] = "x", "", "x"
				delete(a, "exec[a]")
			}, nil,
			[]string{"remove file[/a/b]", "remove file[/a]", "remove exec[z]", "create exec[a]"},
		},
		"a notified resource stays in, and so on": {true, func(a map[resource.ID]string) { a["exec[a]"] = "x" },
			nil, []string{"update exec[a]", "refresh exec[b]", "refresh exec[c]"}},
		"a notified resource that has work does that": {true, func(a map[resource.ID]string) { a["exec[a]"] = "x" },
			[]resource.ID{"exec[b]"}, []string{"update exec[a]", "repair exec[b]", "refresh exec[c]"}},
		"nobody is notified by what comes later": {true, func(a map[resource.ID]string) { a["exec[c]"] = "x" },
			nil, []string{"update exec[c]"}},
		"titles with brackets and quotes are kept whole": {false,
			func(a map[resource.ID]string) { a[`exec['x[1]']`] = "x" }, nil, []string{`remove exec['x[1]']`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			applied := digests(tt.notify)
			tt.change(applied)
			p := mustMake(t, chain(tt.notify), planner.Applied{"n": applied}, planner.Drift{"n": tt.drift})
			if d := cmp.Diff(tt.want, work(p)); d != "" {
				t.Error(d)
			}
			if p.Empty() != (tt.want == nil) {
				t.Errorf("Empty() is %t", p.Empty())
			}
		})
	}
}

func TestRequirementsThroughWhatIsLeftOut(t *testing.T) {
	applied := allApplied(t, chain(false))
	applied["n"]["exec[a]"], applied["n"]["exec[c]"] = "x", "x"
	p := mustMake(t, chain(false), applied, nil)
	last := p.Phases[1].Tasks[1]
	if d := cmp.Diff([]resource.ID{"exec[a]"}, last.Requires); last.Resource.Title != "c" || d != "" {
		t.Errorf("%s requires %v; exec[b] is left out, so it must require exec[a]", last.Resource.ID(), last.Requires)
	}
}

func TestOwnership(t *testing.T) {
	s := chain(false)
	s.Groups = []site.Group{{Name: "late", DependsOn: []string{"early"}}, {Name: "early"}}
	p := mustMake(t, s, nil, nil)
	if p.Groups[0].Name != "early" || !slices.Equal(p.Groups[0].Owned, []string{"n"}) || len(p.Groups[1].Owned) != 0 ||
		!slices.Equal(p.Groups[1].Members, []string{"n"}) {
		t.Errorf("got %+v", p.Groups)
	}
	for _, phase := range p.Phases {
		if phase.Group != "early" {
			t.Errorf("phase %s belongs to %q", phase.TaskGroup, phase.Group)
		}
	}
}

// A critical group without criteria is successful whatever its nodes do (airship.md 8, AS-46), which its user hardly
// means. One warning names all such groups.
func TestCriticalWithoutCriteria(t *testing.T) {
	s := site.Site{Name: "lon1", Nodes: []site.Node{{Name: "web1"}}}
	want := func(want string) {
		t.Helper()
		for _, errs := range []invalid.Errors{planner.Validate(s), errorsOf(planner.Make(s, nil, nil))} {
			if got := errs.Error(); got != want || len(errs.Errors()) > 0 {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
	}
	s.Groups = []site.Group{
		{Name: "web", Critical: true},
		{Name: "rest"},
		{Name: "judged", Critical: true, SuccessCriteria: &site.SuccessCriteria{MaximumFailedNodes: ptr(0)}},
	}
	const end = "; give %s success_criteria, such as percent_successful_nodes = 100"
	want(`deployment "lon1": group web is critical and has no success_criteria, so it succeeds even when all of ` +
		`its nodes fail, and the apply does not fail` + fmt.Sprintf(end, "it"))
	for i := range 9 {
		s.Groups = append(s.Groups, site.Group{Name: fmt.Sprint("g", i), Critical: true,
			Rolling: &site.Rolling{MaxParallel: 1}})
	}
	want(`deployment "lon1": groups web, g0, g1, g2, g3, g4, g5, g6 and 2 more are critical and have no ` +
		`success_criteria, so each succeeds even when all of its nodes fail, and the apply does not fail` +
		fmt.Sprintf(end, "them"))
	for i := range s.Groups {
		s.Groups[i].Rolling = &site.Rolling{MaxParallel: 1, Batches: []string{"1"}} // all nodes of a batch must succeed
	}
	want("")
}

func errorsOf(_ *planner.Plan, errs invalid.Errors) invalid.Errors { return errs }

func TestNoGroups(t *testing.T) {
	s := chain(false)
	s.Groups = []site.Group{}
	p, errs := planner.Make(s, nil, nil)
	if p == nil || !p.Empty() || len(errs) != 1 || errs[0].Code != invalid.NoGroup || !errs[0].Warning {
		t.Errorf("got %v, %v", p, errs)
	}
	desired, _ := planner.Desired(s)
	if len(desired) != 0 {
		t.Errorf("a node in no group is desired to have %v", desired)
	}
}

func TestOverrideWithoutEffect(t *testing.T) {
	s := chain(false)
	s.Overrides = []site.Override{
		{Name: "same", Configuration: conf{"exec": titles{"a": {"command": "/bin/a"}}}},
		{Name: "none", Configuration: conf{"exec": titles{"z": {"command": "/bin/a"}}},
			Options: site.OverrideOptions{Create: ptr(false)}},
		{Name: "some", Configuration: conf{"exec": titles{"a": {"creates": "/x"}}}},
		{Name: "role", Roles: []string{"r"}, Configuration: conf{"exec": titles{"a": {"creates": "/y"}}}},
	}
	_, errs := planner.Make(s, nil, nil)
	var got []string
	for _, p := range errs {
		got = append(got, p.Name+" "+string(p.Code))
	}
	if d := cmp.Diff([]string{"none no_effect", "role unknown_role", "same no_effect"}, got); d != "" {
		t.Error(d)
	}
}

// A plan tells which overrides stand behind what it changes, also those that are gone, or concern the node no more.
func TestOverridesThatCountNoMore(t *testing.T) {
	made := func(content string) conf { return conf{"file": titles{"/made": {"content": content}}} }
	motd := func(parameter string) conf { return conf{"file": titles{"/etc/motd": {parameter: "adm"}}} }
	before := site.Site{
		Name: "s", Nodes: []site.Node{{Name: "n", Roles: []string{"web"}}},
		Services: []site.Service{{Name: "motd", Configuration: conf{"file": titles{"/etc/motd": {"content": "x"},
			"/etc/issue": {"content": "x"}}}}},
		Overrides: []site.Override{
			{Name: "everywhere", Configuration: motd("group")},
			{Name: "web", Roles: []string{"web"}, Configuration: motd("owner")},
			{Name: "more", Nodes: []string{"n"}, Configuration: made("x")},
		},
	}
	applied := allApplied(t, before)
	for name, tt := range map[string]struct {
		change func(*site.Site)
		want   string
	}{
		"gone": {func(s *site.Site) { s.Overrides = nil },
			"2 changes on node n: remove file[/made] (no longer by override more), update file[/etc/motd] (no longer by override everywhere, web)"},
		"one of two": {func(s *site.Site) { s.Overrides = s.Overrides[:1] },
			"2 changes on node n: remove file[/made] (no longer by override more), update file[/etc/motd] (by override everywhere, no longer by override web)"},
		"not this node": {func(s *site.Site) { s.Nodes[0].Roles = nil },
			"1 change on node n: update file[/etc/motd] (by override everywhere, no longer by override web)"},
		"changed": {func(s *site.Site) { s.Overrides[2].Configuration = made("y") },
			"1 change on node n: update file[/made] (by override more)"},
		"nothing to do with it": {func(
			s *site.Site) {
			s.Services[0].Configuration["file"]["/etc/issue"] = params{"content": "y"}
		},
			"1 change on node n: update file[/etc/issue]"},
	} {
		t.Run(name, func(t *testing.T) {
			after := before
			after.Nodes, after.Overrides = slices.Clone(before.Nodes), slices.Clone(before.Overrides)
			after.Services = []site.Service{{Name: "motd",
				Configuration: conf{"file": maps.Clone(before.Services[0].Configuration["file"])}}}
			tt.change(&after)
			former, errs := (*planner.Cache)(nil).FormerOf(before)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			p, errs := planner.Make(after, applied, nil)
			if p == nil {
				t.Fatal(errs)
			}
			digest := p.Digest
			p.Since(former, applied)
			if steps := p.Steps(); len(steps) != 2 || !strings.HasSuffix(steps[1], tt.want) || p.Digest != digest {
				t.Errorf("%q, want %q at the end", steps, tt.want)
			}
		})
	}
	broken := before
	broken.Groups = []site.Group{{Name: "g", DependsOn: []string{"nobody"}}}
	former, errs := (*planner.Cache)(nil).FormerOf(broken)
	if len(errs.Errors()) == 0 {
		t.Error("a site with errors has none")
	}
	mustMake(t, before, nil, nil).Since(former, nil)
}

func TestErrorsGiveNoPlan(t *testing.T) {
	s := chain(false)
	s.Services[0].Configuration["exec"]["a"]["require"] = "exec[c]"
	p, errs := planner.Make(s, nil, nil)
	if p != nil || len(errs) != 1 || errs[0].Code != invalid.DependencyCycle {
		t.Errorf("got %v, %v", p, errs)
	}
	desired, errs := planner.Desired(s)
	if desired != nil || len(errs.Errors()) != 1 {
		t.Errorf("got %v, %v", desired, errs)
	}
}

func TestAnOverridesCycleIsTheOverrides(t *testing.T) {
	s := chain(false)
	s.Overrides = []site.Override{{Name: "o", Configuration: conf{"exec": titles{"a": {"require": "exec[c]"}}}}}
	_, errs := planner.Make(s, nil, nil)
	if len(errs) != 1 || errs[0].Code != invalid.DependencyCycle ||
		!strings.Contains(errs[0].Message, "exec[a] requires exec[c] requires exec[b] requires exec[a]") {
		t.Fatalf("got %v", errs)
	}
	if errs[0].Object != "override" || errs[0].Name != "o" ||
		errs[0].Attribute != `configuration.exec["a"].require` {
		t.Errorf("got %v, want it at the override that closed the cycle", errs[0])
	}
}

func TestDigest(t *testing.T) {
	base := mustMake(t, lon1(), nil, nil).Digest
	changes := map[string]struct {
		change func(s *site.Site)
		same   bool
	}{
		"site": {func(s *site.Site) { s.Name = "lon2" }, false},
		"a parameter": {func(s *site.Site) { s.Services[0].Configuration["file"]["/etc/motd"]["content"] = "x" },
			false},
		"a relation": {func(
			s *site.Site) {
			s.Services[0].Configuration["file"]["/etc/motd"]["before"] = "package[chrony]"
		}, false},
		"criteria": {func(s *site.Site) { s.Groups[0].SuccessCriteria.PercentSuccessfulNodes = ptr(91) },
			false},
		"a criterion less": {func(s *site.Site) { s.Groups[0].SuccessCriteria.PercentSuccessfulNodes = nil }, false},
		"rolling":          {func(s *site.Site) { s.Groups[0].Rolling.Lock = "x" }, false},
		"a time limit":     {func(s *site.Site) { s.Groups[0].DeployTimeout = 1 }, false},
		"criticality":      {func(s *site.Site) { s.Groups[1].Critical = true }, false},
		"order of groups":  {func(s *site.Site) { s.Groups[1], s.Groups[2] = s.Groups[2], s.Groups[1] }, false},
		"a group that idles": {func(s *site.Site) {
			s.Groups = append(s.Groups, site.Group{Name: "again",
				DependsOn: []string{"compute-nodes-1", "compute-nodes-2", "monitoring-nodes"}})
		}, true},
		"a service's name": {func(s *site.Site) { s.Services[0].Name = "motto" }, true},
		"an address":       {func(s *site.Site) { s.Nodes[0].Address = "10.0.0.1" }, true},
		"a zone":           {func(s *site.Site) { s.Nodes[0].Zone = "z1" }, true},
		"ways to write it": {func(s *site.Site) {
			s.Services[1].Configuration["file"]["/etc/chrony/chrony.conf"]["require"] = []any{"package[chrony]",
				"package['chrony']"}
		}, true},
	}
	for name, tt := range changes {
		t.Run(name, func(t *testing.T) {
			s := lon1()
			tt.change(&s)
			if got := mustMake(t, s, nil, nil).Digest; (got == base) != tt.same {
				t.Errorf("same digest: %t, want %t", got == base, tt.same)
			}
		})
	}
}

// A node on which nothing is applied yet is not locked where its group spares new nodes (litp.md 78).
func TestNewNodesAreSpared(t *testing.T) {
	s := site.Site{
		Name: "s", Nodes: []site.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Groups: []site.Group{{Name: "g", Rolling: &site.Rolling{MaxParallel: 1, Lock: "drain", Unlock: "undrain",
			SpareNew: true}}},
		Services: []site.Service{{Name: "motd", Configuration: conf{"file": titles{"/etc/motd": {"content": "x"}}}}},
	}
	known := planner.Applied{"b": {"file[/etc/motd]": ""}}
	plan := mustMake(t, s, known, nil)
	if got := plan.Groups[0].Unlocked; !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("not locked are %v, want a and c", got)
	}
	if got, want := plan.Steps()[1], "2. g: node phase, 1 node at a time between lock and unlock, 2 new nodes (a, c) without: "; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s.Groups[0].Rolling = &site.Rolling{MaxParallel: 1, Lock: "drain", Unlock: "undrain"}
	all := mustMake(t, s, known, nil)
	if all.Groups[0].Unlocked != nil || all.Digest == plan.Digest || strings.Contains(all.Steps()[1], "new") {
		t.Errorf("without being asked: %v, %q", all.Groups[0].Unlocked, all.Steps())
	}
	s.Groups[0].Rolling = &site.Rolling{MaxParallel: 1, SpareNew: true}
	if got := mustMake(t, s, known, nil).Groups[0].Unlocked; got != nil {
		t.Errorf("without lock and unlock: %v", got)
	}
}

func TestSteps(t *testing.T) {
	long := "/etc/" + strings.Repeat("x", 100)
	files := titles{long: {"content": ""}}
	for c := 'a'; c <= 'p'; c++ {
		files["/etc/"+string(c)] = params{"content": ""}
	}
	var nodes []site.Node
	for c := 'a'; c <= 'k'; c++ {
		nodes = append(nodes, site.Node{Name: "node-" + string(c)})
	}
	s := site.Site{
		Name: "s", Nodes: nodes, Groups: []site.Group{{Name: "all", Rolling: &site.Rolling{MaxParallel: 2}}},
		Services: []site.Service{{Name: "files", Configuration: conf{"file": files}}},
		Overrides: []site.Override{{Name: "gone", Nodes: []string{"node-a"},
			Configuration: conf{"file": titles{"/a": {"ensure": "absent"},
				"/z": {"content": "what overrides make is always listed"}}}}},
	}
	want := []string{
		"1. all: prepare 11 nodes (node-a, node-b, node-c, node-d, node-e, node-f, node-g, node-h and 3 more)",
		"2. all: node phase, 2 nodes at a time: 189 changes on 11 nodes: create file[/a] (absent, by override gone) on node-a, file[/z] (by override gone) on node-a, " +
			"file[/etc/a] on 11, file[/etc/b] on 11, file[/etc/c] on 11, file[/etc/d] on 11, file[/etc/e] on 11, file[/etc/f] on 11, " +
			"file[/etc/g] on 11, file[/etc/h] on 11, file[/etc/i] on 11, file[/etc/j] on 11, file[/etc/k] on 11, file[/etc/l] on 11 and 5 more (create 5 file)",
	}
	if d := cmp.Diff(want, mustMake(t, s, nil, nil).Steps()); d != "" {
		t.Error(d)
	}
	for c := 'a'; c <= 'p'; c++ {
		delete(files, "/etc/"+string(c))
	}
	s.Overrides, s.Groups, s.Nodes = nil, nil, nodes[:1]
	want = []string{
		"1. default (critical): prepare 1 node (node-a)",
		"2. default (critical): node phase: 1 change on node node-a: create file[/etc/" + strings.Repeat("x", 54) +
			"…]",
	}
	if d := cmp.Diff(want, mustMake(t, s, nil, nil).Steps()); d != "" {
		t.Error(d)
	}
}

// A node has no more resources, and no longer titles, than its ledger may report.
func TestResourcesOfANodeAreBounded(t *testing.T) {
	for _, test := range []struct {
		count, long int
		want        string // an error; empty: none
	}{
		{10_000, 0, ""},
		{10_001, 0, `node "a": has 10001 resources, and a site may have at most 10000 on a node`},
		{1, 100_000, ""},
		{2, 100_000, `node "a": has resources whose titles have 200012 bytes together, and may have at most 131872`},
	} {
		files := titles{}
		for i := range test.count {
			files[fmt.Sprintf("/srv/%d%s", i, strings.Repeat("x", test.long))] = map[string]any{"content": "x"}
		}
		s := site.Site{
			Name: "lon1", Nodes: []site.Node{{Name: "a"}},
			Services: []site.Service{{Name: "many", Configuration: conf{"file": files}}},
		}
		_, planned := planner.Make(s, nil, nil)
		_, validated := planner.Desired(s)
		for what, errs := range map[string]invalid.Errors{"plan": planned, "validation": validated} {
			failures := errs.Errors()
			if (test.want != "") != (len(failures) > 0) || test.want != "" && !strings.Contains(failures[0].Error(), test.want) {
				t.Errorf("%s, %d resources: %v", what, test.count, failures)
			}
		}
	}
}
