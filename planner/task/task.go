// Package task defines the unit of work of a plan and its identity.
package task

import "github.com/slipway/terraform-provider-slipway/planner/resource"

// Group is a task group: the place of a task in the order of a run (design.md 5.5, litp.md 4.1).
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

// Action is what a task does to its resource.
type Action string

// The actions. Create, Update and Repair differ only in what the plan tells: a resource that was never applied, one
// that is applied in another form, and one that is applied and drifted.
const (
	PrepareNode Action = "prepare" // reach the node, place the helper, take stock of its ledger
	Create      Action = "create"
	Update      Action = "update"
	Repair      Action = "repair"
	Refresh     Action = "refresh"   // nothing but react to a notification: the resource itself is as it should be
	Remove      Action = "remove"    // undo what slipway applied for the resource (design.md 7)
	Forget      Action = "tear down" // undo everything on a node that left the site, or all of its groups
)

// Task is the unit of work: one configuration resource on one node, or the preparation or tear-down of one node.
type Task struct {
	Node     string // the node's name
	Group    Group
	Action   Action
	Service  string            // the service that brings the resource, empty when there is none
	Override []string          // overrides that changed or created the resource, in the order applied
	Resource resource.Resource // zero for PrepareNode and Forget; type and title only for Remove
	Digest   string            // resource.Digest of Resource; empty for PrepareNode, Remove and Forget
	// Requires lists the resources of the same node that must come first (require, subscribe, and the reverse of
	// before and notify), sorted.
	Requires []resource.ID
	// Notifies lists the resources of the same node that are refreshed when this one changes, sorted.
	Notifies []resource.ID
}
