package lifecycle

// Default is the lifecycle of an entity that names no lifecycle; see catalog.DefaultLifecycle.
const Default = "slipway_default"

// AutoRollback is the gate of [Default] for automatic rollbacks of failed updates. Gates are open by default (lsm.md
// 18, 6); [Gates] closes this one, because a rollback on failure must be asked for.
const AutoRollback = "auto_rollback"

// Gates returns the gates of a shipped lifecycle that apply if an entity sets none. A gate that is not in the map is
// open.
func Gates(lifecycle string) map[string]bool {
	if lifecycle == Default {
		return map[string]bool{AutoRollback: false}
	}
	return nil
}
