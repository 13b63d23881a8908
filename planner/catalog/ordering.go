package catalog

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Ordering is what a catalog declares about the order of the tasks of services inside a task group, beyond requirements
// (litp.md 10): the general forms of rules that LITP has built in. Tasks that make something absent are in no class and
// in no wait.
type Ordering struct {
	// highest priority first; a task belongs to the first that it matches
	Classes []Class `json:"classes,omitempty"`
	Waits   []Wait  `json:"waits,omitempty"` // all of them count
	// types of resources, each of whose tasks no section orders among themselves (litp.md 92)
	Unordered []string   `json:"unordered,omitempty"`
	Counts    []Counting `json:"counts_as,omitempty"` // the first that a task matches counts
}

// MostRules bounds the rules of an ordering: classes, waits, unordered types and counts_as together.
const MaxRules = 1000

// maxNamed bounds the types, entities and sections of one selector.
const maxNamed = 100

// Class is a priority class: tasks that match have phases of their own, as early as their requirements let them
// (litp.md D1).
type Class struct {
	Name  string   `json:"name" key:",required"`
	Tasks Selector `json:"tasks" key:",required"`
}

// Wait makes every task that matches Tasks require every task on the same node that matches For (litp.md D2). Those
// that match For do not wait for each other, whatever else they match.
type Wait struct {
	Tasks Selector `json:"tasks" key:",required"`
	For   Selector `json:"for" key:",required"`
}

// Counting places the tasks that match in another section than their entity's (litp.md D3). Its own selector is about
// the section that they would stand in without it; those of classes and waits are about the section that they stand in
// then.
type Counting struct {
	Tasks   Selector `json:"tasks" key:",required"`
	Section Section  `json:"section" key:",required"`
}

// Selector matches tasks. Each list that is not empty must hold the task's own; a selector without any list is a
// error.
type Selector struct {
	Types    []string  `json:"types,omitempty"`    // of the resource, or of the remote task or callback
	Entities []string  `json:"entities,omitempty"` // of the service: its entity or an ancestor
	Sections []Section `json:"sections,omitempty"` // inline configuration stands in [Services]
}

func (s Selector) empty() bool { return len(s.Types)+len(s.Entities)+len(s.Sections) == 0 }

// Matches reports whether a task matches: one about a resource of a type, of a service of an entity (nil: of none), in
// a section.
func (s Selector) Matches(typ string, of *Entity, in Section) bool {
	return (len(s.Types) == 0 || slices.Contains(s.Types, typ)) &&
		(len(s.Sections) == 0 || slices.Contains(s.Sections, in)) &&
		(len(s.Entities) == 0 || of != nil && slices.ContainsFunc(s.Entities, of.Is))
}

// Empty reports whether there is no rule.
func (o Ordering) Empty() bool { return o.size() == 0 }

func (o Ordering) size() int { return len(o.Classes) + len(o.Waits) + len(o.Unordered) + len(o.Counts) }

// Definition returns the rules as canonical JSON: equal rules give the same bytes, on every machine. It is how they
// travel through Terraform's state; [ParseOrdering] reads it. The error is one of values that JSON does not have, which
// no document holds.
func (o Ordering) Definition() (string, error) {
	text, err := resource.CompactJSON(o)
	if err != nil {
		return "", fmt.Errorf("ordering: %w", err)
	}
	return text, nil
}

// ParseOrdering reads what [Ordering.Definition] wrote, and checks it like rules of the user's: the text may come from
// anywhere. Which entities there are is not known here. With errors there are no rules.
func ParseOrdering(text string) (*Ordering, []invalid.Error) {
	var m errs
	o := decode[Ordering](&m, text, "the ordering of a catalog", "give the value ordering of a catalog, as it is")
	if o != nil {
		m = o.Check()
	}
	if len(m) > 0 {
		return nil, m
	}
	return o, nil
}

// Check reports what is wrong with the rules, but for the entities and types of resources that they name.
func (o Ordering) Check() []invalid.Error { return o.validate(nil) }

// add joins the rules of another document.
func (o *Ordering) add(more Ordering) {
	o.Classes = append(o.Classes, more.Classes...)
	o.Waits = append(o.Waits, more.Waits...)
	o.Unordered = append(o.Unordered, more.Unordered...)
	o.Counts = append(o.Counts, more.Counts...)
}

// Join returns definitions that hold those of all parts, in their order.
func Join(parts ...Definitions) Definitions {
	var out Definitions
	for _, p := range parts {
		out.Types = append(out.Types, p.Types...)
		out.Pools = append(out.Pools, p.Pools...)
		out.Entities = append(out.Entities, p.Entities...)
		out.Ordering.add(p.Ordering)
	}
	return out
}

// validate reports what is wrong with the rules, for the entities of the catalog; nil when these are not known.
func (o Ordering) validate(entities *[]string) []invalid.Error {
	var m errs
	if n := o.size(); n > MaxRules {
		m.add("", BadValue, "has %d rules; %d is the most", n, MaxRules)
		return m
	}
	seen := make(map[string]bool, len(o.Classes))
	for i, c := range o.Classes {
		path := invalid.PathAt("classes", i)
		m.name(path+".name", c.Name, title)
		if seen[c.Name] {
			m.add(path+".name", Duplicate, "another class has the name %q; give each a name of its own", c.Name)
		}
		seen[c.Name] = true
		m.selector(path+".tasks", c.Tasks, entities)
	}
	for i, w := range o.Waits {
		m.selector(invalid.PathAt("waits", i)+".tasks", w.Tasks, entities)
		m.selector(invalid.PathAt("waits", i)+".for", w.For, entities)
	}
	for i, c := range o.Counts {
		m.selector(invalid.PathAt("counts_as", i)+".tasks", c.Tasks, entities)
		m.section(invalid.PathAt("counts_as", i)+".section", c.Section)
	}
	return m
}

func (m *errs) selector(path string, s Selector, entities *[]string) {
	switch n := len(s.Types) + len(s.Entities) + len(s.Sections); {
	case s.empty():
		m.add(path, BadValue, "selects nothing; give types, entities or sections")
	case n > maxNamed:
		m.add(path, BadValue, "names %d types, entities and sections; %d is the most", n, maxNamed)
		return
	}
	for i, e := range s.Entities {
		if entities != nil && !slices.Contains(*entities, e) {
			m.add(invalid.PathAt(path+".entities", i), UnknownEntity, "%s", resource.NoSuch("entity", e, *entities))
		}
	}
	for i, section := range s.Sections {
		m.section(invalid.PathAt(path+".sections", i), section)
	}
}
