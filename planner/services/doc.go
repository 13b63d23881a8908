// Package services says what a plan and its run do with the services of a site: it brings the inventory of services,
// the site that is wanted, and the outcome of runs together (design.md 8, lsm.md 20). It is pure.
//
//	plan     Begin compares the wanted services with the inventory, sets transfers off (creation, update, deletion, requested states),
//	         allocates, and gives the site that follows: services in a state that exports, with the attributes that count
//	         there. Whoever plans that site validates every candidate with it; errors there refuse everything.
//	run      deploys that site and tells, for each service, how exactly its tasks went.
//	outcome  Conclude makes the transfers that follow. Where they change what is to be deployed, as a rollback does, there is
//	         another pass over the services concerned: plan, run, outcome.
//	state    what is left is the State for the next plan.
//
// A service of a deployment is known by its name, which is its id in the inventory. It is a new one, with another
// incarnation, when attributes change that are fixed (rw), or its entity does. What a set of attributes was made under,
// the definition of the entity, its lifecycle and the selectors, stays with the set, so that a rollback brings back all
// of it.
package services
