// Package task defines the unit of work of a plan and its identity.
package task

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Group is a task group: tasks of one part of a run (design.md 5.5, litp.md 4.1).
type Group string

// Task groups in the order of a run. Prepare to Cluster repeat for each deployment group.
const (
	Management     Group = "management"
	Boot           Group = "boot"
	PreCluster     Group = "pre_cluster"
	Prepare        Group = "prepare"
	PreNode        Group = "pre_node"
	UpgradeBoot    Group = "upgrade_boot"
	StorageUpgrade Group = "storage_upgrade"
	Node           Group = "node"
	Cluster        Group = "cluster"
	PostCluster    Group = "post_cluster"
	Cleanup        Group = "cleanup"
)

// Kind is how a task is executed (litp.md 45 to 48).
type Kind string

// The kinds of tasks.
const (
	Config   Kind = ""         // one configuration resource on one node, in the node's catalog
	Remote   Kind = "remote"   // an action on a node; tasks of one name on several nodes run in parallel
	Callback Kind = "callback" // runs on the controller
)

// Action is what a task does to its resource.
type Action string

// The actions. Create, Update and Repair differ only in what the plan shows: a resource that was never applied, one
// that is applied in another form, and one that is applied and drifted.
const (
	PrepareNode Action = "prepare" // reach the node, place the helper, take stock of its ledger
	Create      Action = "create"
	Update      Action = "update"
	Repair      Action = "repair"
	Refresh     Action = "refresh"   // nothing but react to a notification: the resource itself is as it should be
	Remove      Action = "remove"    // undo what slipway applied for the resource (design.md 7)
	Forget      Action = "tear down" // undo everything on a node that left the site, or all of its groups
	Run         Action = "run"       // carry out a remote task or a callback
	Restore     Action = "restore"   // put back what was there before the run
	Unlock      Action = "unlock"    // unlock a node that an earlier run left locked (litp.md 84)

	// HealthCheck runs the health check of a group on a node. A plan has it for nodes that an earlier run left unchecked;
	// the run adds it to each batch.
	HealthCheck Action = "health check"
)

// LeftLocked marks a node that an earlier run left locked: a resource with this id and an empty digest is among what is
// applied there.
const LeftLocked resource.ID = "lock[node]"

// UnknownLedger marks a node on which something may be applied that no ledger said, because the node was worked on once
// and could not be read since: a resource with this id and an empty digest is among what is applied there.
const UnknownLedger resource.ID = "ledger[node]"

// Unchecked marks a node that a run changed, or was about to, and that no health check has found in order since: a
// resource with this id is among what is applied there. Its digest is the id of the run, after [CheckFailed] when the
// check of that run failed, and after [OnlyCalled] when its ledger does not have it.
const Unchecked resource.ID = "health_check[node]"

// IsMark reports whether an id among what is applied on a node is that of no resource.
func IsMark(id resource.ID) bool { return id == LeftLocked || id == UnknownLedger || id == Unchecked }

// The beginnings of a digest of [Unchecked].
const (
	CheckFailed = "failed "
	OnlyCalled  = "called " // callbacks ran for the node, which did not reach it
)

// Task is the unit of work: one configuration resource on one node, an action on one node, a callback on the
// controller, or the preparation, unlocking or tear-down of one node.
type Task struct {
	Kind Kind
	// Name is, of a remote task or callback, `<plugin or service>/<task>`, for a callback on a node with `@<node>`
	// behind it; unique in the site but for remote tasks on several nodes. Empty otherwise.
	Name     string
	Node     string // the node's name; empty for a callback that belongs to no node
	Group    Group
	Action   Action
	Service  string   // the service that brings the task, empty when there is none
	Shared   []string // the other services that bring the same resource, sorted; they come after Service
	Override []string // overrides that changed or created the resource, in the order applied
	Overrode []string // overrides that did so before and no longer do, where a plan was given them
	// Resource is what the task is about: the configuration resource, or the type, name and settings of a remote task
	// or callback (types shell, puppet, reboot; command, http, function). It is zero for PrepareNode, Unlock and
	// Forget; type and title only for Remove.
	Resource resource.Resource
	Digest   string // resource.Digest of Resource; empty for PrepareNode, Unlock, Remove and Forget
	// Requires lists the resources of the same node that must come first (require, subscribe, and the reverse of
	// before and notify), sorted.
	Requires []resource.ID
	// Notifies lists the resources of the same node that are refreshed when this one changes, sorted.
	Notifies []resource.ID
	Limit    int  // of a remote task: how many nodes it may run on at once, 1 or more; 0 is no limit of its own
	Tolerate bool // a failure is a warning and the node goes on (fuel.md A4, fail_on_error = false)
	// TakenOver says of a Remove that another title of the same object takes over what is there, where a plan was given
	// what was wanted before.
	TakenOver bool
	// Unnotified says of a command that only a notification runs that nothing in the plan notifies it, and that nothing
	// did so before.
	Unnotified bool
	// Pending are parameters whose values callbacks of the run have yet to return, sorted; they are missing in
	// Resource, and Digest is that of what they are made from (litp.md 51).
	Pending []string
	// Awaited is what the task is made from and the node has not said yet; nil where it needs nothing.
	Awaited *Awaited
	// Left is, of a HealthCheck, what [Unchecked] has of its node.
	Left string
}

// Awaited are facts of a node that parameters of a task are made from. The parameters are missing in its resource, and
// its digest is that of their templates.
type Awaited struct {
	Facts, Parameters []string // sorted
}

// Owners returns the services that bring the task, sorted; nil when none does.
func (t Task) Owners() []string {
	if t.Service == "" {
		return nil
	}
	return append([]string{t.Service}, t.Shared...)
}

// OwnedBy reports whether a service brings the task.
func (t Task) OwnedBy(service string) bool {
	return service != "" && t.Service == service || slices.Contains(t.Shared, service)
}
