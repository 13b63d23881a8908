package lifecycle

// Default is the lifecycle of an entity that names none; see catalog.DefaultLifecycle.
const Default = "slipway_default"

// AutoRollback is the gate of [Default] that rolls a failed update back without being asked. A gate that nobody set is
// open (lsm.md 18, 6), so whoever makes an entity closes it, unless a rollback on failure is wanted: see [Gates].
const AutoRollback = "auto_rollback"

// Gates returns how the gates of a shipped lifecycle stand where an entity says nothing. A gate that is not in it is
// open.
func Gates(lifecycle string) map[string]bool {
	if lifecycle == Default {
		return map[string]bool{AutoRollback: false}
	}
	return nil
}
