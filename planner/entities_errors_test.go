package planner_test

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// appCatalog makes a catalog of one entity app from its tasks.
func appCatalog(tasks string) string {
	return "entities:\n  app:\n    attributes:\n      id: {type: 'string?', default: null, modifier: r}\n    tasks:\n" +
		tasks
}

const call = "parameters: {url: 'http://x'}"

func TestErrorsOfEntities(t *testing.T) {
	tests := map[string]struct {
		tasks  string
		change func(s *site.Site)
		want   string
	}{
		"a later task group on a node": {`
    - {name: a, tag: pre_node, requires: [{task: b}], config: {type: file, title: /a, parameters: {content: a}}}
    - {name: b, config: {type: file, title: /b, parameters: {content: b}}}`, nil,
			`service "app": entity.tasks[0].requires: file[/a], in the task group pre_node, requires file[/b], in the task group node, which comes later; give one of them another tag`},
		"a remote task in a later group": {`
    - {name: a, requires: [{task: b}], config: {type: file, title: /a, parameters: {content: a}}}
    - {name: b, tag: post_cluster, remote: {type: shell, parameters: {command: x, timeout: 1}}}`, nil,
			`entity.tasks[0].requires: file[/a], in the task group node, requires shell[app/b], in the task group post_cluster, which comes later`},
		"a callback before nodes that it requires": {`
    - {name: a, config: {type: file, title: /a, parameters: {content: a}}}
    - {name: b, requires: [{task: a}], callback: {type: http, ` + call + `}}`, nil,
			`entity.tasks[1].requires: the callback app/b, in the task group management, requires file[/a] on node a2, in the task group node of the group "second", which comes later`},
		"a callback of an earlier deployment group than another": {`
    - {name: a, tag: cluster, callback: {type: http, ` + call + `}}
    - {name: b, tag: pre_node, requires: [{task: a}], callback: {type: http, ` + call + `}}`, nil,
			`entity.tasks[1].requires: the callback app/b, in the task group pre_node of the group "first", requires the callback app/a, in the task group cluster of the group "second", which comes later`},
		"a node that requires a later callback": {`
    - {name: a, requires: [{task: b}], config: {type: file, title: /a, parameters: {content: a}}}
    - {name: b, tag: cluster, callback: {type: http, ` + call + `}}`, nil,
			`entity.tasks[0].requires: file[/a], in the task group node of the group "first", requires the callback app/b, in the task group cluster of the group "second", which comes later`},
		"a callback without node where nodes are locked": {`
    - {name: a, tag: node, callback: {type: http, ` + call + `}}`, func(s *site.Site) { s.Groups[1].Rolling = &site.Rolling{MaxParallel: 1} },
			`entity.tasks[0].tag: the callback app/a belongs to no node, so it cannot run in the task group node of the rolling group "second"`},
		"prepare": {"    - {name: a, tag: prepare, config: {type: file, title: /a, parameters: {content: a}}}", nil,
			`entity.tasks[0].tag: no task of a service can run in the task group prepare`},
		"a callback to prepare": {"    - {name: a, tag: prepare, callback: {type: http, " + call + "}}", nil,
			`entity.tasks[0].tag: no task of a service can run in the task group prepare`},
		"no such resource": {"    - {name: a, requires: [{resource: 'file[/etc/mot]'}], config: {type: file, title: /a, parameters: {content: a}}}", nil, `entity.tasks[0].requires: there is no file[/etc/mot] (on all 4 nodes); did you mean file[/etc/motd]?`},
		"no such resource for a remote task": {"    - {name: a, requires: [{resource: 'file[/etc/mot]'}], remote: {type: shell, parameters: {command: x, timeout: 1}}}", nil,
			`entity.tasks[0].requires: there is no file[/etc/mot] (on all 4 nodes); did you mean file[/etc/motd]?`},
		"no such service": {"    - {name: a, requires: [{service: mot}], config: {type: file, title: /a, parameters: {content: a}}}", nil, `entity.tasks[0].requires: there is no service "mot" (on all 4 nodes); did you mean "motd"?`},
		"no such service for a callback": {"    - {name: a, requires: [{service: mot}], callback: {type: http, " +
			call + "}}", nil, `entity.tasks[0].requires: there is no service "mot"; did you mean "motd"?`},
		"a cycle across services": {"    - {name: a, requires: [{service: motd}], remote: {type: shell, parameters: {command: x, timeout: 1}}}", func(s *site.Site) {
			other := s.Services[1]
			other.Name, other.Entity = "twin", entitiesOf(t,
				appCatalog("    - {name: a, requires: [{service: app}], remote: {type: shell, parameters: {command: x, timeout: 1}}}"))["app"]
			s.Services[1].Entity = entitiesOf(
				t, appCatalog(
					"    - {name: a, requires: [{service: twin}], remote: {type: shell, parameters: {command: x, timeout: 1}}}"))["app"]
			s.Services = append(s.Services, other)
		}, `entity.tasks[0].requires: resources wait for each other: shell[app/a] requires shell[twin/a] requires shell[app/a]`},
		"callbacks of services that wait for each other": {"    - {name: a, requires: [{service: motd}], callback: {type: http, " + call + "}}", func(s *site.Site) {
			other := s.Services[1]
			other.Name, other.Entity = "twin", entitiesOf(t,
				appCatalog("    - {name: a, requires: [{service: app}], callback: {type: http, "+call+"}}"))["app"]
			s.Services[1].Entity = entitiesOf(
				t, appCatalog("    - {name: a, requires: [{service: twin}], callback: {type: http, "+call+"}}"))["app"]
			s.Services = append(s.Services, other)
		}, `service "app": entity.tasks[0].requires: tasks wait for each other: http[app/a] requires http[twin/a] requires http[app/a]; leave`},
		"a callback and tasks on nodes that wait for each other": {`
    - {name: a, tag: cluster, requires: [{service: twin}], callback: {type: http, ` + call + `}}
    - {name: c, tag: cluster, requires: [{task: a}], config: {type: file, title: /c, parameters: {content: c}}}`, func(s *site.Site) {
			s.Groups = nil
			s.Services = append(s.Services, site.Service{Name: "twin", Entity: entitiesOf(t, appCatalog(
				"    - {name: b, tag: cluster, requires: [{service: app}], config: {type: file, title: /b, parameters: {content: b}}}"))["app"]})
		}, `service "app": entity.tasks[0].requires: tasks wait for each other: http[app/a] requires file[/b] requires file[/c] requires http[app/a]`},
		"the same resource as another service": {"    - {name: a, config: {type: file, title: /etc/motd, parameters: {content: a}}}", nil,
			`service "motd": configuration.file["/etc/motd"]: the service "app" brings file[/etc/motd] as well`},
		"replaced twice": {`
    - {name: a, replaces: ['file[/old]'], config: {type: file, title: /a, parameters: {content: a}}}
    - {name: b, replaces: ['file[/old]'], config: {type: file, title: /b, parameters: {content: b}}}`, nil,
			`entity.tasks[1].replaces: file[/b] replaces file[/old], which file[/a] of the service "app" replaces as well`},
		"replaces what is wanted": {"    - {name: a, replaces: ['file[/etc/motd]'], config: {type: file, title: /a, parameters: {content: a}}}", nil,
			`entity.tasks[0].replaces: file[/a] replaces file[/etc/motd], which the service "motd" brings to the node`},
		"an attribute that slipway sets": {"    - {name: a, config: {type: file, title: /a, parameters: {content: a}}}",
			func(s *site.Site) { s.Services[1].Attributes = map[string]any{"id": "x"} },
			`service "app": attributes.id: `},
		"a template that fails on one node": {`
    - {name: a, config: {type: file, title: /a, parameters: {content: "${node.labels.x}"}}}`, func(s *site.Site) {
			for i := range s.Nodes {
				if s.Nodes[i].Name != "c2" {
					s.Nodes[i].Labels = map[string]string{"x": "y"}
				}
			}
		}, `service "app": entity.tasks[0].config.parameters.content: `},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := one()
			s.Services = []site.Service{
				{Name: "motd", Configuration: conf{"file": titles{"/etc/motd": {"content": "x"}}}},
				{Name: "app", Entity: entitiesOf(t, appCatalog(tt.tasks))["app"]},
			}
			if tt.change != nil {
				tt.change(&s)
			}
			p, errs := planner.Make(s, nil, nil)
			if p != nil || !strings.Contains(errs.Error(), tt.want) {
				t.Errorf("got\n%v\nwant %s", errs, tt.want)
			}
		})
	}
}

func TestWhatIsReplacedIsNotRemoved(t *testing.T) {
	s := one()
	s.Services = []site.Service{{Name: "app", Entity: entitiesOf(t, appCatalog(
		"    - {name: a, replaces: ['file[/old]'], config: {type: file, title: /new, parameters: {content: a}}}"))["app"]}}
	applied := planner.Applied{"a1": map[resource.ID]string{"file[/old]": "d", "file[/other]": "d"}}
	for _, id := range []resource.ID{"file[/other]", "file[/new]"} {
		taskOf(t, mustMake(t, s, applied, nil), "a1", id)
	}
	for _, phase := range mustMake(t, s, applied, nil).Phases {
		for _, made := range phase.Tasks {
			if made.Resource.ID() == "file[/old]" {
				t.Errorf("%s of what is replaced", made.Action)
			}
		}
	}
}
