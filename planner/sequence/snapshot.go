package sequence

import "slices"

// SnapshotPlan is a type of plan that handles snapshots (litp.md 134).
type SnapshotPlan string

// The types of snapshot plans.
const (
	CreateSnapshot  SnapshotPlan = "create_snapshot"
	RemoveSnapshot  SnapshotPlan = "remove_snapshot"
	RestoreSnapshot SnapshotPlan = "restore_snapshot"
)

// snapshotGroups are the groups of each type, strictly one after the other. A task's tag names its group; untagged tasks, and those
// with an unknown tag, go to snapshotDefault.
var snapshotGroups = map[SnapshotPlan][]string{
	CreateSnapshot: {
		"validation", "pre_operation", "mgmt_lvm_volume", "peer_node_lvm_volume", "peer_node_vxvm_volume", "nas_filesystem", "san_lun",
		snapshotDefault, "post_operation",
	},
	RemoveSnapshot: {
		"validation", "pre_operation", "mgmt_lvm_volume", "peer_node_lvm_volume", "peer_node_vxvm_volume", "nas_filesystem", "san_lun",
		snapshotDefault, "post_operation", snapshotCleanup,
	},
	RestoreSnapshot: {
		"validation", "prepare_puppet", "prepare_vcs", "pre_operation", "nas_filesystem", "peer_node_lvm_volume",
		"peer_node_vxvm_volume", "peer_node_reboot", "peer_node_power_off", "san_lun", "sanitisation", "peer_node_power_on",
		"peer_node_post_power_on", "mgmt_lvm_volume", snapshotDefault, "mgmt_reboot",
	},
}

const (
	snapshotDefault = "default"
	snapshotCleanup = "final" // of cleanup tasks
)

// Groups returns the groups of a type of snapshot plan in their order; nil for an unknown type.
func (p SnapshotPlan) Groups() []string { return slices.Clone(snapshotGroups[p]) }

// Phases returns one phase for each group that has tasks. Inside a phase the tasks keep their order; requirements do not count. Config
// tasks have no place in such a plan.
func (p SnapshotPlan) Phases(works []Work) ([][]Work, Problems) {
	var problems Problems
	groups := snapshotGroups[p]
	byGroup := make(map[string][]Work, len(groups))
	for _, w := range works {
		group := w.Tag
		switch {
		case w.config():
			problems.add(TaskValidation, []string{w.ID}, "task %q is a config task; a plan of type %s has callbacks and remote tasks only", w.ID, p)
			continue
		case w.Kind == Cleanup && slices.Contains(groups, snapshotCleanup):
			group = snapshotCleanup
		case !slices.Contains(groups, group) || group == snapshotCleanup:
			group = snapshotDefault
		}
		byGroup[group] = append(byGroup[group], w)
	}
	var out [][]Work
	for _, group := range groups {
		if len(byGroup[group]) > 0 {
			out = append(out, byGroup[group])
		}
	}
	if len(out) == 0 && len(problems) == 0 {
		problems.add(EmptyPlan, nil, "no tasks were generated: there is nothing to do")
	}
	return out, problems
}
