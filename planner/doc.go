// Package planner compares the desired state of a site with what is applied on its nodes and gives the plan that brings one to
// the other. [Make] is one pure function: no clock, no network, no files, no goroutines, no logging; the same input gives
// the same plan, byte for byte, and the order of lists and maps that carry no meaning does not show. This page is the whole
// way from site to plan.
//
// Services of entities have been through planner/services before: what is planned is the site that it gives, with the attributes that count. [Memory] plans
// a site again and refines only what changed; [Memory.MakeFor] plans what some services need, as the later passes of a run do.
//
// # 1. Check
//
// [site.Site.Validate] looks at names, labels, groups, placement and scopes. Every later step adds what it finds; all problems
// come back together, errors first, and with any error there is no plan.
//
// # 2. Membership
//
// Without groups the default strategy counts: one critical group of all nodes. [strategy.Order] puts the groups in order, the first one
// in the document first where dependencies leave a choice. The first group in that order that selects a node owns it: the
// node's tasks belong to that group, later groups count the node in their criteria only. A node in no group gets nothing,
// and a warning tells so.
//
// # 3. Refine
//
// [refine.New] checks each resource of each service against the schema of its type, writes it in its normal form and digests it,
// once. A service of an entity ([refine.Refined]) brings tasks of three kinds: configuration resources, remote tasks, and callbacks, which run on the
// controller, for each node (their names end in @node) or for the service as a whole. What does not read the node is evaluated once; nodes of a service
// that reads the node have tasks of their own. A node's tasks are those of the services that select it; the same resource from two services
// is an error.
//
// Attributes with the modifier r have the values that callbacks of earlier runs returned (site.Site.Values). Where one is not known yet, a parameter made from it is
// pending: the task is planned by the digest of its templates, and [Plan.Resolve] completes it when its phase starts. The digest is recorded that the next plan
// computes from the value. A value that is known is used until a run returns another one; what that changes beyond the tasks of that run, the next plan works on.
//
// # 4. Override
//
// [override.Set] lays the overrides that concern a node over its tasks: site, then groups in their order, then roles, then the
// node. They concern configuration resources, also those of entities. Nodes with the same services and the same overrides share one result from
// here on.
//
// # 5. Order on a node
//
// [sequence.OrderNode] resolves require, before, notify and subscribe within the node, adds what Puppet requires by itself, and what tasks of entities require by
// task, section, service or resource, of any kind (litp.md 57). It gives a stable topological order; service name, type and title decide where requirements
// do not. A reference to nothing and a cycle are errors. [Desired] stops here: it is what a drift check looks at.
//
// A task also comes after those of the sections that its own requires, within its task group: system, os, network_interfaces, routes, storage_profile, file_systems, then
// configs, items and services, where inline configuration stands (litp.md 90 to 92). Packages do not wait for packages. What makes something absent goes the
// other way round, and has no relation to the rest. What is written wins: a task that requires one of a later section counts as one of that section.
// Resources that are removed go in the reverse of the order in which the node's ledger says that they came.
//
// What a catalog says of the order ([site.Site.Ordering], litp.md 10) comes on top: a wait is a requirement of a task on all others of the node that match;
// counts_as says in which section a task stands; types of configuration resources that are unordered do not wait for their like. Priority classes matter in
// step 8. What makes something absent is in no class and no wait.
//
// A requirement across task groups is kept by their order, and an error that names both tasks where that order contradicts it (litp.md 69, Q2); so is one
// between a node and a callback of its service as a whole.
//
// # 6. Plugins
//
// The tasks of plugins become actions (kind [task.Remote]), each with its own place in the run. `pre_deployment/P` stands in pre_node of the group that
// owns the node, `post_deployment/P` in post_cluster, in the order of number, plugin and place in its document ([plugin.Order], fuel.md A3). Graph tasks
// come after them: in pre_node what must end before deploy_start, in post_cluster what must begin after deploy_end, all others in cluster
// ([plugin.NewGraph], fuel.md A7). A requirement between graph tasks is kept on each node that runs both; a node that runs the later one only waits
// for all nodes of the earlier one, and where the order of groups makes that impossible it is an error that names both tasks. Tasks whose roles match no node,
// or mean the controller, are told by a warning (fuel.md F-07).
//
// # 7. Compare
//
// A resource that was never applied is created; one applied with another digest, or begun and not finished, is updated; one that
// drifted is repaired; one applied as wanted is left out, unless a resource that stays in notifies it: then it is refreshed. What
// is applied and no longer wanted is removed, before other configuration of that node, unless a task replaces it: then it stays in the ledger, and nobody
// minds it any more (litp.md 61). Requirements through what was left out are
// kept. Nothing needs more than ledger and drift, so a plan made half-way through a run holds exactly the rest; only a
// refresh whose cause was already applied is not planned again.
//
// An action runs on a node
//
//   - when it never ran there to its end as it is now: the ledger has no entry for it, one of another digest, or one that was begun only;
//   - when the node has other work: a deployment of a node runs its tasks, as Fuel does. What counts is work on configuration resources.
//
// So a plan without changes stays empty. An action cannot drift. When it is no longer wanted its entry is removed from the ledger; nothing is undone, and nothing
// else runs for it. The rest of a run that was interrupted holds an action that ran before, and was not reached this time, only as long as the node has other work or
// its entry was marked as begun when the run started on the node.
//
// A remote task or callback of an entity runs
//
//   - when its digest is not recorded: in the node's ledger, for callbacks among what is applied on the [Controller];
//   - when its service has work on configuration resources in the same plan, on the same node; for a callback of the service as a whole, on any node.
//
// A task that is not remembered (persist = false) runs with any work of its service, and does not drift. Callbacks that are no longer wanted are
// forgotten ([Plan.Forgotten]), which is no work. A callback alone is reason enough for a plan.
//
// A node that an earlier run left locked ([task.LeftLocked]) is unlocked, which alone is reason enough for a plan (litp.md 84).
//
// # 8. Sequence
//
// A task of an entity belongs to the task group of its tag, or by kind: callbacks of a service as a whole to management, all others to node (litp.md 65). A
// callback of a service as a whole whose tag repeats for each deployment group is called once: with pre_node in the first group that owns a node of the
// service, else in the last one. In a task group inside lock windows of a rolling group it is an error: it belongs to no node.
//
// [sequence.Phases] orders by task group: what services have in management, boot and pre_cluster; for each deployment group a prepare phase with one task per node that
// has work, a pre_node phase that unlocks nodes, a phase for each action of plugins in pre_node, then what services have in pre_node to cluster, with the actions of
// plugins first in cluster; then post_cluster likewise; at the end cleanup, which tears down the nodes that left the site, or all groups, with something applied. Without
// work there are no phases.
//
// Services' tasks of one task group that are all on configuration resources share one phase, when none is of a priority class. Else [sequence.Scope] makes phases, each of one kind: a node's
// configuration, a remote task, or callbacks, and of one class; as few as requirements allow, also those that lead through tasks that need not be done (litp.md 97 to
// 103). A remote task begins on all nodes of a group in the same phase, unless nodes need it at different places.
// A class comes as early as its requirements let it: of phases that could come next, its own is before those of lower classes and of none. Only what is removed
// from a node comes before all of them.
//
// Groups may be worked on at once (rollout.Options.ParallelGroups), but for those that [Group.After] names: a callback of a service as a whole in one group's block,
// and tasks of plugins that wait for other nodes, tie groups together.
//
// # 9. Digest
//
// The digest covers everything that the run will do: phases, tasks with their limits, the order of groups that take part with their criteria, rolling
// and time limits, and departed nodes. Two plans with one digest do the same.
package planner
