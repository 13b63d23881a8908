package planner

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// desired is what every node of a site is to have, and what the controller calls for it. It does not depend on what is
// applied.
type desired struct {
	*membership
	services    *refine.Services
	overrides   *override.Set
	templates   *refine.Templates
	nodesByName map[string]site.Node
	nodeSets    []*nodeSet
	wanted      map[string]*taskList // by node
	within      map[string]bool      // the nodes that the limit of the site names; nil: it has none
	limit       map[string]bool      // the nodes that the plan covers; nil: all
	held        map[int]bool         // groups that wait for approval, also without work; nil: none does
	holds       []Hold               // those of them with work that waits, in processing order
	callbacks   []callback           // of services as a whole, by service
	byService   map[string][]int     // service -> its callbacks
	actions     []task.Task          // of plugins, in the order of a run; their Node is empty
	works       []plugin.NodeTask    // graph tasks on nodes
	nodeActions map[string][]int     // by node, ascending; only of nodes that are in a group
	rules       *rules               // nil when the site has none
	after       [][]string           // by group: see [Group.After]
}

// desiredBuilder derives [desired] and collects what is wrong with a site.
type desiredBuilder struct {
	*desired
	errs          invalid.Errors
	yields        yields
	missing       int // number of references of services to something that does not exist
	types         map[string]resource.Schema
	actionSchemas map[string]resource.Schema
}

// checkSizes reports the first node with more resources, or longer titles, than a plan may have on one.
func (d *desired) checkSizes() invalid.Errors {
	for _, n := range d.nodes {
		l := d.wanted[n.Name]
		if l == nil {
			continue
		}
		titles := 0
		for _, t := range l.tasks {
			titles += len(t.Resource.Title)
		}
		wrong := ""
		switch room := schema.TitleRoom(len(l.tasks)); {
		case len(l.tasks) > schema.MostResources:
			wrong = fmt.Sprintf("has %d resources, and a site may have at most %d on a node; give many like files as one "+
				"archive, or spread them over sites", len(l.tasks), schema.MostResources)
		case titles > room:
			wrong = fmt.Sprintf("has resources whose titles have %d bytes together, and may have at most %d; give long "+
				"commands as the parameter command, with a short title", titles, room)
		default:
			continue
		}
		return invalid.Errors{{Object: "node", Name: n.Name, Code: invalid.BadStructure, Message: wrong}}
	}
	return nil
}

// callback is a callback of a whole service. It belongs to no node.
type callback struct {
	refine.EntityTask
	group int // index of the group in which it runs; used only when its task group repeats
	// secret says that it returns the value of a sensitive attribute. Such a value is not kept, so every run that needs
	// it calls again.
	secret bool
}

// nodeSet is the nodes that have the same services and the same overrides, and so share one task list.
type nodeSet struct {
	services, layers []int
	nodes            []string // sorted
	local            []string // those of them with the transport local
	folders          []string // those of them that are sandboxes
	first, last      int      // of the groups that own them
	list             *taskList
	templates        map[resource.ID]resource.Parameters // see [taskList]
}

// taskList is the tasks of all nodes of a set, in the order of execution. Their Node and Action are empty.
type taskList struct {
	tasks []task.Task
	ids   []resource.ID // of the tasks
	index map[resource.ID]int
	// The following are nil on nodes without services of entities.
	details map[resource.ID]*refine.EntityTask
	again   map[resource.ID][]*refine.EntityTask // those of further services that bring the same
	layers  []sequence.Layer                     // of the tasks, when sections order them
	// by task: the callbacks of services as a whole that it requires, directly or not
	calls [][]int
	// the parameters with templates of the resources of which one reads facts; nil: there are none
	templates map[resource.ID]resource.Parameters
	guards    invalid.Errors       // what is wrong on a node that no service manager runs
	replaced  map[resource.ID]bool // what a task supersedes once it is there (litp.md 61)
	// of which services want unequal forms, and one of them counts: the tasks that give these
	disputed map[resource.ID][]task.Task
	left     []resource.ID // that stay as they are: see [selection.settle]
	// The following are nil without ordering rules.
	classes []int // of the tasks
	waits   map[resource.ID][]sequence.Wait
}

// fill sets the tasks of a list, in order.
func (l *taskList) fill(tasks []task.Task, layers []sequence.Layer) {
	l.tasks, l.layers, l.ids, l.index = tasks, layers, make([]resource.ID, len(tasks)),
		make(map[resource.ID]int, len(tasks))
	for i := range tasks {
		l.ids[i] = tasks[i].Resource.ID()
		l.index[l.ids[i]] = i
	}
}

// ruleBetween returns the rule that makes one task of the list require another; empty when none does.
func (l *taskList) ruleBetween(later, earlier resource.ID) string {
	for _, w := range l.waits[later] {
		if slices.Contains(w.For, earlier) {
			return w.Rule
		}
	}
	return ""
}

// yields reports whether a service leaves the form of a resource to another one that brings it, too. nil: no service
// does, and unequal forms are an error.
type yields func(service string) bool

// undecided is for what is deployed: no form counts more than another, and the first one stands for all.
func undecided(string) bool { return false }
