// Package edit builds the next attributes of a service from the ones it has and a change that a user asks for, and says who may change what
// (lsm.md 3, 4, 13). It is pure.
//
// The way of an update, whose base is the candidate where there is one and the active set otherwise (lsm.md 4):
//
//  1. one of [Apply] (PATCH v2), [Merge] (PATCH v1) and [Put] gives the new tree;
//  2. [Carry] brings over what slipway has set;
//  3. catalog.Structure.Check fills in defaults, and looks at types, rules and limits;
//  4. [Check] compares the complete tree with the base: identity first, then modifiers.
//
// None of the functions changes what it is given; results may share values with it.
package edit

import (
	"maps"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// Operation is what an edit does.
type Operation = string

// The operations of edits (lsm.md 4).
const (
	Replace Operation = "replace" // the value takes the place of what is there; in an object a name that is not there is added
	// Combine adds an object to an object, name by name and at every depth; objects to a list with key attributes, by key; elements to the end of any
	// other list.
	Combine Operation = "merge"
	Remove  Operation = "remove" // takes away an element of a list, or a name of an object: its default counts then
)

// Operations returns all operations.
func Operations() []Operation { return []Operation{Replace, Combine, Remove} }

// Edit is one change of attributes. Target is a dict path, see [ParsePath]. Value is plain data as catalog.Structure.Check takes it; it is
// not looked at for the operation remove.
type Edit struct {
	ID        string
	Operation Operation
	Target    string
	Value     any
}

// Merge is the update of PATCH v1: the attributes of top take the place of those of base as a whole, all others stay (lsm.md 18, 3).
func Merge(base, top map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(top))
	maps.Copy(out, base)
	maps.Copy(out, top)
	return out
}

// Put is the update of PUT: next takes the place of prior. What is left out returns to its default (lsm.md 18, 20), but what slipway has set is
// carried over. With ignoreReadOnly what next says of read-only attributes does not count; without it, [Check] refuses what differs.
func Put(entity *catalog.Entity, prior, next map[string]any, ignoreReadOnly bool) map[string]any {
	if ignoreReadOnly {
		next = withoutAllocated(entity.Structure, next)
	}
	return Carry(entity, prior, next)
}
