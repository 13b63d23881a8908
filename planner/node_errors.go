package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

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

// meant begins the part of an error that says what the user may have meant.
const meant = "; did you mean "

// all returns the errors, each with the nodes that have it.
func (f *nodeErrors) all() invalid.Errors {
	var out invalid.Errors
	for _, p := range f.order {
		nodes := f.nodes[p]
		slices.Sort(nodes)
		nodes = slices.Compact(nodes)
		on := "nodes " + list(nodes)
		switch {
		case len(nodes) == f.siteNodes && len(nodes) > 1:
			on = fmt.Sprintf("all %d nodes", len(nodes))
		case len(nodes) == 1:
			on = "node " + nodes[0]
		}
		wrong, question, asks := strings.Cut(p.Message, meant)
		if p.Message = wrong + " (on " + on + ")"; asks {
			p.Message += meant + question
		}
		out = append(out, p)
	}
	return out
}

// changeTags is the remedy when the order of task groups contradicts a requirement.
const changeTags = "give one of them another tag, or leave the requirement out"

// entityError returns an error of a task of an entity; at is the attribute below the task.
func entityError(t task.Task, d *refine.EntityTask, at string, code invalid.Code, format string,
	args ...any) invalid.Error {
	return invalid.Error{Object: "service", Name: t.Service, Attribute: d.Path + at, Code: code,
		Message: fmt.Sprintf(format, args...)}
}

// relationError returns the error for a relation of a node's resources that cannot be kept. It names the rule of the
// site that makes it, or the object that wrote it.
func relationError(site string, e *sequence.RelationError, overrides *override.Set,
	details map[resource.ID]*refine.EntityTask) invalid.Error {
	p := invalid.Error{Code: e.Code}
	if e.Rule != "" {
		p.Object, p.Name, p.Attribute = "deployment", site, ordering+"."+e.Rule
	} else {
		p.Object, p.Name, p.Attribute = overrides.Source(e.Writer, e.Relation, e.Reference)
		if d, ok := details[e.Writer.Resource.ID()]; ok && p.Object == "service" {
			p.Attribute = d.Path + relationPath(e.Relation)
		}
	}
	switch {
	case e.Code == invalid.UnknownReference && e.Nearest != "":
		p.Message = fmt.Sprintf("there is no %s; did you mean %s?", e.Reference, e.Nearest)
	case e.Code == invalid.UnknownReference && len(e.Others) > 0:
		p.Message = fmt.Sprintf("there is no %s; of the type %s there are %s", e.Reference, split(e.Reference).Type,
			list(e.Others))
	case e.Code == invalid.UnknownReference:
		p.Message = fmt.Sprintf("there is no %s", e.Reference)
	case e.Code == invalid.DependencyCycle && e.Rule != "":
		p.Message = fmt.Sprintf("resources wait for each other: %s, where %s requires %s because of this rule; remove one of the other relations, or let the rule match less",
			e, e.Writer.Resource.ID(), e.Reference)
	case e.Code == invalid.DependencyCycle:
		p.Message = fmt.Sprintf("resources wait for each other: %s; remove one of these relations", e)
	case e.Rule != "":
		p.Message = fmt.Sprintf("%s; give one of them another tag, or let the rule match less", e)
	default:
		p.Message = fmt.Sprintf("%s; %s", e, changeTags)
	}
	return p
}

// relationPath returns the attribute, below a task of an entity, in which a relation is written.
func relationPath(relation string) string {
	switch relation {
	case resource.Require, sequence.Requires:
		return ".requires"
	case resource.Notify:
		return ".notify"
	default:
		return ".config.parameters." + relation
	}
}
