// Package edit says what a change of the attributes of a service means and who may make it (lsm.md 3, 4, 13). It is
// pure.
//
// The way of an update, whose base is the candidate where there is one and the active set otherwise (lsm.md 4):
//
//  1. [Carry] brings over what slipway has set;
//  2. catalog.Structure.Check fills in defaults, and looks at types, rules and limits;
//  3. [Check] compares the complete tree with the base: identity first, then modifiers.
//
// None of the functions changes what it is given; results may share values with it.
package edit
