package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// nodeTasks are the tasks of a node, from the events of a run.
type nodeTasks struct {
	node  string
	tasks []journal.Recorded // the ends of tasks; of what runs its start, with what it printed so far
	notes []journal.Recorded
	open  map[openTask]int // started, without an end -> index in tasks
}

// openTask distinguishes the tasks that run on a node.
type openTask struct {
	phase            int
	resource, action string
}

// nodeOf returns the node that an address names.
func nodeOf(q query) *nodeTasks {
	n := &nodeTasks{node: q.text["node"], open: map[openTask]int{}}
	if n.node == (&journal.NodeHistory{}).Title() {
		n.node = ""
	}
	return n
}

// add takes the next event of the run.
func (n *nodeTasks) add(e journal.Recorded) {
	key := openTask{e.Phase, e.Resource, e.Action}
	i, started := n.open[key]
	switch {
	case e.Node != n.node:
	case e.Kind == journal.TaskStarted:
		n.open[key] = len(n.tasks)
		e.Status = string(journal.Running)
		n.tasks = append(n.tasks, e)
	case e.Kind == journal.TaskFinished && started:
		n.tasks[i] = e
		delete(n.open, key)
	case e.Kind == journal.TaskFinished:
		n.tasks = append(n.tasks, e)
	case e.Kind == journal.Output:
		if t := n.printing(e); t != nil {
			t.Output = lastOf(t.Output + e.Output)
		}
	case e.Kind == journal.Note && n.node != "":
		n.notes = append(n.notes, e)
	}
}

// printing returns the task of the node that printed an output; nil: none runs.
func (n *nodeTasks) printing(e journal.Recorded) *journal.Recorded {
	for key, i := range n.open {
		if key.phase == e.Phase && key.resource == e.Resource {
			return &n.tasks[i]
		}
	}
	return nil
}

// lastOf returns the end of a text that is too long for a page.
func lastOf(text string) string {
	if runes := []rune(text); len(runes) > textLimit {
		return string(runes[len(runes)-textLimit:])
	}
	return text
}

// printedID is the id of the element with what a task that runs prints.
func printedID(e journal.Recorded) string { return "o" + strconv.FormatInt(e.Seq, 10) }

// nodeUpdate is what an update of the page of a node, or of a task, has.
type nodeUpdate struct {
	Printed map[string]string `json:"printed"` // id of an element -> text that is added to it
	Changed bool              `json:"changed"` // tasks started or ended: the page is loaded anew
}

// liveNode returns what writes updates of the page of a node, and of those of its tasks.
func liveNode(q query, seen int64) sender {
	n, update := nodeOf(q), nodeUpdate{}
	add := func(events ...journal.Recorded) {
		for _, e := range events {
			n.add(e)
			t := n.printing(e)
			switch {
			case e.Node != n.node:
			case e.Kind != journal.Output:
				update.Changed = true
			case t != nil:
				if update.Printed == nil {
					update.Printed = map[string]string{}
				}
				update.Printed[printedID(*t)] += e.Output
			}
		}
	}
	return updates(seen, add, func() any {
		was := update
		if update = (nodeUpdate{}); was.Printed == nil && !was.Changed {
			return nil
		}
		return was
	}, func() bool { return false })
}

// Phases returns what the phases of the tasks of a run are called, by the sequence numbers of their events.
func Phases(events []journal.Recorded) map[int64]string {
	p, out := newPicture(), map[int64]string{}
	for _, e := range events {
		p.fold(e)
		if e.Kind == journal.TaskStarted || e.Kind == journal.TaskFinished {
			out[e.Seq] = p.columnOf(e)
		}
	}
	return out
}

func nodePage(ctx context.Context, store *journal.Store, run journal.Run, q query) (any, error) {
	n, p := nodeOf(q), newPicture()
	phases := map[int64]string{} // of tasks, by their numbers
	for e, err := range store.Each(ctx, run.ID, 0) {
		if err != nil {
			return nil, err
		}
		p.fold(e)
		n.add(e)
		if e.Node == n.node && (e.Kind == journal.TaskStarted || e.Kind == journal.TaskFinished) {
			phases[e.Seq] = p.columnOf(e)
		}
	}
	p.over = p.over || run.Status != journal.Running
	r := p.rows[n.node]
	if r == nil {
		return nil, notFound("the run %q has no node %q", run.ID, q.text["node"])
	}
	return page{"node", "Node " + r.Title(), about(run, "", map[string]any{"Row": r, "Cells": p.Cells(r), "Node": r.Title(), "Seq": p.Seq,
		"Columns": p.Columns(), "Phases": phases, "Tasks": n.tasks, "Notes": n.notes})}, nil
}

// taskPage shows a task: its end, or what it printed so far.
func taskPage(ctx context.Context, store *journal.Store, run journal.Run, q query) (any, error) {
	seq, err := strconv.ParseInt(q.text["task"], 10, 64)
	if err != nil || seq < 1 {
		return nil, &statusError{http.StatusBadRequest, fmt.Sprintf("the number of a task is a whole number from 1, not %q", q.text["task"])}
	}
	n, seen := nodeOf(query{}), seq
	for e, err := range store.Each(ctx, run.ID, seq-1, journal.TaskStarted, journal.Output, journal.TaskFinished) {
		if err != nil {
			return nil, err
		}
		if len(n.tasks) == 0 {
			if e.Seq != seq || e.Kind == journal.Output {
				break
			}
			n.node = e.Node
		}
		seen = e.Seq
		if n.add(e); n.tasks[0].Kind == journal.TaskFinished {
			break
		}
	}
	if len(n.tasks) == 0 {
		return nil, notFound("the run %q has no task %d", run.ID, seq)
	}
	p := newPicture()
	for e, err := range store.Each(ctx, run.ID, 0, journal.RunStarted, journal.Planned) {
		if err != nil {
			return nil, err
		}
		if e.Seq > seq { // another pass
			break
		}
		p.fold(e)
	}
	t, node := n.tasks[0], ""
	if t.Kind == journal.TaskStarted { // it runs: the page follows its node
		node = (&journal.NodeHistory{Node: t.Node}).Title()
	}
	return page{"task", "Task " + t.Resource, about(run, "", map[string]any{"Task": t, "Phase": p.columnOf(t), "Node": node, "Seq": seen})}, nil
}
