// Package planner compares the desired state of a site with what is applied on its nodes, and returns the plan that
// brings one to the other. [Make] is pure: it uses no clock, network, file or goroutine, and the same input gives the
// same plan, byte for byte. Services of entities pass through planner/services first: it decides which of their
// attributes count. [Cache] plans a site several times; [Cache.MakeFor] plans the later passes of a run.
//
// The way from site to plan is in make.go. Each value is made from the one before and not changed later:
//
//	site -> membership -> desired -> changes -> phases -> plan
//
// Site. [site.Site.Validate] checks names, labels, groups, placement and scopes. Every later step adds what it finds.
// All errors and warnings are returned together, and with any error there is no plan.
//
// Membership (membership.go): which group owns a node. [strategy.Order] orders the groups. The first group that selects
// a node owns it: the node's tasks run in that group, and later groups only count the node in their criteria. A node in
// no group is not touched, and a warning says so. A site without groups has one critical group of all nodes.
//
// Desired (desired.go): the tasks that each node is to have, whatever is applied.
//
//  1. [refine.New] turns services into tasks: configuration resources in their normal form, remote tasks, and
//     callbacks, which run on the controller. A parameter that needs the value of a callback is pending, and
//     [Plan.Resolve] completes it during the run.
//  2. [override.Set] merges the overrides of site, groups, roles and node into the configuration resources. Nodes
//     with the same services and overrides share one task list from here on. What several services bring with equal
//     parameters becomes one task (sharing.go).
//  3. [sequence.OrderNode] sorts the tasks of a node by their requirements, those that Puppet adds by itself, the
//     sections of a node (litp.md 90 to 92) and the ordering rules of the catalog (litp.md 10). A missing reference and
//     a cycle are errors. [Desired] returns this list: it is what a drift check compares.
//  4. Actions of plugins are added. Stage tasks run in pre_node or post_cluster (fuel.md A3), graph tasks where the
//     anchors put them (fuel.md A7).
//
// Changes (changes.go): what each node lacks. A resource that was never applied is created, one with another digest is
// updated, one that drifted is repaired, one that is notified is refreshed, and one that is no longer wanted is
// removed. Everything else is left out. A remote task, callback or action runs when its digest is not recorded, or when
// its service, or for an action its node, has changes of configuration resources. A task with persist = false runs with
// any change of its service. A plan made in the middle of a run therefore has what is left to do.
//
// Phases (phase_builder.go): the changes in the order of the run. [sequence.Phases] orders the task groups: management,
// boot and pre_cluster; for each deployment group prepare to cluster; then post_cluster and cleanup. Within a task
// group, configuration resources share one phase unless requirements, remote tasks, callbacks or priority classes split
// it (litp.md 97 to 103). The last phase of pre_node unlocks the nodes that an earlier run left locked (litp.md 84).
// [Group.After] names the groups that may not run at the same time.
//
// Plan (digest.go): the phases with a digest over everything that the run will do. Two plans with the same digest do
// the same.
package planner
