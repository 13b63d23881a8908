package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Prior is what a plan starts from when the site is known already.
type Prior struct {
	State State
	// Nodes are those of the last run with their own connections, as far as the prior state has them.
	Nodes []site.Node
	// Imported says that nothing but the name of the site is known yet.
	Imported    bool
	Drift       planner.Drift
	Unreachable []string // nodes that did not answer the last check or run
	// Active is the run that was handed over and active when the prior state was read; empty: none was. The state does not
	// have its outcome, and a run that executes a request does not need it.
	Active string `json:"-"`
}

// Settings are what a plan depends on beside the site.
type Settings struct {
	CheckAll   bool            // every configuration resource is checked and applied again
	Connection site.Connection // the defaults of the nodes' own connections
	// Unreached says that the connections are not known as a whole: no node can be reached, and places do not count.
	Unreached bool
	Cache     *Cache // of the site; nil caches nothing
	Secrets   Secrets

	// Owner is the lineage of the state in which the site is remembered; empty: Terraform's. A node on which the site is
	// that of another state is refused, unless TakeOver names its owner. Plans do not depend on them.
	Owner, TakeOver string
}

// Planned is what a plan shows and its run does, and what both start from.
type Planned struct {
	Site     site.Site            // as it is desired; its nodes, as all below, have the connections that count
	Services *services.Transition // of its services
	Deployed site.Site            // the same with the services that are deployed, and their attributes that count
	Plan     *planner.Plan        // its digest covers the services
	Owners   planner.Owners       // what services bring, before the run and after it; nil where none changes
	Before   []site.Node          // the nodes of the last run, and those that were given up
	Left     []planner.Left       // machines that left while their names stay
	Unsure   map[string]string    // machines that left and may be machines of the site: name -> node
	Applied  planner.Applied      // by the nodes' present names
	Drift    planner.Drift        // likewise

	given    []site.Node                  // of Site, with what they give themselves of their connections
	machines map[string]converge.Identity // of the nodes and of those that left, as they were last seen
	cache    *Cache
	silent   []string // nodes that did not answer the last check or run
}

// Plan returns what a run does that brings a site from prior to s. prior is nil for a site that is not known. When
// anything is invalid there is no plan. It is pure: equal input gives equal output, byte for byte.
func Plan(prior *Prior, s site.Site, o Settings) (*Planned, invalid.Errors) {
	return plan(prior, s, o, time.Time{})
}

// plan is Plan; at is the time of its changes in the history of services, and counts for nothing else.
func plan(prior *Prior, s site.Site, o Settings, at time.Time) (*Planned, invalid.Errors) {
	if prior == nil {
		prior = &Prior{}
	}
	past := prior.State.of(s)
	before := past.WithGiven(past.Reaching(prior.Nodes))
	given := s.Nodes
	var errs, more invalid.Errors
	if !o.Unreached {
		s.Nodes, before = Reach(s.Nodes, o.Connection), Reach(before, o.Connection)
		errs = site.ValidatePlaces(s.Nodes)
	}
	p := &Planned{Site: s, Before: before, given: given, cache: o.Cache, silent: prior.Unreachable}
	p.Site.Values = past.Values
	p.Applied, p.Drift, p.Left, more = planner.Relocate(before, s.Nodes, past.Applied, prior.Drift, past.reached)
	errs = append(errs, more...)
	p.Unsure = planner.Unsure(p.Left, past.Unsure, s.Nodes, past.apart)
	p.machines = past.machinesOf(before, s.Nodes)
	errs = append(errs, oneMachine(s.Nodes, p.machines)...)
	p.Site.Facts = factsOf(p.machines)
	p.keepMachines(past.Machines)
	if o.CheckAll {
		p.Applied = p.Applied.Unfinished()
	}
	errs = append(errs, p.make(past.Services, at)...)
	errs = append(errs, p.unread()...)
	errs.Sort()
	if len(errs.Errors()) > 0 {
		return nil, errs
	}
	return p, errs
}

// Reach returns nodes with their own connections over the defaults. The nodes given are not changed.
func Reach(nodes []site.Node, defaults site.Connection) []site.Node {
	out := make([]site.Node, len(nodes))
	for i, n := range nodes {
		n.Connection = n.Connection.OfNode().Over(defaults)
		out[i] = n
	}
	return out
}

// Steps returns what is done, a line each, services first.
func (p *Planned) Steps() []string { return append(p.Services.Steps(), p.Plan.Steps()...) }

// Empty reports whether there is nothing to do.
func (p *Planned) Empty() bool { return p.Plan.Empty() && len(p.Services.Changes()) == 0 }

// Frozen refuses work while the site is frozen. work are the steps that are certain.
func (p *Planned) Frozen(work []string) (m Messages) {
	if p.Site.Freeze != "" && len(work) > 0 {
		m = append(m, frozen(p.Site.Freeze, "there is work, and none of it may be done:\n\n"+stepsOf(FirstLines(work))+
			"\nTake the changes back, or take freeze away when the work may be done."))
	}
	return m
}

func frozen(reason, so string) *Message {
	return &Message{Attribute: "freeze", Summary: "The deployment is frozen", Detail: fmt.Sprintf("freeze is %q: %s",
		reason, so)}
}

// Losses returns what the run takes away.
func (p *Planned) Losses() planner.Losses {
	losses := p.Plan.Losses(p.Applied, p.Unsure)
	losses.Silent = p.silent
	return losses
}

// Since lets the steps say which overrides are the reason of a change: those that the site did not have before, and
// those that it has no more. It lets the losses leave out what another title of the same object takes over. A site that
// cannot be planned any more counts as one that wanted nothing.
func (p *Planned) Since(before site.Site) {
	var former planner.Former
	if len(before.Overrides) > 0 || len(p.Losses().Removed) > 0 {
		before.Values, before.Facts = p.Site.Values, p.Site.Facts
		former, _ = p.cache.formerOf(before)
	}
	p.Plan.Since(former, p.Applied)
}

// Again plans a site of the same name with what is applied instead, as far as nodes are concerned: services stay.
func (p *Planned) Again(s site.Site, applied planner.Applied) (*planner.Plan, invalid.Errors) {
	return p.cache.plan(s, applied, p.Drift)
}

// Busy returns the nodes on which services that change bring anything: they may be deployed a second time there.
func (p *Planned) Busy() map[string]bool {
	changing, busy := p.Services.Changing(), make(map[string]bool)
	for node := range p.Owners {
		for _, service := range p.Owners.On(node) {
			if changing[service] {
				busy[node] = true
			}
		}
	}
	for _, node := range p.Plan.Waiting {
		delete(busy, node)
	}
	return busy
}

// Returning returns the attributes of services that callbacks of the plan set, without sensitive ones.
func (p *Planned) Returning() map[string][]string {
	due := make(map[string]bool)
	for _, phase := range p.Plan.Phases {
		for _, t := range phase.Tasks {
			if t.Kind == task.Callback {
				due[t.Name] = true
			}
		}
	}
	out := make(map[string][]string)
	for _, s := range p.Deployed.Services {
		if s.Entity == nil || len(due) == 0 {
			continue
		}
		for _, r := range returned(s.Entity) {
			if due[s.Name+"/"+r.task] && !r.Sensitive {
				out[s.Name] = append(out[s.Name], r.Name)
			}
		}
	}
	return out
}

// keepMachines adds which machines the nodes were that leave the site.
func (p *Planned) keepMachines(known map[string]converge.Identity) {
	inSite := make(map[string]bool, len(p.Site.Nodes))
	for _, n := range p.Site.Nodes {
		inSite[n.Name] = true
	}
	for _, n := range p.Before {
		if id, ok := known[n.Name]; ok && !inSite[n.Name] {
			p.machines[n.Name] = id
		}
	}
	for _, l := range p.Left {
		if id, ok := known[l.Node]; ok {
			p.machines[l.Name] = id
		}
	}
}

// make plans the services first, then the site with those that are deployed.
func (p *Planned) make(inventory services.Inventory, at time.Time) invalid.Errors {
	var errs, more invalid.Errors
	p.Services, errs = services.Plan(inventory, p.Site, at)
	if len(errs.Errors()) > 0 {
		// The site with all its services shows everything else that is wrong.
		_, more = p.cache.plan(p.Site, p.Applied, p.Drift)
		return errs.Join(more)
	}
	errs = errs.Join(p.Site.Validate()) // not all services that are wanted are deployed now
	p.forget()
	p.Deployed = p.Services.Site()
	p.Deployed.Values = p.Site.Values
	p.Plan, more = p.cache.plan(p.Deployed, p.Applied, p.Drift)
	errs = errs.Join(more)
	if p.Plan == nil {
		return errs
	}
	p.own(inventory)
	p.Services.Wait(p.waiting(p.Plan, p.Owners))
	var err error
	if p.Plan.Digest, err = p.Services.Digest(p.Plan.Digest); err != nil {
		return append(errs, invalid.Error{Object: "deployment", Name: p.Site.Name, Code: invalid.BadStructure,
			Message: err.Error()})
	}
	return append(errs, p.undivided()...)
}

// own finds what services bring, where any changes.
func (p *Planned) own(inventory services.Inventory) {
	if len(p.Services.Changing()) == 0 {
		return
	}
	// What services brought shows later which removals are whose. A site that cannot be planned any more leaves that
	// open.
	p.Owners = planner.Owners{}
	if before, more := services.Unchanged(inventory, p.Site); len(more.Errors()) == 0 {
		rest := before.Site()
		rest.Values = p.Site.Values
		if owners, _ := p.cache.ownersOf(rest); owners != nil {
			p.Owners = owners
		}
	}
	if now, more := p.cache.ownersOf(p.Deployed); len(more.Errors()) == 0 {
		p.Owners.Add(now)
	}
}

// waiting returns the services of which tasks of a plan wait for approval. What a service had that is being deleted,
// only the run that started its deletion knows: a removal of which nobody knows whose it is may be its.
func (p *Planned) waiting(plan *planner.Plan, owners planner.Owners) map[string]bool {
	out := plan.WaitingServices(owners)
	if out[""] {
		for name := range p.Services.Changing() {
			out[name] = out[name] || !p.Services.Wanted(name)
		}
	}
	return out
}

// HasChanges reports whether the run has work or moves services.
func (p *Planned) HasChanges() bool { return !p.Plan.Empty() || p.Services.HasChanges() }

// undivided refuses a limit that divides a service of an entity that changes: its lifecycle knows the service as a
// whole. Approval may divide one: it changes until its last node is approved.
func (p *Planned) undivided() (errs invalid.Errors) {
	if p.Site.Limit == nil {
		return nil
	}
	outside := map[string][]string{}
	for _, node := range slices.Sorted(maps.Keys(p.Owners)) {
		for _, service := range p.Owners.On(node) {
			if p.Plan.Outside(node) {
				outside[service] = append(outside[service], node)
			}
		}
	}
	for _, service := range slices.Sorted(maps.Keys(p.Services.Changing())) {
		if nodes := outside[service]; len(nodes) > 0 {
			errs = append(errs, invalid.Error{Object: "deployment", Name: p.Site.Name, Attribute: "limit",
				Code: invalid.BadValue, Message: fmt.Sprintf("service %q changes, which it does as a whole, and is also on nodes "+
					"outside of the limit: %s; name them, too", service, strings.Join(FirstLines(nodes), ", "))})
		}
	}
	return errs
}

// forget drops what callbacks returned for services that are replaced: the new ones ask for values of their own.
func (p *Planned) forget() {
	for _, c := range p.Services.Changes() {
		if c.Kind != services.Replace {
			continue
		}
		p.Site.Values = maps.Clone(p.Site.Values)
		delete(p.Site.Values, c.Service)
		ran := maps.Clone(p.Applied[planner.Controller])
		for id := range ran {
			if _, title, _ := strings.Cut(string(id), "["); strings.HasPrefix(title, c.Service+"/") {
				ran[id] = ""
			}
		}
		if len(ran) > 0 {
			p.Applied = maps.Clone(p.Applied)
			p.Applied[planner.Controller] = ran
		}
	}
}
