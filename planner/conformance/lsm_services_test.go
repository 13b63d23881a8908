package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// planRun is a site whose services go through plans and runs, as those of terraform apply do.
type planRun struct {
	entities map[string]vectorEntity
	state    services.Inventory
	site     site.Site
	history  map[string]map[int]services.Revision // of each service, by its versions
	ahead    map[string]int                       // validations of each service that the plan made, and that no step has reported yet
}

// TestServicesOfVectorsArePlanned takes the vectors of services through plans and runs, as far as these make their steps; TestVectors makes all of them,
// with the calls that plans and runs make.
func TestServicesOfVectorsArePlanned(t *testing.T) {
	listed, err := differences()
	if err != nil {
		t.Fatal(err)
	}
	f := loadFile(t, "testdata/lsm.yaml")
	steps := 0
	for _, v := range f.vectors {
		if _, differs := listed[f.name+"/"+v.id]; !differs && v.has("steps") {
			t.Run(v.id, func(t *testing.T) { steps += replayPlans(t, f, v) })
		}
	}
	if steps < 50 {
		t.Errorf("only %d steps were planned", steps)
	}
}

// replayPlans takes the steps of a vector that a plan, or the outcome of its run, makes: the wanted services change, services.Begin plans and validates,
// Conclude brings the outcome. It stops at the first step that none makes, such as a validation that fails, which leaves no plan, and returns
// how many it took.
func replayPlans(t testing.TB, f *file, v *vector) int {
	p := &planRun{entities: entitiesOf(t, f, v), site: site.Site{Name: "vectors"}, history: make(map[string]map[int]services.Revision), ahead: make(map[string]int)}
	if !p.given(t, items(t, v.keys["given"])) {
		return 0
	}
	steps := items(t, v.keys["steps"])
	for i, node := range steps {
		s := &lsmStep{id: "a", args: decode[map[string]yaml.Node](t, node)}
		if id, ok := s.args["id"]; ok {
			s.id = text(t, id)
		}
		do := text(t, s.args["do"])
		if fails(t, steps[i+1:], s.id) || !p.step(t, do, s) {
			return i
		}
		p.compare(t, s)
	}
	return len(steps)
}

// fails reports whether the validation that follows a step fails: then there is no plan.
func fails(t testing.TB, after []yaml.Node, id string) bool {
	if len(after) == 0 {
		return false
	}
	next := decode[map[string]yaml.Node](t, after[0])
	other, told := next["id"]
	return text(t, next["do"]) == "validation" && !flag(t, next["ok"]) && (!told || text(t, other) == id)
}

// wants returns the place of a service among the wanted ones, -1 for none.
func (p *planRun) wants(id string) int {
	return slices.IndexFunc(p.site.Services, func(s site.Service) bool { return s.Name == id })
}

// want adds a service that the configuration has.
func (p *planRun) want(id, entity string, attributes map[string]any, gates map[string]bool) {
	e := p.entities[entity]
	own := e.Machine.Lifecycle()
	p.site.Services = append(p.site.Services, site.Service{Name: id, Entity: e.Entity.Entity, Lifecycle: &own, Attributes: attributes, Gates: e.gates(gates)})
}

// given makes the state that earlier runs left: services at rest. Others have no plan.
func (p *planRun) given(t testing.TB, list []yaml.Node) bool {
	var all []lifecycle.Instance
	for _, node := range list {
		in := instanceOf(t, node)
		auto, leaves := p.entities[in.Entity].Machine.Transfer(in.State, lifecycle.Auto)
		if in.Deleted || in.Candidate != nil || in.Active == nil || leaves && auto.Validate {
			return false
		}
		all = append(all, in)
		p.want(in.ID, in.Entity, unallocated(p.entities[in.Entity].Entity.Entity, in.Active), in.Config)
	}
	transition, errs := services.Plan(services.Inventory{}, p.site, time.Time{})
	if len(errs.Errors()) > 0 {
		return false // what was there before cannot be made anew
	}
	p.state = transition.State()
	for _, in := range all {
		r := p.state.Records[in.ID]
		under := r.Definition
		in.EntityVersion, in.Config = r.EntityVersion, r.Config
		in.Definitions.Active = under
		if in.Rollback != nil {
			in.Definitions.Rollback = under
		}
		r.Instance, r.ActiveVersion = in, in.Version
		p.state.Records[in.ID] = r
	}
	return true
}

// unallocated returns attributes without those that slipway sets, which no configuration has.
func unallocated(e *catalog.Entity, attributes map[string]any) map[string]any {
	out, _ := copied(attributes).(map[string]any)
	drop := func(s catalog.Structure, from map[string]any) {
		for _, a := range s.Attributes {
			if a.Modifier == catalog.Allocated {
				delete(from, a.Name)
			}
		}
	}
	drop(e.Structure, out)
	for _, embedded := range e.Embedded {
		children, _ := out[embedded.Name].([]any)
		for _, child := range children {
			if object, ok := child.(map[string]any); ok {
				drop(embedded.Structure, object)
			}
		}
	}
	return out
}

// step plans a step, or brings the outcome of its run. It is false for one that no plan makes.
func (p *planRun) step(t testing.TB, do string, s *lsmStep) bool {
	r, exists := p.state.Records[s.id]
	if version, told := s.args["version"]; told && (!exists || number(t, version) != r.Version) || !told && slices.Contains([]string{"update", "delete", "set_state"}, do) {
		return false // Terraform plans on what it has read
	}
	if do == "validation" {
		p.ahead[s.id]--
	} else if p.ahead[s.id] > 0 || r.Candidate != nil {
		return false // a plan validates at once, and brings what is wanted along
	}
	wanted := slices.Clone(p.site.Services)
	refused := func() bool { p.site.Services = wanted; return false }
	at := p.wants(s.id)
	switch do {
	case "query":
		return s.args["expect"].Kind == 0
	case "validation":
		return flag(t, s.args["ok"]) && s.args["allocated"].Kind == 0 && s.args["for_version"].Kind == 0 // it was a part of the plan
	case "resources":
		return s.args["dsv"].Kind == 0 && p.conclude(t, s.id, outcomeOf(t, s.args["outcome"]))
	case "create":
		if exists || s.args["initial_state"].Kind != 0 {
			return false
		}
		p.want(s.id, text(t, s.args["entity"]), attributesOf(t, s.args["attrs"]), s.gates(t))
	case "update":
		if at < 0 {
			return false
		}
		service := p.site.Services[at]
		service.Attributes = unallocatedUnlessGiven(t, s, service.Entity, s.wanted(t, service.Entity, r.Base()), r.Base())
		p.site.Services = slices.Clone(p.site.Services)
		p.site.Services[at] = service
	case "delete":
		if at < 0 {
			return false
		}
		p.site.Services = slices.Delete(slices.Clone(p.site.Services), at, at+1)
	case "set_state":
		if at < 0 {
			return false
		}
		p.site.Services = slices.Clone(p.site.Services)
		p.site.Services[at].TargetState = text(t, s.args["target"])
	default:
		return false
	}
	transition, errs := services.Plan(p.state, p.site, time.Time{})
	if i := p.wants(s.id); i >= 0 {
		p.site.Services[i].TargetState = ""
	}
	want := text(t, mapping(t, s.args["expect"])["error"])
	if want == "" && len(errs.Errors()) > 0 {
		t.Errorf("step %s: %v", do, errs)
		return refused()
	}
	if want != "" && len(errs.Errors())+len(transition.Changes()) > 0 {
		p.refusal(t, s, want, transition, errs.Errors())
		return refused()
	}
	if want != "" {
		return refused()
	}
	p.took(transition)
	return len(transition.Changes()) > 0 // else what is asked for is there already, or on its way
}

// unallocatedUnlessGiven leaves out what slipway set and the step says nothing else of.
func unallocatedUnlessGiven(t testing.TB, s *lsmStep, e *catalog.Entity, attributes, base map[string]any) map[string]any {
	if s.args["edits"].Kind != 0 || s.args["put"].Kind != 0 {
		return attributes
	}
	out := maps.Clone(attributes)
	for _, a := range e.Attributes {
		if _, said := attributesOf(t, s.args["patch"])[a.Name]; !said && a.Modifier == catalog.Allocated {
			delete(out, a.Name)
		}
	}
	return out
}

// refusal compares why a plan is refused. What is fixed makes a plan another service instead, and a plan looks for a way to what the state allows not.
func (p *planRun) refusal(t testing.TB, s *lsmStep, want string, transition *services.Transition, errs invalid.Errors) {
	t.Helper()
	path := text(t, mapping(t, s.args["expect"])["path"])
	for _, wrong := range errs {
		at := strings.TrimPrefix(wrong.Attribute, "attributes.")
		if string(wrong.Code) == want && (path == "" || withoutPlaces(at) == path || at == path) {
			return
		}
	}
	replaced := slices.ContainsFunc(transition.Changes(), func(c services.Change) bool { return c.Service == s.id && c.Kind == services.Replace })
	if slices.Contains([]string{"immutable_attribute", "identity_immutable"}, want) && replaced || want == "transfer_not_allowed" && len(errs) == 0 {
		return
	}
	t.Errorf("the plan has %v, %v; want %s %s", errs, transition.Changes(), want, path)
}

// withoutPlaces takes the numbers of elements out of a path.
func withoutPlaces(path string) string {
	for {
		before, rest, ok := strings.Cut(path, "[")
		if !ok {
			return path
		}
		_, after, _ := strings.Cut(rest, "]")
		path = before + after
	}
}

// conclude brings the outcome of a service's tasks; nothing is known of the others.
func (p *planRun) conclude(t testing.TB, id string, outcome lifecycle.Outcome) bool {
	t.Helper()
	transition, errs := services.Unchanged(p.state, p.site)
	if len(errs.Errors()) > 0 {
		t.Fatal(errs)
	}
	outcomes := make(map[string]services.Outcome)
	for name := range p.state.Records {
		outcomes[name] = services.Outcome{Outcome: lifecycle.Waiting}
	}
	outcomes[id] = services.Outcome{Outcome: outcome}
	transition.Conclude(outcomes, time.Time{})
	p.took(transition)
	return true
}

// took keeps what a transition did.
func (p *planRun) took(transition *services.Transition) {
	for _, v := range transition.Revisions() {
		if p.history[v.Service] == nil {
			p.history[v.Service] = make(map[int]services.Revision)
		}
		p.history[v.Service][v.Version] = v
	}
	for _, e := range transition.Events() {
		if e.Step == lifecycle.Validating {
			p.ahead[e.Service]++
		}
	}
	p.state = transition.State()
}

// compare looks the version up that a step expects: a plan goes through several at once.
func (p *planRun) compare(t testing.TB, s *lsmStep) {
	t.Helper()
	k := mapping(t, s.args["expect"])
	if _, told := k["version"]; !told {
		return
	}
	in := p.state.Records[s.id].Instance
	if version := number(t, k["version"]); in.Version != version {
		v, ok := p.history[s.id][version]
		if !ok {
			t.Errorf("%s has no version %d; it is at %d in %s", s.id, version, in.Version, in.State)
			return
		}
		in.State, in.Version, in.Deleted = v.State, v.Version, v.Deleted
		in.Sets = lifecycle.Sets{Candidate: v.Candidate, Active: v.Active, Rollback: v.Rollback}
	}
	for key, got := range map[string]any{"state": in.State, "candidate": anySet(in.Candidate), "active": anySet(in.Active), "rollback": anySet(in.Rollback), "deleted": in.Deleted} {
		if node, ok := k[key]; ok {
			if d := cmp.Diff(plainValue(t, node), got); d != "" {
				t.Errorf("planned: %s of %s, version %d (-want +got):\n%s", key, s.id, in.Version, d)
			}
		}
	}
	for _, hop := range items(t, k["trace"]) {
		pair := decode[[]yaml.Node](t, hop)
		if got := p.history[s.id][number(t, pair[0])].State; got != text(t, pair[1]) {
			t.Errorf("planned: version %s of %s is in %s, want %s", pair[0].Value, s.id, got, pair[1].Value)
		}
	}
}
