package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// checkResources: two config tasks for one resource of a node are an error (litp.md 53, Q15).
func (p *pipeline) checkResources() {
	type owner struct {
		resourceOn
		source string
	}
	first := make(map[owner]*Work, len(p.works))
	for i := range p.works {
		w := &p.works[i]
		if !w.config() {
			continue
		}
		key := owner{resourceOn: w.where()}
		if p.Rules.UniquePerSource {
			key.source = w.Source
		}
		if other, ok := first[key]; ok {
			p.problems.add(NonUniqueTask, []string{other.ID, w.ID}, "tasks %q and %q are both for %s[%s] on node %q; one resource has one task",
				other.ID, w.ID, w.Resource.Type, w.Resource.Title, w.Node)
			continue
		}
		first[key] = w
	}
}

// checkReplaces: a resource is replaced once, and not when the plan has a task for it (litp.md 61).
func (p *pipeline) checkReplaces() {
	if !slices.ContainsFunc(p.works, func(w Work) bool { return len(w.Replaces) > 0 }) {
		return
	}
	own := make(map[resourceOn]*Work, len(p.works))
	for i := range p.works {
		if w := &p.works[i]; w.config() {
			own[w.where()] = w
		}
	}
	by := make(map[resourceOn]*Work)
	for i := range p.works {
		w := &p.works[i]
		for _, r := range w.Replaces {
			at := resourceOn{w.Node, r}
			if other, ok := by[at]; ok && other != w {
				p.problems.add(TaskValidation, []string{other.ID, w.ID}, "tasks %q and %q are both trying to replace %s[%s] on node %q",
					other.ID, w.ID, r.Type, r.Title, w.Node)
			}
			by[at] = w
			if other := own[at]; other != nil && other.Resource != w.Resource {
				p.problems.add(TaskValidation, []string{w.ID, other.ID}, "task %q is trying to replace another task, %q, of the same plan", w.ID, other.ID)
			}
		}
	}
}

// dropOnRemovedNodes leaves out config tasks on nodes that go away (litp.md 86).
func (p *pipeline) dropOnRemovedNodes() {
	p.works = slices.DeleteFunc(p.works, func(w Work) bool { return w.config() && p.model.item(w.Node).Removed })
}

// checkRequirements looks at requirements between groups, and in the node group between nodes (litp.md 69 to 72).
func (p *pipeline) checkRequirements() {
	works := newWorkIndex(p.works)
	for i := range p.works {
		w := &p.works[i]
		for _, r := range w.Requires {
			switch {
			case r.Task != "":
				p.checkTaskRequirement(w, works.parts(r.Task, p.parts))
			case r.Item != "":
				p.checkItemRequirement(w, r.Item, works.lastOn(r.Item))
			default:
				p.checkResourceRequirement(w, works.of(r.Resource))
			}
		}
	}
}

func (p *pipeline) differentGroups(w, required *Work) {
	p.problems.add(TaskValidation, []string{w.ID, required.ID},
		"task %q for item %q in group %s requires task %q for item %q in group %s: they are in different groups",
		w.ID, w.Item, w.Group, required.ID, required.Item, required.Group)
}

func (p *pipeline) checkTaskRequirement(w *Work, required []*Work) {
	if len(required) == 0 {
		return
	}
	if required[0].Group != w.Group {
		p.differentGroups(w, required[0])
		return
	}
	same := func(r *Work) bool { return p.model.taskNode(r) == p.model.taskNode(w) }
	if w.Group == task.Node && !slices.ContainsFunc(required, same) {
		p.problems.add(TaskValidation, []string{w.ID, required[0].ID}, "task %q runs on node %q and requires task %q, which runs on a different node, %q",
			w.ID, p.model.taskNode(w), required[0].ID, p.model.taskNode(required[0]))
	}
}

func (p *pipeline) checkItemRequirement(w *Work, item string, last *Work) {
	if w.Group == task.Node {
		it, node := p.model.item(item), p.model.taskNode(w)
		switch {
		case it.Node == "" || it.Management:
			p.problems.add(TaskValidation, []string{w.ID}, "task %q in group %s requires item %q, which doesn't relate to a node", w.ID, w.Group, item)
			return
		case it.Node != node:
			p.problems.add(TaskValidation, []string{w.ID}, "task %q runs on node %q and requires item %q, which relates to a different node, %q",
				w.ID, node, item, it.Node)
			return
		}
	}
	if last != nil && groupPlace[w.Group] < groupPlace[last.Group] {
		p.differentGroups(w, last)
	}
}

func (p *pipeline) checkResourceRequirement(w *Work, required []*Work) {
	for _, r := range required {
		if r.ID != w.ID && r.Group != w.Group {
			p.differentGroups(w, r)
			return
		}
	}
}

// checkPlaces: a remote task of the node group acts on an item of a site, as callbacks do (litp.md 73). What has no scope is told when scopes
// are made.
func (p *pipeline) checkPlaces() {
	for i := range p.works {
		if w := &p.works[i]; w.Kind == task.Remote && w.Group == task.Node && !p.model.belowSites(w.Item) {
			p.problems.add(TaskValidation, []string{w.ID}, "task %q for item %q is in group %s: it must have an associated model item under a site",
				w.ID, w.Item, w.Group)
		}
	}
}

// groupPlace is the place of each task group in the order of a run.
var groupPlace = func() map[task.Group]int {
	out := make(map[task.Group]int, len(slots))
	for i, s := range slots {
		out[s.Group] = i
	}
	return out
}()
