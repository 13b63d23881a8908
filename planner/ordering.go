package planner

import (
	"fmt"
	"maps"
	"slices"

	callbacktype "github.com/slipway/terraform-provider-slipway/planner/callback"
	entity "github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// ordering is the attribute that holds the site's ordering rules.
const ordering = "ordering"

// rules are the site's ordering rules, which apply besides requirements (litp.md 10).
type rules struct {
	entity.Ordering
	entities map[string]*entity.Entity // service -> its entity
}

// newRules validates and returns the ordering rules of a site; nil when it has none. types and actions are what users
// may write in configuration, and as actions.
func newRules(s site.Site, types, actions map[string]resource.Schema) (*rules, invalid.Errors) {
	if s.Ordering == nil || s.Ordering.Empty() {
		return nil, nil
	}
	var errs invalid.Errors
	report := func(at string, code invalid.Code, message string) {
		errs = append(errs, invalid.Error{Object: "deployment", Name: s.Name, Attribute: at, Code: code,
			Message: message})
	}
	for _, wrong := range s.Ordering.Check() {
		report(ordering+"."+wrong.Attribute, wrong.Code, wrong.Message)
	}
	r := &rules{Ordering: *s.Ordering, entities: make(map[string]*entity.Entity, len(s.Services))}
	for _, service := range s.Services {
		r.entities[service.Name] = service.Entity
	}
	configured := slices.Sorted(maps.Keys(types))
	all := slices.Concat(configured, slices.Sorted(maps.Keys(actions)),
		slices.Sorted(maps.Keys(callbacktype.Schemas())))
	known := func(at string, types, among []string) {
		for i, typ := range types {
			if slices.Contains(among, typ) {
				continue
			}
			report(fmt.Sprintf("%s.%s[%d]", ordering, at, i), invalid.UnknownType,
				fmt.Sprintf("there is no type %q of tasks", typ)+resource.DidYouMean(typ, among))
		}
	}
	for i, c := range r.Classes {
		known(fmt.Sprintf("classes[%d].tasks.types", i), c.Tasks.Types, all)
	}
	for i, w := range r.Waits {
		known(fmt.Sprintf("waits[%d].tasks.types", i), w.Tasks.Types, all)
		known(fmt.Sprintf("waits[%d].for.types", i), w.For.Types, all)
	}
	known("unordered", r.Unordered, configured)
	for i, c := range r.Counts {
		known(fmt.Sprintf("counts_as[%d].tasks.types", i), c.Tasks.Types, all)
	}
	return r, errs
}

// matches reports whether a selector matches a task of a section.
func (r *rules) matches(s entity.Selector, t task.Task, in entity.Section) bool {
	for _, service := range t.Shared {
		if s.Matches(t.Resource.Type, r.entities[service], in) {
			return true
		}
	}
	return s.Matches(t.Resource.Type, r.entities[t.Service], in)
}

// section returns the section of a task. own is the section that its entity says, which counts unless a rule says
// otherwise. r may be nil.
func (r *rules) section(t task.Task, own entity.Section) entity.Section {
	if r != nil {
		for _, c := range r.Counts {
			if r.matches(c.Tasks, t, own) {
				return c.Section
			}
		}
	}
	return own
}

// taskSections returns the section of each task of a node. details are those of the tasks of entities.
func (r *rules) taskSections(tasks []task.Task,
	details map[resource.ID]*refine.EntityTask) map[resource.ID]entity.Section {
	out := make(map[resource.ID]entity.Section, len(tasks))
	for _, t := range tasks {
		id, own := t.Resource.ID(), entity.Services
		if d, ok := details[id]; ok {
			own = d.Section
		}
		out[id] = r.section(t, own)
	}
	return out
}

// unordered reports whether no section puts the tasks of a type in order among themselves.
func (r *rules) unordered(typ string) bool { return r != nil && slices.Contains(r.Unordered, typ) }

// mostWaits is the most requirements that one wait may make on one node. A plan holds them all, for every node.
const mostWaits = 100_000

// waitsOf returns what the rules make each task of a node wait for (litp.md D2). A rule that makes more than
// [mostWaits] requirements is left out, and reported to excess.
func (r *rules) waitsOf(tasks []task.Task, sections map[resource.ID]entity.Section,
	excess func(rule string, requirements int)) map[resource.ID][]sequence.Wait {
	if r == nil || len(r.Waits) == 0 {
		return nil
	}
	out := make(map[resource.ID][]sequence.Wait)
	for i, rule := range r.Waits {
		var waiting, first []resource.ID
		for _, t := range tasks {
			id := t.Resource.ID()
			switch {
			case sequence.Removes(t):
			case r.matches(rule.For, t, sections[id]):
				first = append(first, id)
			case r.matches(rule.Tasks, t, sections[id]):
				waiting = append(waiting, id)
			}
		}
		name := fmt.Sprintf("waits[%d]", i)
		if n := len(first) * len(waiting); n == 0 || n > mostWaits {
			if n > 0 {
				excess(name, n)
			}
			continue
		}
		for _, id := range waiting {
			out[id] = append(out[id], sequence.Wait{Rule: name, For: first})
		}
	}
	return out
}

// class returns the number of a task's priority class, from 1; 0 is no class (litp.md D1).
func (r *rules) class(t task.Task, in entity.Section) int {
	if r != nil && !sequence.Removes(t) {
		for i, c := range r.Classes {
			if r.matches(c.Tasks, t, in) {
				return i + 1
			}
		}
	}
	return 0
}

// classesOf returns the priority classes of tasks, in their order; nil when no task has one.
func (r *rules) classesOf(tasks []task.Task, sections map[resource.ID]entity.Section) []int {
	if r == nil || len(r.Classes) == 0 {
		return nil
	}
	out := make([]int, len(tasks))
	some := false
	for i, t := range tasks {
		out[i] = r.class(t, sections[t.Resource.ID()])
		some = some || out[i] > 0
	}
	if !some {
		return nil
	}
	return out
}

// orRule returns the second remedy for a cycle that an ordering rule closes.
func orRule(rule string) string {
	if rule == "" {
		return ""
	}
	return fmt.Sprintf(", or change the rule %s of the ordering", rule)
}
