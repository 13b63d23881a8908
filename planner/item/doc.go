// Package item is the typed model of a site: items of declared types in a tree, inheritance from a source to its references, and the
// state that says what a plan has still to do for each item. It is pure: no clock, no files, no goroutines; maps never decide an order.
//
// [Definitions] are plain data that a document reader fills; [Register] checks them all at once and gives a [Registry].
// A [Tree] holds items of these types. Its operations check first and change afterwards: one that returns an error has changed nothing.
//
// Users change the tree with [Tree.Create], [Tree.Inherit], [Tree.Update] and [Tree.Remove]; plugins with [Tree.UpdateByPlugin]; a plan
// that runs, with [Tree.TasksSucceeded], [Tree.DeleteRemoved], [Tree.PlanSucceeded] and [Tree.PlanEnded]. Which state follows from which
// is one table (state.go). [Tree.Validate] is what must hold before there is a plan; [Tree.Required] is the order that the
// structure of the types asks for.
package item
