package item

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// TasksSucceeded says that every task of the plan that names these items has succeeded: one marked for removal is Removed, a new or changed
// one Applied. Call it after each phase; an item with a failed or waiting task is not among them (litp.md 32).
func (t *Tree) TasksSucceeded(paths ...Path) {
	for _, path := range paths {
		if it := t.items[path]; it != nil {
			it.on(tasksSucceeded)
		}
	}
}

// Resumed says that a failed plan goes on in which the tasks of these items had succeeded: those that could not be deleted when it failed
// are Removed again (litp.md 121).
func (t *Tree) Resumed(paths ...Path) {
	for _, path := range paths {
		if it := t.items[path]; it != nil {
			it.on(resumed)
		}
	}
}

// DeleteRemoved is the first thing at the end of any plan: Removed items leave the model. One that has something below it or inheriting from
// it that stays, stays too and is for removal again, now for good (litp.md 34, 39). A collection leaves with its parent only.
func (t *Tree) DeleteRemoved() {
	var removed []*Item
	for it := range t.All() {
		if it.state == Removed {
			removed = append(removed, it)
		}
	}
	leaves := make(map[*Item]bool, len(removed))
	for _, it := range removed {
		leaves[it] = true
	}
	stays := func(other *Item) bool { return !leaves[other] }
	for again := true; again; {
		again = false
		for _, it := range removed {
			if leaves[it] && (slices.ContainsFunc(it.children, stays) || slices.ContainsFunc(it.heirs, stays) ||
				it.IsCollection() && stays(it.parent)) {
				delete(leaves, it)
				again = true
			}
		}
	}
	for _, it := range slices.Backward(removed) {
		if leaves[it] {
			t.drop(it)
		}
	}
	for _, it := range removed {
		if leaves[it] {
			continue
		}
		before := it.previous
		it.on(deletionBlocked)
		if it.IsCollection() {
			it.previous = before // nothing of it is on a node, so nothing of it failed
		}
	}
}

// PlanSucceeded says that every task of a plan succeeded, after [Tree.DeleteRemoved]: what no task named is Applied too, except snapshots and
// what is marked for removal (litp.md 33, Q13).
func (t *Tree) PlanSucceeded() {
	for it := range t.All() {
		if !it.ofSnapshots() {
			it.on(planSucceeded)
		}
	}
}

func (it *Item) ofSnapshots() bool { return it.typ.role == RoleSnapshot }

// Progress is how far a task came when its plan ended.
type Progress int

// How far a task came.
const (
	NotStarted Progress = iota
	Succeeded
	Unfinished // failed, stopped or broken off
)

// Outcome is a task of an item when its plan ended.
type Outcome struct {
	Progress Progress
	Lock     bool // a lock or unlock task; its failure says nothing about the item
}

// PlanEnded says how the tasks of items ended, after [Tree.DeleteRemoved]; it sets whether their applied properties are known (litp.md 35).
// It is not for snapshot and reboot plans.
func (t *Tree) PlanEnded(outcomes map[Path][]Outcome) {
	for path, tasks := range outcomes {
		it := t.items[path]
		if it == nil || !slices.ContainsFunc(tasks, func(o Outcome) bool { return o.Progress != NotStarted }) {
			continue
		}
		failed := slices.ContainsFunc(tasks, func(o Outcome) bool { return !o.Lock && o.Progress != Succeeded })
		it.determinable = !failed && (it.state != ForRemoval || it.previous != Removed)
	}
}

// MarkUndeterminable says that what is on the nodes for an item is not known.
func (t *Tree) MarkUndeterminable(path Path) site.Problems {
	it := t.items[path]
	if it == nil {
		return one(path, "", InvalidLocation, "there is no such item")
	}
	it.determinable = false
	return nil
}

// SetState puts an item into a state, as a model that was stored says it; what is Applied is so with its present properties.
func (t *Tree) SetState(path Path, state State) site.Problems {
	it := t.items[path]
	switch {
	case it == nil:
		return one(path, "", InvalidLocation, "there is no such item")
	case !slices.Contains([]State{Initial, Applied, Updated, ForRemoval, Removed}, state):
		return one(path, "", InvalidRequest, "%q is not a state; use Initial, Applied, Updated, ForRemoval or Removed", state)
	}
	it.enter(state)
	return nil
}

// InstallAgain makes every item Initial, so that the next plan installs everything; only what is within the paths in except keeps its state
// (litp.md 43).
func (t *Tree) InstallAgain(except ...Path) {
	for it := range t.All() {
		if slices.ContainsFunc(except, it.path.Within) {
			continue
		}
		it.on(reset)
		clear(it.applied)
		it.determinable = true
	}
}
