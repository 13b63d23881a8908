package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// flatten resolves ordered lists and pulls in required tasks, and checks the tasks themselves (litp.md 49, 51, 56, 57).
func (p *pipeline) flatten() {
	p.flattenUnchecked()
	p.checkLists()
	var remembered map[string]bool // made when first needed
	known := make(map[string]bool, len(p.works))
	for i := range p.works {
		w := &p.works[i]
		if known[w.ID] {
			p.problems.add(NonUniqueTask, []string{w.ID}, "two tasks have the id %q; ids are unique in a plan", w.ID)
		}
		known[w.ID] = true
	}
	var names []string
	told := 0
	for i := range p.works {
		p.checkWork(&p.works[i])
		for _, r := range p.works[i].Requires {
			if r.Task == "" || known[r.Task] {
				continue
			}
			if remembered == nil {
				remembered = idSet(p.Remembered, p.Lost, p.Stale)
			}
			if remembered[r.Task] {
				continue
			}
			if names == nil {
				for id := range known {
					names = append(names, id)
				}
				slices.Sort(names)
			}
			nearest := ""
			if told++; told <= resource.MostHints {
				nearest = resource.Nearest(r.Task, names)
			}
			p.unknown(p.works[i].ID, "task "+quoted(r.Task), nearest)
		}
	}
}

func idSet(lists ...[]Work) map[string]bool {
	out := make(map[string]bool)
	for _, works := range lists {
		for i := range works {
			out[works[i].ID] = true
		}
	}
	return out
}

func quoted(s string) string { return `"` + s + `"` }

func (p *pipeline) unknown(id, what, nearest string) {
	hint := ""
	if nearest != "" {
		hint = "; did you mean " + quoted(nearest) + "?"
	}
	p.problems.add(TaskValidation, []string{id}, "task %q requires %s, and there is none%s", id, what, hint)
}

// checkWork looks at one task by itself.
func (p *pipeline) checkWork(w *Work) {
	bad := func(format string, args ...any) {
		p.problems.add(TaskValidation, []string{w.ID}, "task %q "+format, append([]any{w.ID}, args...)...)
	}
	exists := func(path string) {
		if !p.model.item(path).exists {
			bad("acts on item %q, and there is none", path)
		}
	}
	exists(w.Item)
	for _, path := range w.Also {
		exists(path)
	}
	switch w.Kind {
	case task.Config:
		if w.Resource.Type == "" || w.Resource.Title == "" {
			bad("is a config task without a resource; type and title are needed")
		}
		if !p.model.item(w.Node).exists {
			bad("runs on node %q, and there is none", w.Node)
		}
	case task.Remote:
		if len(w.Nodes) == 0 {
			bad("is a remote task without nodes; at least one is needed")
		}
		for _, node := range w.Nodes {
			if p.model.item(node).Node != node {
				bad("runs on %q, which is no node", node)
			}
		}
	case task.Callback:
	default:
		bad("is of kind %q; config, callback and remote are the kinds", w.Kind)
	}
	for _, r := range w.Requires {
		switch {
		case !r.valid():
			bad("has a requirement that names not exactly one of a task, an item and a resource with type and title")
		case r.Item != "" && !p.model.item(r.Item).exists:
			p.unknown(w.ID, "item "+quoted(r.Item), "")
		}
	}
	for _, r := range w.Replaces {
		if r.Type == "" || r.Title == "" {
			bad("replaces a resource without type or title; both are needed")
		}
	}
}

// flattenUnchecked appends to the returned tasks those that they require, repeatedly, and makes each task of an ordered list require the
// one before it.
func (p *pipeline) flattenUnchecked() {
	p.works = slices.Clone(p.Works)
	if len(p.Others)+len(p.Ordered) == 0 {
		return
	}
	others := make(map[string]*Work, len(p.Others))
	for i := range p.Others {
		others[p.Others[i].ID] = &p.Others[i]
	}
	index := make(map[string]int, len(p.works))
	for i := range p.works {
		index[p.works[i].ID] = i
	}
	for i := 0; i < len(p.works); i++ { // grows
		for _, r := range p.works[i].Requires {
			if other, ok := others[r.Task]; ok && r.Task != "" {
				if _, in := index[r.Task]; !in {
					index[r.Task] = len(p.works)
					p.works = append(p.works, *other)
				}
			}
		}
	}
	for _, list := range p.Ordered {
		for i := 1; i < len(list); i++ {
			at, ok := index[list[i]]
			before := Requirement{Task: list[i-1]}
			if w := &p.works[max(at, 0)]; ok && !slices.Contains(w.Requires, before) {
				w.Requires = append(slices.Clone(w.Requires), before)
			}
		}
	}
}

// checkLists: neighbours in an ordered list must be able to depend on each other, as far as that is known without groups (litp.md 49).
func (p *pipeline) checkLists() {
	if len(p.Ordered) == 0 {
		return
	}
	byID := make(map[string]*Work, len(p.works))
	for i := range p.works {
		byID[p.works[i].ID] = &p.works[i]
	}
	for _, list := range p.Ordered {
		if len(list) == 0 {
			p.problems.add(TaskValidation, nil, "an ordered list has no tasks; it needs at least one")
		}
		for i, id := range list {
			w := byID[id]
			if w == nil {
				p.problems.add(TaskValidation, []string{id}, "an ordered list names the task %q, and there is none", id)
				continue
			}
			if i == 0 || byID[list[i-1]] == nil {
				continue
			}
			before := byID[list[i-1]]
			a, b := p.side(w), p.side(before)
			a.Removes, b.Removes, a.Management, b.Management = false, false, true, true
			if reason := MayDepend(a, b); reason != "" {
				p.problems.add(TaskValidation, []string{before.ID, id},
					"an ordered list has task %q after task %q, but %s; it can only contain tasks for the same node", id, before.ID, reason)
			}
		}
	}
}

func (p *pipeline) side(w *Work) Side {
	return Side{
		Node: p.model.taskNode(w), ItemNode: p.model.item(w.Item).Node,
		Management: w.Group == task.Management, Removes: p.model.removes(w, &p.Rules),
	}
}
