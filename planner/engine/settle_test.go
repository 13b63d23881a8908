package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

const catalog = `catalog:
  entities:
    web:
      identity: name
      attributes:
        name: string
        size: {type: int, modifier: rw+, default: 1}
        port: {type: int, modifier: r, allocate: {integer: {from: 8000, to: 8001}}}
      tasks:
      - name: file
        config: {type: file, title: "/etc/web-${self.name}", parameters: {content: "${self.size} ${self.port}\n"}}
`

func parse(t *testing.T, services ...string) site.Site {
	t.Helper()
	text := "site: s\nnodes: [{name: n1, address: 192.0.2.1}]\nservices:\n"
	for _, s := range services {
		text += "- {selectors: [], " + s + "}\n"
	}
	s, err := document.ParseSite([]document.Source{{Name: "s.yaml", Data: []byte(text + catalog)}}, document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Site
}

func settle(t *testing.T, s site.Site) *engine.Prior {
	t.Helper()
	before, errs := engine.AfterFirstRun(s)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return before
}

func TestMake(t *testing.T) {
	const a, b, plain = "name: a, entity: web, attributes: {name: a}", "name: b, entity: web, attributes: {name: b}", "name: c, configuration: {file: {/c: {content: x}}}"
	for name, tt := range map[string]struct {
		was, now []string
		want     []string
	}{
		"without services of entities": {nil, []string{plain}, []string{
			"1. default (critical): prepare 1 node (n1)", "2. default (critical): node phase: 1 change on node n1: create file[/c]"}},
		"first run": {nil, []string{a, plain}, []string{
			"service a: create (version 2, creating)",
			"1. default (critical): prepare 1 node (n1)", "2. default (critical): node phase: 2 changes on node n1: create file[/etc/web-a], file[/c]"}},
		"nothing": {[]string{a, b, plain}, []string{plain, b, a}, nil},
		// The port of b was given out before, so that of a is not b's; without --applied it would be.
		"allocated values stay": {[]string{b}, []string{a, b}, []string{
			"service a: create (version 2, creating)",
			"1. default (critical): prepare 1 node (n1)", "2. default (critical): node phase: 1 change on node n1: create file[/etc/web-a]"}},
		"update and removal": {[]string{a, b}, []string{strings.Replace(a, "name: a}", "name: a, size: 2}", 1)},
			[]string{
				"service a: update size (version 5, up to update_inprogress)", "service b: delete (version 5, up to deleting)",
				"1. default (critical): prepare 1 node (n1)", "2. default (critical): node phase: 2 changes on node n1: remove file[/etc/web-b], update file[/etc/web-a]"}},
	} {
		t.Run(name, func(t *testing.T) {
			var before *engine.Prior
			if tt.was != nil {
				before = settle(t, parse(t, tt.was...))
			}
			made, errs := engine.Plan(before, parse(t, tt.now...), engine.Settings{Unreached: true})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if d := cmp.Diff(tt.want, made.Steps()); d != "" || made.Empty() != (tt.want == nil) {
				t.Errorf("empty: %t, %s", made.Empty(), d)
			}
			again, _ := engine.Plan(before, parse(t, tt.now...), engine.Settings{Unreached: true})
			if again.Plan.Digest != made.Plan.Digest {
				t.Error("the same input has another digest")
			}
		})
	}
}

// The digest covers what happens to services, also where nodes do not show it.
func TestDigest(t *testing.T) {
	digest := func(service string) string {
		t.Helper()
		made, errs := engine.Plan(nil, parse(t, service), engine.Settings{Unreached: true})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return made.Plan.Digest
	}
	a := digest("name: a, entity: web, attributes: {name: a}")
	if b := digest("name: a, entity: web, attributes: {name: a}, rollback_on_failure: true"); a == b {
		t.Error("a rollback on failure does not show in the digest")
	}
}

// Errors in services do not hide other errors, and none is reported twice.
func TestEverythingIsTold(t *testing.T) {
	s := parse(t, "name: a, entity: web, attributes: {name: a}", "name: b, entity: web, attributes: {name: b}",
		"name: c, entity: web, attributes: {name: c}",
		"name: d, entity: web, attributes: {naem: d}", "name: e, configuration: {fiel: {/a: {}}}", "name: e, configuration: {}")
	want := []string{
		`service "c": attributes.port: `, `service "d": attributes.naem: `, `service "d": attributes.name: `, `service "e": configuration.fiel: `, `service "e": name: `,
	}
	_, made := engine.Plan(nil, s, engine.Settings{Unreached: true})
	_, settled := engine.AfterFirstRun(s)
	for name, errs := range map[string]invalid.Errors{"Check": engine.Validate(s), "Make": made, "Settle": settled} {
		for _, w := range want {
			found := 0
			for _, p := range errs.Errors() {
				if strings.HasPrefix(p.Error(), w) {
					found++
				}
			}
			// A pool is asked when everything else is right.
			if most := 1; found > most || found == 0 && !strings.Contains(w, "port") {
				t.Errorf("%s: %d problems %s in\n%v", name, found, w, errs)
			}
		}
	}
	s.Services = s.Services[:3]
	if errs := engine.Validate(s); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want[0]) {
		t.Errorf("got %v", errs)
	}
}

// Two services of one name are told although only one of them is deployed, and so is a service that waits.
func TestWhatIsNotDeployed(t *testing.T) {
	const a = "name: a, entity: web, attributes: {name: a}"
	if errs := engine.Validate(parse(t, a, a)); len(errs) != 1 || errs[0].Code != invalid.Duplicate {
		t.Errorf("got %v", errs)
	}
	s := parse(t, a+", lifecycle: service, gates: {auto_creating: false}")
	s.Services[0].Selectors = site.Selectors{{NodeNames: []string{"n2"}}}
	if errs := engine.Validate(s); len(errs) != 2 || len(errs.Errors()) != 0 ||
		errs[1].Code != invalid.UnknownNode {
		t.Errorf("got %v", errs)
	}
}

// A lifecycle that never comes to rest is told.
func TestSettleEnds(t *testing.T) {
	s := parse(t, "name: a, entity: web, attributes: {name: a}")
	live := lifecycle.State{Export: true, ValidateSelf: lifecycle.Active, ValidateOthers: lifecycle.Active}
	state := func(name string) lifecycle.State { live.Name = name; return live }
	s.Services[0].Lifecycle = &lifecycle.Lifecycle{
		Name: "restless", Initial: "start",
		States: []lifecycle.State{{Name: "start", ValidateSelf: lifecycle.Candidate}, state("one"), state("two"),
			{Name: "gone", Deleted: true}},
		Transfers: []lifecycle.Transfer{
			{Source: "start", Target: "one", Trigger: lifecycle.Auto, Operation: lifecycle.Promote},
			{Source: "one", Target: "two", Error: "one", Trigger: lifecycle.ResourceBased},
			{Source: "two", Target: "one", Error: "two", Trigger: lifecycle.ResourceBased},
			{Source: "one", Target: "gone", Trigger: lifecycle.OnDelete},
		},
	}
	_, errs := engine.AfterFirstRun(s)
	if len(errs) != 1 || errs[0].Attribute != "lifecycle" ||
		!strings.Contains(errs[0].Message, "without an end") {
		t.Errorf("got %v", errs)
	}
}
