package catalog

import (
	"fmt"
	"slices"
)

// Ordering is what a catalog declares about the order of tasks inside a task group, beyond requirements (litp.md 10): the general forms
// of rules that LITP has built in.
type Ordering struct {
	Classes   []Class    `json:"classes,omitempty"`   // highest priority first
	Waits     []Wait     `json:"waits,omitempty"`     //
	Unordered []string   `json:"unordered,omitempty"` // resource types whose tasks no section orders among themselves (litp.md 92)
	Counts    []Counting `json:"counts_as,omitempty"` //
}

// Class is a priority class: tasks that match have phases of their own, as early as their requirements let them (litp.md D1).
type Class struct {
	Name  string   `json:"name"`
	Tasks Selector `json:"tasks"`
}

// Wait makes every task that matches Tasks require every task on the same node that matches For (litp.md D2). A task does not wait for itself.
type Wait struct {
	Tasks Selector `json:"tasks"`
	For   Selector `json:"for"`
}

// Counting places the tasks that match in another section than their entity's (litp.md D3).
type Counting struct {
	Tasks   Selector `json:"tasks"`
	Section Section  `json:"section"`
}

// Selector matches tasks. Each list that is not empty must hold the task's own; a selector without any list is a mistake.
type Selector struct {
	Types    []string  `json:"types,omitempty"`    // of the resource, or of the remote task or callback
	Entities []string  `json:"entities,omitempty"` // of the service: its entity or an ancestor
	Sections []Section `json:"sections,omitempty"`
}

func (s Selector) empty() bool { return len(s.Types)+len(s.Entities)+len(s.Sections) == 0 }

// add joins the rules of another document.
func (o *Ordering) add(more Ordering) {
	o.Classes = append(o.Classes, more.Classes...)
	o.Waits = append(o.Waits, more.Waits...)
	o.Counts = append(o.Counts, more.Counts...)
	for _, t := range more.Unordered {
		if !slices.Contains(o.Unordered, t) {
			o.Unordered = append(o.Unordered, t)
		}
	}
}

// Join returns definitions that hold those of all parts, in their order.
func Join(parts ...Definitions) Definitions {
	var out Definitions
	for _, p := range parts {
		out.Types = append(out.Types, p.Types...)
		out.Entities = append(out.Entities, p.Entities...)
		out.Ordering.add(p.Ordering)
	}
	return out
}

// validate reports what is wrong with the rules, for the entities of the catalog.
func (o Ordering) validate(entities []string) []Mistake {
	var m mistakes
	selector := func(path string, s Selector) {
		if s.empty() {
			m.add(path, BadValue, "selects nothing; give types, entities or sections")
		}
		for i, e := range s.Entities {
			if !slices.Contains(entities, e) {
				m.add(fmt.Sprintf("%s.entities[%d]", path, i), UnknownEntity, "%s", unknown("entity", e, entities))
			}
		}
		for i, section := range s.Sections {
			m.section(fmt.Sprintf("%s.sections[%d]", path, i), section)
		}
	}
	seen := make(map[string]bool, len(o.Classes))
	for i, c := range o.Classes {
		path := fmt.Sprintf("classes[%d]", i)
		if seen[c.Name] {
			m.add(path+".name", Duplicate, "another class has the name %q; give each a name of its own", c.Name)
		}
		seen[c.Name] = true
		selector(path+".tasks", c.Tasks)
	}
	for i, w := range o.Waits {
		selector(fmt.Sprintf("waits[%d].tasks", i), w.Tasks)
		selector(fmt.Sprintf("waits[%d].for", i), w.For)
	}
	for i, c := range o.Counts {
		selector(fmt.Sprintf("counts_as[%d].tasks", i), c.Tasks)
		m.section(fmt.Sprintf("counts_as[%d].section", i), c.Section)
	}
	return m
}
