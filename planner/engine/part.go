package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog/template"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Part is the plan of the known part of a site, and what of it stays when everything is known.
type Part struct {
	*Planned
	site.Lacking
	past  State
	shown *planner.Plan       // also with the nodes of which only the connection is not known, as far as it can be made
	reads map[string][]string // service of an entity -> what of a node its templates read
	sure  map[taskKey]bool
}

// Part returns the planned site as the part of one of which something is not known yet.
func (p *Planned) Part(l site.Lacking, past State) *Part {
	out := &Part{Planned: p, Lacking: l, past: past, shown: p.Plan, reads: make(map[string][]string)}
	for _, s := range p.Deployed.Services {
		if s.Entity == nil {
			continue
		}
		out.reads[s.Name] = nil
		tasks, _ := template.Compile(*s.Entity, 0)
		for _, t := range tasks {
			out.reads[s.Name] = append(out.reads[s.Name], t.NodeReads...)
		}
	}
	if len(l.Absent) > 0 {
		out.showWhole()
	}
	out.sure = out.stay()
	return out
}

// showWhole shows the plan of the site with the nodes of which only the connection is not known: they count for where
// callbacks of whole services run.
func (p *Part) showWhole() {
	whole, errs := p.Again(p.whole(), p.Applied)
	if len(errs.Errors()) > 0 {
		return
	}
	overrode := make(map[taskKey][]string)
	for _, phase := range p.Plan.Phases {
		for _, t := range phase.Tasks {
			overrode[keyOf(t)] = t.Overrode
		}
	}
	for _, phase := range whole.Phases {
		for i, t := range phase.Tasks {
			phase.Tasks[i].Overrode = overrode[keyOf(t)]
		}
	}
	p.shown = whole
}

const unknownSteps = "The steps are not known yet"

// Unplanned is the warning of a site that cannot be planned before the apply: every step may depend on what is not
// known, or reason says what is missing for a plan.
func Unplanned(l site.Lacking, past State, reason string) Messages {
	var m Messages
	if l.Attribute != "" {
		m.warn(unknownSteps, "%s", l.Attribute+" is not known before the apply, and every step may depend on it."+
			uncounted(l.Attribute, past))
		return m
	}
	if reason != "" {
		reason = ":\n" + reason
	}
	m.warn(unknownSteps, "%s", listed(l)+"Without that the site cannot be planned"+reason+uncounted("nodes", past))
	return m
}

// HasWork reports whether the run has work, whatever becomes of what is not known.
func (p *Part) HasWork() bool { return len(p.certain()) > 0 || p.addsWork() }

// Warning says what is certain of a run. Terraform takes no list whose length is not known, so the steps are in a
// warning, which names what they lack.
func (p *Part) Warning(run int64) Messages {
	var m Messages
	perhaps := p.lines(func(t task.Task) bool { return !p.sure[keyOf(t)] && !p.hides(t) && !p.isLeftOut(t.Node) })
	_, torn := p.Losses()
	m.warn(summary(p.Lacking), "%s", listed(p.Lacking)+"The plan is made again in the apply, when everything is known. "+
		fmt.Sprintf("What is certain of run %d:\n\n", run)+stepsOf(p.certain())+besides(perhaps)+p.notShown()+
		p.perhapsChanged()+p.later()+torn)
	return m
}

// certain returns the steps that stay when everything is known.
func (p *Part) certain() (lines []string) {
	for _, c := range p.Planned.Services.Changes() {
		if c.Kind != services.Delete || !p.Unnamed && !p.Wanted[c.Service] {
			lines = append(lines, c.String())
		}
	}
	return append(lines, p.lines(func(t task.Task) bool { return p.sure[keyOf(t)] })...)
}

// lines describes the tasks that wanted selects, without what depends on how many nodes have any: batches, and the
// failure budget.
func (p *Part) lines(wanted func(task.Task) bool) []string {
	part, partial := p.shown.Part(wanted), p.partlyServed()
	certain := p.shown.Part(func(t task.Task) bool { return p.sure[keyOf(t)] })
	part.LeaveOutBatches(func(g planner.Group) bool {
		all, sure := p.shown.InBatches(g.Name), certain.InBatches(g.Name)
		return p.Open[g.Name] || slices.ContainsFunc(g.Owned, func(node string) bool {
			return !slices.Contains(sure, node) && (partial[node] || slices.Contains(all, node))
		})
	})
	if len(p.Names) > 0 || p.Nameless {
		part.MayFail = nil
	}
	return part.Lines()
}

// stepsOf lists steps that have no numbers yet. Terraform does not break lines that are indented.
func stepsOf(lines []string) string {
	if len(lines) == 0 {
		return "  no steps\n"
	}
	return "  - " + strings.Join(lines, "\n  - ") + "\n"
}

func besides(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\nWhat may be done besides, depending on what is not known:\n\n" + stepsOf(lines)
}

// summary says how much is not known, and of what the steps are missing.
func summary(l site.Lacking) string {
	whole := site.Share{Lacks: len(l.Brings.IDs), Of: l.Resources.Of}
	nodes := site.Share{Lacks: l.Nodes.Lacks - len(l.Loose), Of: l.Nodes.Of}
	missing, n := shares(l.Groups, nodes, l.Services, whole)
	nodes.Lacks = len(l.Loose)
	inPart := site.Share{Lacks: l.Resources.Lacks - whole.Lacks, Of: l.Resources.Of}
	known, m := shares(site.Share{}, nodes, site.Share{}, inPart, l.Overrides)
	are := map[bool]string{true: " is ", false: " are "}
	switch {
	case n == 0 && len(l.Brings.Types) > 0:
		missing, n = "Resources of the services", 2
	case n+m == 0:
		return l.Places[0] + " is not known yet" // no list has it
	case n == 0:
		return known + are[m == 1] + "not known yet"
	}
	their := map[bool]string{true: "its", false: "their"}
	text := missing + are[n == 1] + "not known yet: " + their[n == 1] + " steps are missing"
	if m > 0 {
		text += ". " + known + are[m == 1] + "known in part"
	}
	return text
}

// shares lists how much of each kind is not known, and counts it.
func shares(of ...site.Share) (text string, n int) {
	var parts []string
	for i, what := range []string{"groups", "nodes", "services", "resources of the services", "overrides"}[:len(of)] {
		if share := of[i]; share.Lacks > 0 {
			n += share.Lacks
			parts = append(parts, fmt.Sprintf("%d of %d %s", share.Lacks, share.Of, what))
		}
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last], n
	}
	return strings.Join(parts, ""), n
}

// listed lists what is not known.
func listed(l site.Lacking) string {
	return "Not known before the apply:\n\n  " + strings.Join(FirstLines(l.Places), "\n  ") + "\n\n"
}

// notShown counts what may or may not be done and is not shown, because not even what it is is certain.
func (p *Part) notShown() string {
	removals, tasks := 0, 0
	for _, phase := range p.shown.Phases {
		for _, t := range phase.Tasks {
			switch {
			case p.isLeftOut(t.Node) || !p.hides(t):
			case t.Action == task.Remove:
				removals++
			case t.Action != task.Forget:
				tasks++
			}
		}
	}
	text := ""
	if removals > 0 {
		text = fmt.Sprintf("\nNot shown: what is removed because no service that is known brings it (%d). %s", removals,
			checkedInApply)
	}
	if tasks > 0 {
		text += fmt.Sprintf("\nNot shown: tasks whose templates read what is not known of their nodes (%d).\n", tasks)
	}
	return text
}

// perhapsChanged counts the nodes of the known part on which it depends on what is not known whether anything is done.
func (p *Part) perhapsChanged() string {
	perhaps := p.concerned()
	for key, certain := range p.sure {
		if certain {
			delete(perhaps, key.node)
		}
	}
	nodes := slices.DeleteFunc(slices.Sorted(maps.Keys(perhaps)), p.isLeftOut)
	if len(nodes) == 0 {
		return ""
	}
	return fmt.Sprintf("\nMay be changed, depending on what is not known: %s: %s.\n", nodeCount(nodes),
		strings.Join(FirstLines(nodes), ", "))
}

// later says what more is missing where the run may end for approval.
func (p *Part) later() string {
	if p.Plan.Limited == nil || !p.Site.Ends() {
		return ""
	}
	return "\nNot shown: what comes after a batch that is not approved. Whether it waits depends on what is not known.\n"
}

const checkedInApply = "protect is checked in the apply, before anything is touched.\n"

// uncounted says how many nodes may be torn down where an attribute that is not known keeps a site from being planned.
func uncounted(attribute string, past State) string {
	nodes := slices.Sorted(maps.Keys(planner.Destroyed(past.Applied).TornDown))
	if len(nodes) == 0 {
		return ""
	}
	name := attribute[:strings.IndexAny(attribute+".", ".[ ")]
	if name == "site" || name == "groups" || name == "nodes" {
		return fmt.Sprintf("\n\nUp to %s may be torn down: %s. %s", nodeCount(nodes),
			strings.Join(FirstLines(nodes), ", "), checkedInApply)
	}
	return "\n\nWhat is removed cannot be counted. " + checkedInApply
}

func nodeCount(nodes []string) string {
	if len(nodes) == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", len(nodes))
}

// Losses returns what the plan takes away, but for what may turn out to stay, and says which nodes may be torn down.
func (p *Part) Losses() (losses planner.Losses, perhaps string) {
	losses = p.Planned.Losses()
	var nodes []string
	for _, name := range p.Names {
		if _, is := losses.TornDown[name]; is && !p.Members[name] {
			nodes = append(nodes, name)
		}
		delete(losses.TornDown, name)
		delete(losses.Unsure, name)
	}
	if slices.Sort(nodes); len(nodes) > 0 {
		perhaps = fmt.Sprintf("\nMay be torn down, depending on what is not known: %s: %s. %s", nodeCount(nodes),
			strings.Join(FirstLines(nodes), ", "), checkedInApply)
	}
	for node, ids := range losses.Removed {
		ids = slices.DeleteFunc(ids, func(id resource.ID) bool {
			typ, title, _ := strings.Cut(string(id), "[")
			return p.mayStay(node, resource.Resource{Type: typ, Title: strings.TrimSuffix(title, "]")})
		})
		if losses.Removed[node] = ids; len(ids) == 0 {
			delete(losses.Removed, node)
		}
	}
	return losses, perhaps
}

// taskKey is what makes tasks of two plans the same, whatever they do.
type taskKey struct {
	node, name string
	group      task.Group
	resource   resource.ID
}

func keyOf(t task.Task) taskKey { return taskKey{t.Node, t.Name, t.Group, t.Resource.ID()} }

// isLeftOut reports whether a node is not in the known part.
func (p *Part) isLeftOut(node string) bool {
	_, is := slices.BinarySearch(p.Names, node)
	return is
}

// mayStay reports whether a resource that nobody known wants on a node may be wanted when everything is known.
func (p *Part) mayStay(node string, r resource.Resource) bool {
	if p.Brings.May(r) || p.MayOverride(node, r) {
		return true
	}
	n, unsure := p.Undecided[node]
	return unsure && slices.ContainsFunc(p.Deployed.Services, func(s site.Service) bool {
		_, brings := s.Configuration[r.Type][r.Title]
		switch certain := n.Selected(s.Selectors); {
		case !n.MaySelect(s.Selectors):
			return false
		case s.Entity == nil:
			return brings && !certain
		default:
			return !certain || p.readsUnknown(n, s.Name)
		}
	})
}

// readsUnknown reports whether a template of a service reads what is not known of a node.
func (p *Part) readsUnknown(n site.UndecidedNode, service string) bool {
	return slices.ContainsFunc(p.reads[service], func(attribute string) bool {
		return len(n.Lacks) > 0 && attribute == "" || slices.Contains(n.Lacks, attribute)
	})
}

// hides reports whether a task is not shown, because it may not be wanted when everything is known, or because a
// template of it reads what is not known of its node.
func (p *Part) hides(t task.Task) bool {
	return t.Action == task.Remove && p.mayStay(t.Node, t.Resource) ||
		t.Node != "" && slices.ContainsFunc(t.Owners(), func(service string) bool {
			return p.readsUnknown(p.Undecided[t.Node], service)
		}) ||
		t.Action == task.Forget && slices.Contains(p.Names, t.Node)
}

// stays reports whether a task stays when everything is known, in the step of its group. A machine that is torn down
// may come under another name, and what an override makes may be a service's.
func (p *Part) stays(t task.Task, group string) bool {
	made := t.Service == "" && len(t.Override) > 0
	comes := t.Action == task.Forget && (p.Nameless || len(p.Names) > 0)
	moves := p.Wavering[t.Node] || p.isLeftOut(t.Node) || t.Node == "" && t.Kind == task.Callback && p.mayMove(t, group)
	return !p.hides(t) && !comes && !moves && !p.MayOverride(t.Node, t.Resource) && (!made || !p.Brings.May(t.Resource))
}

// mayMove reports whether a callback of a whole service may run in another group than the given one, or not at all,
// when everything is known. In pre_node it runs in the first group with a node of the service, otherwise in the last
// one. An empty group: it runs before all of them or after.
func (p *Part) mayMove(t task.Task, group string) bool {
	if len(p.Undecided) == 0 {
		return false
	}
	index, owner := make(map[string]int), make(map[string]string)
	for i, g := range p.shown.Groups {
		index[g.Name] = i
		for _, node := range g.Owned {
			owner[node] = g.Name
		}
	}
	i := slices.IndexFunc(p.Deployed.Services, func(s site.Service) bool { return s.Name == t.Service })
	if i < 0 {
		return true
	}
	selectors, certain := p.Deployed.Services[i].Selectors, false
	for _, node := range selectors.Members(p.whole().Nodes) {
		in, owned := owner[node]
		if _, unsure := p.Undecided[node]; owned && !unsure {
			certain = certain || group == "" || in == group
		}
	}
	for _, n := range p.Undecided {
		if !n.MaySelect(selectors) {
			continue
		}
		if p.shown.Limited != nil { // whether the service is outside of the limit may depend on it
			return true
		}
		if n.Selected(selectors) && !slices.ContainsFunc(n.Owners, func(in string) bool {
			return in == "" || group != "" && in != group
		}) {
			certain = true
		}
		if group != "" && slices.ContainsFunc(n.Owners, func(in string) bool {
			return in != "" && (t.Group == task.PreNode && index[in] < index[group] ||
				t.Group != task.PreNode && index[in] > index[group])
		}) {
			return true
		}
	}
	return !certain
}

// stay returns the tasks of the plan that are done whatever becomes of what is not known: those that are left when
// resources with unknown parameters, or that overrides may concern, or whose templates read what is not known, come out
// as they are applied, and nothing changes on the nodes that are left out.
func (p *Part) stay() map[taskKey]bool {
	least, applied := p.shown, planner.Applied{}
	maps.Copy(applied, p.Applied)
	own := make(map[string]bool) // nodes whose part of applied is a copy
	for _, phase := range p.shown.Phases {
		for _, t := range phase.Tasks {
			on, id := t.Node, t.Resource.ID()
			if t.Kind == task.Callback {
				on, id = planner.Controller, planner.CallbackID(t)
			}
			remove, open := t.Action == task.Remove, len(t.Resource.Parameters.Unknown()) > 0 && applied[on][id] != ""
			if t.Node == "" || t.Action == task.PrepareNode || t.Action == task.Forget || remove ||
				!open && !p.MayOverride(t.Node, t.Resource) && !p.isLeftOut(t.Node) && !p.hides(t) {
				continue
			}
			if !own[on] {
				own[on], applied[on] = true, maps.Clone(applied[on])
				if applied[on] == nil {
					applied[on] = make(map[resource.ID]string)
				}
			}
			applied[on][id], least = t.Digest, nil
		}
	}
	if least == nil {
		site := p.Deployed
		if p.shown != p.Plan {
			site = p.whole()
		}
		least, _ = p.Again(site, applied) // the same site has a plan already
	}
	works := make(map[string]bool)
	for _, phase := range least.Phases {
		for _, t := range phase.Tasks {
			works[t.Node] = works[t.Node] || t.Action != task.PrepareNode && p.stays(t, phase.Group)
		}
	}
	sure := make(map[taskKey]bool)
	for _, phase := range least.Phases {
		for _, t := range phase.Tasks {
			sure[keyOf(t)] = p.stays(t, phase.Group) && works[t.Node]
		}
	}
	return sure
}

// whole returns the site with the nodes that are known but for their connections.
func (p *Part) whole() site.Site {
	s := p.Deployed
	s.Nodes = slices.Concat(s.Nodes, p.Absent)
	return s
}

// addsWork reports whether a node that is not wholly known certainly has work: it is new, and no machine that is known
// is left that it could be.
func (p *Part) addsWork() bool {
	known := func(name string) bool { _, there := p.Applied[name]; return there }
	if len(p.Absent) == 0 || len(p.Plan.Departed)+len(p.past.Given) > 0 || slices.ContainsFunc(p.Names, known) {
		return false
	}
	plan, errs := p.Again(p.whole(), p.Applied)
	if len(errs.Errors()) > 0 {
		return false
	}
	changed := plan.ChangedNodes()
	return slices.ContainsFunc(p.Absent, func(n site.Node) bool { return slices.Contains(changed, n.Name) })
}

// Foreseen is what of the state after a run is known before. A map is nil where not even its keys are certain, because
// Terraform takes a map with the keys that it will have in the end only: where the name of a node is not known, or
// where the state has other keys and the run may have no work, so that it keeps them.
type Foreseen struct {
	Nodes, Groups map[string]string
	ChangedNodes  map[string]int64
	Services      bool // the run concerns no service of an entity
}

// Foresee returns what of nodes and groups stays as it is, and leaves open what may change. differs reports whether the
// deployment certainly asks for something else than before, so that the apply does not keep the state as it is; names
// are the nodes of the prior state.
func (p *Part) Foresee(before Shown, differs bool, names []string) (out Foreseen) {
	s, concerned := p.whole(), p.concerned()
	for _, n := range s.Nodes { // whether one outside of the limit waits may depend on what is not known
		if p.Plan.Limited != nil && !p.Plan.Limited[n.Name] {
			concerned[n.Name] = true
		}
	}
	open := p.maybeCalling()
	ends, err := rollout.Foresee(s, p.Plan, concerned, open)
	if err != nil {
		return out
	}
	for name := range ends.Groups {
		if p.Site.Ends() { // whether it waits may depend on what is not known
			ends.Groups[name] = ""
		}
	}
	for _, name := range p.Names {
		ends.Nodes[name] = ""
		s.Nodes = append(slices.Clip(s.Nodes), site.Node{Name: name})
	}
	run := int64(UnknownRun)
	if p.HasWork() {
		run = before.Run + 1
	}
	differs = differs || p.otherNodes(names) || run != UnknownRun
	if groups := stages(ends.Groups); differs || sameKeys(before.Groups, groups) {
		out.Groups = steady(before.Groups, groups)
	}
	now := make(map[string]int64)
	for node := range concerned {
		now[node] = UnknownRun
	}
	for key, certain := range p.sure {
		if certain {
			now[key.node] = run
		}
	}
	nodes, changed := nodeStages(s.Nodes, stages(ends.Nodes)), lastRuns(before, p.andWaiting(s.Nodes), now)
	if !p.Nameless && (differs || sameKeys(before.Nodes, nodes)) {
		out.Nodes = steady(before.Nodes, nodes)
	}
	if !p.Nameless && (run != UnknownRun || sameKeys(before.ChangedNodes, changed)) { // a run without work keeps the map
		out.ChangedNodes = changed
	}
	inventory := site.NewNodeIndex(s.Nodes)
	out.Services = !p.Entities && len(p.Planned.Services.Changing()) == 0 &&
		!slices.ContainsFunc(s.Services, func(service site.Service) bool {
			return service.Entity != nil && slices.ContainsFunc(inventory.Members(service.Selectors),
				func(n string) bool { return concerned[n] })
		})
	return out
}

// maybeCalling returns the groups that may have more members than in the known part, or a callback of a whole service.
func (p *Part) maybeCalling() map[string]bool {
	open := maps.Clone(p.Open)
	if p.Entities { // one that is left out may be in any group
		for _, g := range p.Plan.Groups {
			open[g.Name] = true
		}
		return open
	}
	s, partial := p.whole(), p.partlyServed()
	inventory := site.NewNodeIndex(s.Nodes)
	for _, service := range s.Services {
		if service.Entity == nil {
			continue
		}
		concerned, groups := false, map[string]bool{}
		nodes := inventory.Members(service.Selectors)
		for _, node := range nodes {
			concerned = concerned || partial[node]
		}
		for _, n := range p.Undecided {
			if n.MaySelect(service.Selectors) {
				concerned = true
				for _, in := range n.Owners {
					groups[in] = true
				}
			}
		}
		if !concerned {
			continue
		}
		for _, g := range p.Plan.Groups {
			open[g.Name] = open[g.Name] || groups[g.Name] ||
				slices.ContainsFunc(g.Owned, func(node string) bool { return slices.Contains(nodes, node) })
		}
	}
	return open
}

// concerned returns the nodes on which the run may do anything.
func (p *Part) concerned() map[string]bool {
	out := p.Busy()
	maps.Copy(out, p.partlyServed())
	for _, names := range [][]string{p.Plan.ChangedNodes(), p.Names} {
		for _, name := range names {
			out[name] = true
		}
	}
	return out
}

// partlyServed returns the nodes on which a service may be of which something is left out, those that may have more
// services, and those that more overrides may concern.
func (p *Part) partlyServed() map[string]bool {
	s, out := p.whole(), make(map[string]bool)
	maps.Copy(out, p.Loose)
	for node := range p.Overriding {
		out[node] = true
	}
	inventory, placed := site.NewNodeIndex(s.Nodes), slices.Clone(p.Partial)
	if p.Anywhere {
		placed = append(placed, site.Service{}) // no selectors: all nodes
	}
	for _, service := range s.Services {
		if p.Entities && service.Entity != nil { // services refer to each other
			placed = append(placed, service)
		}
	}
	for _, service := range placed {
		for _, node := range inventory.Members(service.Selectors) {
			out[node] = true
		}
	}
	return out
}

// otherNodes reports whether the site certainly has other nodes than these.
func (p *Part) otherNodes(names []string) bool {
	now := slices.Clone(p.Names)
	for _, n := range p.Site.Nodes {
		now = append(now, n.Name)
	}
	return !p.Nameless && len(now) != len(names) ||
		slices.ContainsFunc(now, func(name string) bool { return !slices.Contains(names, name) })
}

func sameKeys[A, B any](a map[string]A, b map[string]B) bool {
	for key := range b {
		if _, there := a[key]; !there {
			return false
		}
	}
	return len(a) == len(b)
}

// steady returns the stages that are certain and the same as before; the others are unknown, since the apply may find
// nothing to do and keep what the state has.
func steady(before, planned map[string]string) map[string]string {
	for name, stage := range planned {
		if was, there := before[name]; there && was != stage {
			planned[name] = ""
		}
	}
	return planned
}
