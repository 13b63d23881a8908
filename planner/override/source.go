package override

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// relations are the parameters whose values are added to those that are there.
var relations = []string{resource.Require, resource.Before, resource.Notify, resource.Subscribe}

func isRelation(parameter string) bool { return slices.Contains(relations, parameter) }

// parameterOf returns the parameter that an error is about, without the path below it.
func parameterOf(e invalid.Error) string {
	name, _, _ := strings.Cut(e.Attribute, "[")
	return name
}

// Source returns who wrote a reference in a relation of a task, and where: the strongest of the task's overrides that
// has it, else its service.
func (s *Set) Source(t task.Task, relation string, to resource.ID) (object, name, attribute string) {
	return s.writer(t, relation, func(e entry, p resource.Parameters) bool {
		return refers(e.typ, e.title, p, relation, to)
	})
}

// Giver is [Set.Source] of a parameter.
func (s *Set) Giver(t task.Task, parameter string) (object, name, attribute string) {
	return s.writer(t, parameter, func(_ entry, p resource.Parameters) bool { return p.Has(parameter) })
}

// writer returns the strongest override of a task for whose data or defaults wrote holds, else its service.
func (s *Set) writer(t task.Task, parameter string, wrote func(entry, resource.Parameters) bool) (object, name,
	attribute string) {
	for _, strongest := range slices.Backward(t.Override) {
		i := slices.IndexFunc(s.overrides, func(o override) bool { return o.Name == strongest })
		if i < 0 {
			continue
		}
		o := s.overrides[i]
		for _, e := range o.entries {
			if e.id != t.Resource.ID() {
				continue
			}
			if wrote(e, e.data) {
				return "override", o.Name, site.ConfigurationPath(e.typ, e.title, parameter)
			}
			if wrote(e, e.defaults) {
				return "override", o.Name, fmt.Sprintf("options.defaults.%s.%s", e.typ, parameter)
			}
		}
	}
	attribute = site.ConfigurationPath(t.Resource.Type, t.Resource.Title, parameter)
	if t.Service == "" && len(t.Override) > 0 {
		return "override", t.Override[len(t.Override)-1], attribute
	}
	return "service", t.Service, attribute
}

func refers(typ, title string, p resource.Parameters, relation string, to resource.ID) bool {
	r := resource.Resource{Type: typ, Title: title, Parameters: p}
	return slices.Contains(r.References(relation), to)
}
