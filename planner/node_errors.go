package planner

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// namesShown bounds how many names one sentence lists.
const namesShown = 8

// nodeErrors collects errors of nodes. The same error on many nodes is reported once.
type nodeErrors struct {
	siteNodes int
	order     []invalid.Error
	nodes     map[invalid.Error][]string
}

func newNodeErrors(siteNodes int) *nodeErrors {
	return &nodeErrors{siteNodes: siteNodes, nodes: make(map[invalid.Error][]string)}
}

func (f *nodeErrors) add(p invalid.Error, nodes []string) {
	if _, ok := f.nodes[p]; !ok {
		f.order = append(f.order, p)
	}
	f.nodes[p] = append(f.nodes[p], nodes...)
}

// errors returns the errors, each with the nodes that have it.
func (f *nodeErrors) errs() invalid.Errors {
	var out invalid.Errors
	for _, p := range f.order {
		nodes := f.nodes[p]
		slices.Sort(nodes)
		nodes = slices.Compact(nodes)
		switch {
		case len(nodes) == f.siteNodes && len(nodes) > 1:
			p.Message += fmt.Sprintf(" (on all %d nodes)", len(nodes))
		case len(nodes) == 1:
			p.Message += fmt.Sprintf(" (on node %s)", nodes[0])
		default:
			p.Message += fmt.Sprintf(" (on nodes %s)", list(nodes))
		}
		out = append(out, p)
	}
	return out
}

// warnNoGroup warns of nodes in no group: in one warning those that the run does not touch, in another those that it
// tears down.
func (m *membership) warnNoGroup(applied Applied) (errs invalid.Errors) {
	var idle, leaving []string
	for _, n := range m.nodes {
		if _, owned := m.owner[n.Name]; owned {
			continue
		}
		if len(applied[n.Name]) > 0 {
			leaving = append(leaving, n.Name)
		} else {
			idle = append(idle, n.Name)
		}
	}
	for _, w := range []struct {
		nodes       []string
		consequence string
	}{
		{idle, "not touched"},
		{leaving, "torn down: all that was applied there is undone"},
	} {
		if len(w.nodes) == 0 {
			continue
		}
		subject, so, them := fmt.Sprintf("node %s is", w.nodes[0]), "it is", "it"
		if len(w.nodes) > 1 {
			subject, so, them = fmt.Sprintf("nodes %s are", list(w.nodes)), "they are", "them"
		}
		errs = append(errs, invalid.Error{
			Object: "deployment", Name: m.site.Name, Attribute: "groups", Code: invalid.NoGroup, Warning: true,
			Message: fmt.Sprintf("%s in no group, so %s %s; select %s in a group to roll services out there",
				subject, so, w.consequence, them),
		})
	}
	return errs
}

// similar warns of a resource that an override creates and that a service brings under almost the same title: a typo
// would make a second one. There is no warning when the titles differ in digits or in one letter only, which are names
// of several things, or when the override sets create.
func (b *desiredBuilder) similar(brought, made []task.Task) (errs invalid.Errors) {
	titles := make(map[string][]string)
	for i := range brought {
		r := brought[i].Resource
		titles[r.Type] = append(titles[r.Type], r.Title)
	}
	for _, t := range made[:min(len(made), resource.MostHints)] {
		r := t.Resource
		near := resource.Nearest(r.Title, titles[r.Type])
		author := slices.IndexFunc(b.site.Overrides,
			func(o site.Override) bool { return slices.Contains(t.Override, o.Name) })
		if near == "" || author < 0 || path.Dir(near) == path.Dir(r.Title) &&
			resource.Nearest(path.Base(r.Title), []string{path.Base(near)}) == "" ||
			withoutDigits(near) == withoutDigits(r.Title) || b.site.Overrides[author].Options.Create != nil {
			continue
		}
		errs = append(errs, invalid.Error{
			Object: "override", Name: b.site.Overrides[author].Name,
			Attribute: site.ConfigurationPath(r.Type, r.Title, ""), Code: invalid.SimilarResource, Warning: true,
			Message: fmt.Sprintf(
				"makes %s, which no service brings; did you mean %q? Where it is meant, write options = { create = true }", r.ID(),
				near),
		})
	}
	return errs
}

func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// warnNoEffect warns of overrides that change nothing on any node. With errors it does not know and says nothing.
func (b *desiredBuilder) warnNoEffect(effective map[string]bool) {
	if len(b.errs.Errors()) > 0 {
		return
	}
	for i := range b.overrides.Len() {
		name := b.overrides.Name(i)
		text := slices.ContainsFunc(b.errs, func(p invalid.Error) bool {
			return p.Object == "override" &&
				p.Name == name
		})
		if effective[name] || text {
			continue
		}
		b.errs = append(b.errs, invalid.Error{
			Object: "override", Name: name, Code: invalid.NoEffect, Warning: true, Attribute: "configuration",
			Message: "changes nothing on any node: the nodes that it concerns have no such resource and it may create none, " +
				"or the values are there already; check its scope, titles and options",
		})
	}
}

// list joins names with commas, at most 8 of them, and counts the rest.
func list(names []string) string {
	short := make([]string, 0, namesShown)
	for _, n := range names[:min(len(names), namesShown)] {
		short = append(short, cut(n))
	}
	s := strings.Join(short, ", ")
	if more := len(names) - len(short); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
