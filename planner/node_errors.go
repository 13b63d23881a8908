package planner

import (
	"errors"
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
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

// all returns the errors, each with the nodes that have it.
func (f *nodeErrors) all() invalid.Errors {
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

// changeTags is the remedy when the order of task groups contradicts a requirement.
const changeTags = "give one of them another tag, or leave the requirement out"

// entityError returns an error of a task of an entity; at is the attribute below the task.
func entityError(t task.Task, d *refine.EntityTask, at string, code invalid.Code, format string,
	args ...any) invalid.Error {
	return invalid.Error{Object: "service", Name: t.Service, Attribute: d.Path + at, Code: code,
		Message: fmt.Sprintf(format, args...)}
}

// relationError returns the error for an error in the relations of a node's resources. It names the object that
// wrote the relation.
func relationError(err error, overrides *refine.Overrides, details map[resource.ID]*refine.EntityTask) invalid.Error {
	// source adds the object and attribute in which a relation is written.
	source := func(p invalid.Error, writer task.Task, relation string, to resource.ID) invalid.Error {
		p.Object, p.Name, p.Attribute = overrides.Source(writer, relation, to)
		if d, ok := details[writer.Resource.ID()]; ok && p.Object == "service" {
			p.Attribute = d.Path + relationPath(relation)
		}
		return p
	}
	var unresolved *sequence.UnresolvedError
	var cycle *sequence.CycleError
	var order *sequence.GroupOrderError
	switch {
	case errors.As(err, &unresolved):
		p := invalid.Error{Code: invalid.UnknownReference, Message: fmt.Sprintf("there is no %s", unresolved.Reference)}
		if unresolved.Nearest != "" {
			p.Message += fmt.Sprintf("; did you mean %s?", unresolved.Nearest)
		} else if len(unresolved.Others) > 0 {
			p.Message += fmt.Sprintf("; of the type %s there are %s", split(unresolved.Reference).Type,
				list(unresolved.Others))
		}
		return source(p, unresolved.Task, unresolved.Relation, unresolved.Reference)
	case errors.As(err, &cycle):
		p := invalid.Error{Code: invalid.DependencyCycle, Message: fmt.Sprintf(
			"resources wait for each other: %s; remove one of these relations", cycle)}
		return source(p, cycle.Writer, cycle.Relation, cycle.Reference)
	case errors.As(err, &order):
		p := invalid.Error{Code: invalid.BadStructure, Message: fmt.Sprintf("%s; %s", order, changeTags)}
		return source(p, order.Writer, order.Relation, order.Reference)
	default:
		return invalid.Error{Object: "deployment", Code: invalid.BadStructure, Message: err.Error()}
	}
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
