package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Rules are what a catalog can say about the order of tasks beyond their requirements. The zero value has no groups; begin with
// [DefaultRules].
type Rules struct {
	Groups    []GroupRule // tried in this order; the first match gives a task its group
	Unmatched task.Group  // of tasks that match no rule, or have an unknown tag (litp.md 66)
	Tags      []TagRule   // applied after the groups, in this order
	Classes   []Class     // priority classes, the first one first (litp.md D1)
	First     []First     // selector requirements (litp.md D2)
	Unordered []string    // resource types whose tasks the model does not order among themselves (litp.md 92)
	Aliases   []Alias     // (litp.md D3)
	NoDrop    []string    // item types whose resources are forgotten without a task that drops them (litp.md D6)

	// TransientRemoves makes a task that is not remembered count as one that takes things away. Only LITP's vectors want it: slipway
	// keeps the two apart (litp.md Q7).
	TransientRemoves bool
	// UniquePerSource lets tasks of different sources have the same resource on a node, as LITP does (litp.md 53, Q15).
	UniquePerSource bool
}

// On is where a task must be for a rule to match.
type On int

// The places of tasks.
const (
	Anywhere         On = iota
	OnManagement        // the item is, or lies on, the management server; a config task runs there
	OnNode              // the item is, or lies on, another node; a config task runs there
	InClusterNotNode    // the item is a cluster or lies in one
)

// GroupRule gives tasks a group.
type GroupRule struct {
	Group task.Group
	Tag   string // tasks with this tag belong to the group, whatever else they are; empty for no tag
	Fits  []Fit  // untagged tasks that belong to the group, any of these
}

// Fit is a kind of untagged tasks in a place.
type Fit struct {
	Kind task.Kind
	On   On
}

// TagRule moves tasks to another group after the first grouping.
type TagRule struct {
	Kind     task.Kind
	Tag      string     // of the tasks that it moves
	Policy   LockAction // only when the plan was asked for with this lock action; empty for always
	With     string     // only when another task for the same node has this tag; empty for always
	Group    task.Group // where they go
	Requires string     // they require the tasks with this tag for the same node; empty for none
}

// Class is a priority class: its tasks lie in phases of their own, as early as their requirements allow. Tasks that take things
// away belong to no class.
type Class struct {
	Name   string
	Types  []string // of the items
	Ignore []string // requirements on tasks for items of these types do not count
}

// First makes tasks on items of one type wait for those on items of another type on the same node.
type First struct {
	Type string // of the items that come first
	Then string // of the items whose tasks wait
}

// Alias orders config tasks on some items, and below them, as if they acted on a section of the node on which they run.
type Alias struct {
	Type    string // of the item
	Section string // path below the node, without slashes at its ends
}

// DefaultRules are LITP's rules without those that it has for single item types (litp.md 4.1, section 10).
func DefaultRules() Rules {
	return Rules{
		Groups: []GroupRule{
			{Group: task.PreCluster, Tag: "pre_cluster"},
			{Group: task.Management, Tag: "management",
				Fits: []Fit{{task.Remote, OnManagement}, {task.Config, OnManagement}, {task.Callback, OnManagement}}},
			{Group: task.UpgradeBoot, Tag: "upgrade_boot"},
			{Group: task.StorageUpgrade, Tag: "storage_upgrade"},
			{Group: task.Node, Tag: "node", Fits: []Fit{{task.Remote, OnNode}, {task.Config, OnNode}, {task.Callback, OnNode}}},
			{Group: task.Cluster, Tag: "cluster", Fits: []Fit{{task.Callback, InClusterNotNode}}},
			{Group: task.Boot, Tag: "boot"},
			{Group: task.PreNode, Tag: "pre_node"},
			{Group: task.PostCluster, Tag: "post_cluster"},
		},
		Unmatched: task.Management,
		Tags:      []TagRule{{Kind: task.Callback, Tag: "boot", Policy: LockNew, Group: task.UpgradeBoot}},
		Unordered: []string{"package"},
	}
}

// isA reports whether an item is of one of some types.
func (it Item) isA(types ...string) bool {
	return slices.ContainsFunc(it.Types, func(t string) bool { return slices.Contains(types, t) })
}
