package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// entitiesOf reads a catalog document.
func entitiesOf(t testing.TB, text string) map[string]*catalog.Entity {
	t.Helper()
	c, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*catalog.Entity{}
	for i := range c.Catalog.Entities {
		out[c.Catalog.Entities[i].Name] = &c.Catalog.Entities[i]
	}
	return out
}

const ntpCatalog = `
entities:
  ntp:
    attributes:
      server: {type: string, modifier: rw+}
      key: {type: 'int?', default: null, modifier: r}
    tasks:
    - name: allocate
      callback: {type: command, parameters: {argv: [allocate, "${service.name}"], output: json}, returns: {key: id}}
    - name: package
      config: {type: package, title: chrony, parameters: {ensure: installed}}
    - name: configuration
      requires: [{task: package}, {task: allocate}]
      notify: [daemon]
      config: {type: file, title: /etc/chrony.conf, parameters: {content: "server ${self.server} key ${self.key}\n", mode: "0644"}}
    - name: daemon
      config: {type: service, title: chrony, parameters: {ensure: running}}
    - name: sync
      requires: [{task: daemon}]
      remote: {type: shell, limit: 2, parameters: {command: "chronyc waitsync", timeout: 120}}
    - name: register
      requires: [{task: sync}]
      callback: {type: http, per_node: true, parameters: {url: "https://cmdb/${node.name}"}}
    - name: ready
      requires: [{task: register}]
      config: {type: file, title: /run/ready, parameters: {content: "ready\n"}}
    - name: announce
      tag: cluster
      requires: [{task: register}]
      callback: {type: http, parameters: {url: "https://cmdb/done"}}
  network:
    section: network_interfaces
    tasks:
    - name: bridges
      config: {type: file, title: /etc/bridges, parameters: {content: "br0\n"}}
    - name: restart
      requires: [{task: bridges}]
      remote: {type: shell, parameters: {command: "ifreload -a", timeout: 60}}
`

// withEntities is lon1 with services of entities in place of its ntp service.
func withEntities(t testing.TB) site.Site {
	t.Helper()
	entities := entitiesOf(t, ntpCatalog)
	s := lon1()
	s.Services = slices.DeleteFunc(s.Services, func(s site.Service) bool { return s.Name == "ntp" })
	compute := site.Selectors{{NodeTags: []string{"compute"}}}
	s.Services = append(s.Services,
		site.Service{Name: "ntp", Entity: entities["ntp"], Attributes: map[string]any{"server": "10.0.0.1"},
			Selectors: compute},
		site.Service{Name: "net", Entity: entities["network"],
			Selectors: site.Selectors{{NodeNames: []string{"cmp11", "ctl1"}}}})
	s.Overrides = append(s.Overrides, site.Override{Name: "owner",
		Configuration: conf{"file": titles{"/etc/chrony.conf": {"owner": "root"}}},
		Options:       site.OverrideOptions{Create: ptr(false)}})
	return s
}

// finish does to applied what a whole run of a plan does, with the values that callbacks return.
func finish(t testing.TB, p *planner.Plan, applied planner.Applied, values map[string]map[string]any) {
	t.Helper()
	for _, phase := range p.Phases {
		for _, planned := range phase.Tasks {
			resolved, err := p.Resolve(planned, values)
			if err != nil {
				t.Fatal(err)
			}
			apply(applied, resolved)
		}
	}
	for _, id := range p.Forgotten {
		delete(applied[planner.Controller], id)
	}
}

func TestValuesOfCallbacksReachTheNextPlan(t *testing.T) {
	s, applied := withEntities(t), planner.Applied{}
	p := mustMake(t, s, applied, nil)
	file := taskOf(t, p, "cmp11", "file[/etc/chrony.conf]")
	if d := cmp.Diff([]string{"content"}, file.Pending); d != "" || file.Resource.Parameters.Has("content") {
		t.Errorf("%v: %s", file.Resource.Parameters, d)
	}
	if _, err := p.Resolve(file, nil); err == nil ||
		!strings.Contains(err.Error(), "its parameters content wait for self.key") {
		t.Errorf("without a value: %v", err)
	}
	const secret = "hunter2"
	if _, err := p.Resolve(file, map[string]map[string]any{"ntp": {"id": secret}}); err == nil ||
		strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "key") {
		t.Errorf("with a wrong value: %v", err)
	}
	values := map[string]map[string]any{"ntp": {"id": int64(7)}}
	resolved, err := p.Resolve(file, values)
	if err != nil {
		t.Fatal(err)
	}
	if got := resolved.Resource.Parameters; got["content"] != "server 10.0.0.1 key 7\n" || got["owner"] != "root" ||
		resolved.Pending != nil || resolved.Node != "cmp11" || resolved.Action != task.Create {
		t.Errorf("resolved to %+v", resolved)
	}
	finish(t, p, applied, values)
	s.Values = map[string]map[string]any{"ntp": {"key": int64(7), "gone": "x"}}
	if again := mustMake(t, s, applied, nil); !again.Empty() {
		t.Errorf("after the run there is work left: %v", again.Steps())
	}
	s.Values["ntp"]["key"] = int64(8)
	if again := mustMake(t, s, applied, nil); again.Empty() {
		t.Error("another value makes no work")
	}
}

func taskOf(t testing.TB, p *planner.Plan, node string, id resource.ID) task.Task {
	t.Helper()
	for _, phase := range p.Phases {
		for _, made := range phase.Tasks {
			if made.Node == node && made.Resource.ID() == id {
				return made
			}
		}
	}
	t.Fatalf("%s is not planned on %q", id, node)
	return task.Task{}
}

// others lists the remote tasks and callbacks of a plan, a line for each.
func others(p *planner.Plan) []string {
	var out []string
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			if t.Kind != task.Config {
				out = append(out, fmt.Sprintf("%s %s on %q", t.Group, t.Name, t.Node))
			}
		}
	}
	return out
}

func TestWhenTasksOfEntitiesRun(t *testing.T) {
	entities := entitiesOf(t, `
entities:
  app:
    attributes:
      version: {type: string, default: "1", modifier: rw+}
    tasks:
    - {name: file, config: {type: file, title: /app, parameters: {content: "${self.version}"}}}
    - {name: restart, requires: [{task: file}], remote: {type: shell, parameters: {command: restart, timeout: 5}}}
    - {name: tell, requires: [{task: restart}], callback: {type: http, per_node: true, parameters: {url: "http://x/${node.name}"}}}
    - {name: report, tag: cluster, callback: {type: http, parameters: {url: "http://x"}}}
    - {name: each, persist: false, remote: {type: shell, parameters: {command: each, timeout: 5}}}
    - {name: log, persist: false, config: {type: exec, title: log, parameters: {command: /bin/log}}}
`)
	base := func() site.Site {
		s := one()
		s.Services = []site.Service{
			{Name: "app", Entity: entities["app"], Attributes: map[string]any{},
				Selectors: site.Selectors{{NodeNames: []string{"a1", "c2"}}}},
			{Name: "motd", Configuration: conf{"file": titles{"/etc/motd": {"content": "x"}}}},
		}
		return s
	}
	on := func(node string) []string {
		return []string{
			fmt.Sprintf("node app/each on %q", node), fmt.Sprintf("node app/restart on %q", node),
			fmt.Sprintf("node app/tell@%s on %q", node, node),
		}
	}
	report := `cluster app/report on ""`
	tests := map[string]struct {
		change func(s *site.Site, a planner.Applied)
		drift  planner.Drift
		want   []string
		work   []string // everything else but preparing
	}{
		"nothing to do": {func(*site.Site, planner.Applied) {}, nil, nil, nil},
		"work of another service": {func(_ *site.Site, a planner.Applied) { delete(a["a1"], "file[/etc/motd]") }, nil,
			nil, []string{"create file[/etc/motd]"}},
		"work of the service": {func(_ *site.Site, a planner.Applied) { a["c2"]["file[/app]"] = "x" }, nil,
			append(on("c2"), report),
			[]string{"update exec[log]", "update file[/app]"}},
		"a repair": {func(*site.Site, planner.Applied) {},
			planner.Drift{"a1": {"file[/app]"}}, append(on("a1"), report),
			[]string{"repair file[/app]", "update exec[log]"}},
		"what is not remembered does not drift": {func(*site.Site, planner.Applied) {},
			planner.Drift{"a1": {"exec[log]"}}, nil, nil},
		"a remote task that never ran": {func(_ *site.Site,
			a planner.Applied) {
			delete(a["a1"], "shell[app/restart]")
		}, nil, on("a1")[:2], []string{"update exec[log]"}},
		"a callback on a node that was begun": {func(_ *site.Site,
			a planner.Applied) {
			a[""]["http[app/tell@a1]"] = ""
		}, nil, []string{on("a1")[0], on("a1")[2]}, []string{"update exec[log]"}},
		"a callback that never ran": {func(_ *site.Site,
			a planner.Applied) {
			delete(a[""], "http[app/report]")
		}, nil, []string{report}, nil},
		"what is gone from the controller": {func(_ *site.Site,
			a planner.Applied) {
			a[""]["http[app/old]"] = "d"
		}, nil, nil, nil},
		"a service that leaves a node is forgotten": {func(s *site.Site, _ planner.Applied) {
			s.Services[0].Selectors = site.Selectors{{NodeNames: []string{"a1"}}}
		}, nil, nil,
			[]string{"remove exec[log]", "remove file[/app]", "remove shell[app/each]", "remove shell[app/restart]"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := base()
			applied := allApplied(t, s)
			tt.change(&s, applied)
			p := mustMake(t, s, applied, tt.drift)
			got := others(p)
			if d := cmp.Diff(sorted(tt.want), sorted(got)); d != "" {
				t.Error(d)
			}
			var rest []string
			for _, w := range work(p) {
				if !strings.HasPrefix(w, "run ") {
					rest = append(rest, w)
				}
			}
			if d := cmp.Diff(tt.work, sorted(rest)); d != "" {
				t.Error(d)
			}
			finish(t, p, applied, nil)
			if again := mustMake(t, s, applied, nil); !again.Empty() || again.Forgotten != nil {
				t.Errorf("after the run there is work left: %v, %v", again.Steps(), again.Forgotten)
			}
		})
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// TestRequirementsLeadThroughWhatIsLeftOut: a callback waits for what the tasks that it requires wait for, also when
// these need not be done (litp.md 94).
func TestRequirementsLeadThroughWhatIsLeftOut(t *testing.T) {
	s := one()
	s.Services = []site.Service{{Name: "app", Entity: entitiesOf(t, `
entities:
  app:
    tasks:
    - {name: a, tag: cluster, config: {type: file, title: /a, parameters: {content: a}}}
    - {name: b, tag: cluster, requires: [{task: a}], config: {type: file, title: /b, parameters: {content: b}}}
    - {name: c, tag: cluster, requires: [{task: b}], callback: {type: http, parameters: {url: "http://x"}}}
    - {name: d, tag: cluster, requires: [{task: b}], remote: {type: shell, parameters: {command: x, timeout: 1}}}
`)["app"]}}
	applied := allApplied(t, s)
	delete(applied["a2"], "file[/a]")
	want := []string{
		"1. second: prepare 1 node (a2)", "2. second: cluster phase: 1 change on node a2: create file[/a]",
		"3. second: cluster: call http app/c", "4. second: cluster: run shell app/d on node a2",
	}
	if d := cmp.Diff(want, mustMake(t, s, applied, nil).Steps()); d != "" {
		t.Error(d)
	}
}

// TestLargeSections: there are too many tasks to name them all, and still a remote task waits for those of the section
// before.
func TestLargeSections(t *testing.T) {
	s := one()
	s.Nodes = s.Nodes[:1]
	entities := entitiesOf(t, `
entities:
  base:
    section: system
    tasks:
    - {name: a, for_each: "${concat(range(1000), range(1000, 2000), range(2000, 3000), range(3000, 4000), range(4000, 4200))}",
       config: {type: file, title: "/${each.value}", parameters: {content: a}}}
  app:
    tasks:
    - {name: b, remote: {type: shell, parameters: {command: x, timeout: 1}}}
`)
	s.Services = []site.Service{{Name: "a", Entity: entities["app"]}, {Name: "b", Entity: entities["base"]}}
	phases := mustMake(t, s, nil, nil).Phases
	if len(phases) != 3 || len(phases[1].Tasks) != 4200 || phases[2].Tasks[0].Name != "a/b" ||
		len(phases[2].Tasks[0].Requires) > 0 {
		t.Errorf("got %d phases", len(phases))
	}
}

// changed plans a site of one service a, and one b where the catalog has such an entity, on two nodes, after the
// attribute v of a changed.
func changed(t *testing.T, catalog string) *planner.Plan {
	t.Helper()
	entities := entitiesOf(t, catalog)
	s := site.Site{Name: "s", Nodes: []site.Node{{Name: "n1"}, {Name: "n2"}}}
	for _, name := range sortedKeys(entities) {
		s.Services = append(s.Services, site.Service{Name: name, Entity: entities[name]})
	}
	s.Services[0].Attributes = map[string]any{"v": "1"}
	applied := allApplied(t, s)
	s.Services[0].Attributes = map[string]any{"v": "2"}
	return mustMake(t, s, applied, nil)
}

// TestCallbacksKeepRequirementsThroughWhatIsLeftOut: a callback requires a file that is there already and requires
// another callback (litp.md 94).
func TestCallbacksKeepRequirementsThroughWhatIsLeftOut(t *testing.T) {
	p := changed(t, `
entities:
  a:
    attributes: {v: {type: string, modifier: rw+}}
    tasks:
    - {name: last, tag: node, requires: [{task: file}], callback: {type: http, parameters: {url: "http://last/${self.v}"}}}
    - {name: file, requires: [{task: first}], config: {type: file, title: /a, parameters: {content: x}}}
    - {name: first, tag: node, callback: {type: http, parameters: {url: "http://first/${self.v}"}}}`)
	want := []string{"1. default (critical): node: call http a/first", "2. default (critical): node: call http a/last"}
	if d := cmp.Diff(want, p.Steps()); d != "" {
		t.Error(d)
	}
}

// TestWhatIsNotRememberedGivesOthersWork: it notifies a resource of another service, whose remote task runs with that,
// and what that service does not remember.
func TestWhatIsNotRememberedGivesOthersWork(t *testing.T) {
	p := changed(t, `
entities:
  a:
    attributes: {v: {type: string, modifier: rw+}}
    tasks:
    - {name: once, persist: false, notify: ["service[b]"], config: {type: file, title: /once, parameters: {content: x}}}
    - {name: file, config: {type: file, title: /a, parameters: {content: "${self.v}"}}}
  b:
    tasks:
    - {name: service, config: {type: service, title: b, parameters: {ensure: running}}}
    - {name: wait, requires: [{task: service}], remote: {type: shell, parameters: {command: wait, timeout: 1}}}
    - {name: note, persist: false, requires: [{task: wait}], config: {type: file, title: /note, parameters: {content: x}}}`)
	var got []string
	for _, phase := range p.Phases {
		for _, made := range phase.Tasks {
			if made.Node == "n1" && made.Resource.Type != "" {
				got = append(got, fmt.Sprintf("%s %s", made.Action, made.Resource.ID()))
			}
		}
	}
	if d := cmp.Diff([]string{"update file[/a]", "update file[/once]", "refresh service[b]", "run shell[b/wait]",
		"update file[/note]"}, got); d != "" {
		t.Error(d)
	}
}
