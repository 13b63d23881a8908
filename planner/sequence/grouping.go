package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// group gives every task of the plan, and every remembered one, its group (litp.md 65, 66, 68).
func (p *pipeline) group() {
	tags := make(map[string]bool)
	for _, rule := range p.Rules.Groups {
		tags[rule.Tag] = true
	}
	p.Remembered = slices.Clone(p.Remembered)
	for i := range p.Remembered {
		if w := &p.Remembered[i]; w.Group == "" {
			w.Group = p.groupOf(w, tags)
		}
	}
	for i := range p.works {
		w := &p.works[i]
		if w.Tag != "" && !tags[w.Tag] && w.Group == "" {
			p.warnings.add(TaskValidation, []string{w.ID}, "task %q has the tag %q, which names no task group; it goes to %s", w.ID, w.Tag, p.Rules.Unmatched)
		}
		if w.Group == "" {
			w.Group = p.groupOf(w, tags)
		}
	}
	p.applyTagRules()
}

func (p *pipeline) groupOf(w *Work, tags map[string]bool) task.Group {
	if w.Tag != "" && !tags[w.Tag] {
		return p.Rules.Unmatched
	}
	// A config task is where it runs, others are where their item lies.
	where := w.Item
	if w.config() {
		where = w.Node
	}
	it := p.model.item(where)
	for _, rule := range p.Rules.Groups {
		if w.Tag != "" {
			if rule.Tag == w.Tag {
				return rule.Group
			}
			continue
		}
		if slices.ContainsFunc(rule.Fits, func(f Fit) bool { return f.Kind == w.Kind && it.lies(f.On) }) {
			return rule.Group
		}
	}
	return p.Rules.Unmatched
}

// lies reports whether an item is in a place.
func (it *cachedItem) lies(on On) bool {
	switch on {
	case Anywhere:
		return true
	case OnManagement:
		return it.Management
	case OnNode:
		return it.Node != "" && !it.Management
	case InClusterNotNode:
		return it.Node == "" && it.Cluster != ""
	default:
		return false
	}
}

// applyTagRules moves tasks by the rules for tags.
func (p *pipeline) applyTagRules() {
	for _, rule := range p.Rules.Tags {
		asked := rule.Policy == "" || slices.ContainsFunc(p.Policies, func(l Policy) bool { return l.Action == rule.Policy })
		if !asked {
			continue
		}
		with, required := make(map[string]bool), make(map[string][]Requirement) // by node
		for i := range p.works {
			w := &p.works[i]
			if node := p.model.taskNode(w); w.Tag != "" && node != "" {
				with[node] = with[node] || w.Tag == rule.With
				if w.Tag == rule.Requires {
					required[node] = append(required[node], Requirement{Task: w.ID})
				}
			}
		}
		for i := range p.works {
			w := &p.works[i]
			node := p.model.taskNode(w)
			if w.Kind != rule.Kind || w.Tag != rule.Tag || rule.With != "" && !with[node] {
				continue
			}
			w.Group = rule.Group
			for _, r := range required[node] {
				if r.Task != w.ID {
					w.Requires = append(slices.Clone(w.Requires), r)
				}
			}
		}
	}
}
