package lifecycle

// simple is the lifecycle that most services of Inmanta have: validated, deployed, updated with a way back.
func simple() Lifecycle {
	return Lifecycle{
		Name: "simple", Initial: "start",
		States: []State{
			hidden("start"),
			hidden("acknowledged"),
			hidden("rejected").labelled(Danger),
			live("creating"),
			live("up").labelled(Success),
			live("failed").labelled(Danger),
			changing("update_start").comparing(Active, None),
			changing("update_acknowledged"),
			changing("update_rejected").labelled(Warning),
			changing("update_start_failed").labelled(Warning),
			changing("update_acknowledged_failed").labelled(Warning),
			changing("update_rejected_failed").labelled(Warning),
			live("update_inprogress").comparing(None, Rollback),
			live("update_failed").labelled(Warning),
			live("rollback").comparing(None, Candidate),
			live("deleting").purging(),
			gone("terminated"),
		},
		Transfers: []Transfer{
			auto("start", "acknowledged").validated("rejected"),
			auto("acknowledged", "creating").does(Promote),
			updated("rejected", "start"),
			deletes("rejected", "terminated"),
			deployed("creating", "up", "failed"),
			deletes("creating", "deleting"),
			updated("up", "update_start"),
			deployed("up", "up", "failed"),
			deletes("up", "deleting"),
			deployed("failed", "up", "failed"),
			deletes("failed", "deleting"),
			auto("update_start", "update_acknowledged").validated("update_rejected"),
			deployed("update_start", "update_start", "update_start_failed"),
			auto("update_acknowledged", "update_inprogress").does(Promote),
			deployed("update_rejected", "update_rejected", "update_rejected_failed"),
			asked("update_rejected", "up").does(ClearCandidate),
			updated("update_rejected", "update_start"),
			auto("update_start_failed", "update_acknowledged_failed").validated("update_rejected_failed"),
			deployed("update_start_failed", "update_start", "update_start_failed"),
			auto("update_acknowledged_failed", "update_inprogress").does(Promote),
			deployed("update_rejected_failed", "update_rejected", "update_rejected_failed"),
			asked("update_rejected_failed", "failed").does(ClearCandidate),
			updated("update_rejected_failed", "update_start_failed"),
			deployed("update_inprogress", "up", "update_failed"),
			asked("update_failed", "rollback").does(Restore),
			deployed("update_failed", "up", "update_failed"),
			deletes("update_failed", "deleting"),
			deployed("rollback", "up", "failed"),
			deployed("deleting", "terminated", "deleting"),
		},
	}
}

// simpleWithSetState has a second way from up to up, which a person asks for; its updates are never promoted.
func simpleWithSetState() Lifecycle {
	return Lifecycle{
		Name: "simple_with_set_state", Initial: "start",
		States: []State{
			hidden("start"),
			live("creating"),
			hidden("rejected").labelled(Danger),
			live("up").labelled(Success),
			live("failed").labelled(Danger),
			live("deleting").purging(),
			gone("terminated"),
			changing("update_start"),
			live("update_inprogress"),
			changing("setting_start"),
			live("setting_inprogress"),
		},
		Transfers: []Transfer{
			auto("start", "creating").validated("rejected").does(Promote),
			deployed("creating", "up", "failed"),
			deletes("creating", "deleting"),
			updated("rejected", "start"),
			deletes("rejected", "terminated"),
			deployed("up", "up", "failed"),
			deletes("up", "deleting"),
			updated("up", "update_start"),
			asked("up", "setting_start"),
			deployed("failed", "up", "failed"),
			deletes("failed", "deleting"),
			deployed("deleting", "terminated", "deleting"),
			auto("update_start", "update_inprogress"),
			deployed("update_inprogress", "up", "failed"),
			auto("setting_start", "setting_inprogress"),
			deployed("setting_inprogress", "up", "failed"),
		},
	}
}

// basicOptimized is the smallest lifecycle whose transfers preserve the desired state.
func basicOptimized() Lifecycle {
	return Lifecycle{
		Name: "basic_optimized", Initial: "start",
		States: []State{
			hidden("start"),
			live("creating"),
			live("up").labelled(Success),
			live("failed").labelled(Danger),
			gone("rejected").labelled(Danger),
			live("deleting").purging(),
			gone("terminated"),
		},
		Transfers: []Transfer{
			auto("start", "creating").validated("rejected").does(Promote).preserving(false),
			deployed("creating", "up", "creating").preserving(true),
			deployed("up", "up", "failed").preserving(true),
			deletes("up", "deleting"),
			deployed("failed", "up", "failed").preserving(true),
			deployed("deleting", "terminated", "deleting").preserving(false),
		},
	}
}

// slipwayDefault is the lifecycle [Default].
func slipwayDefault() Lifecycle {
	return Lifecycle{
		Name: "slipway_default", Initial: "start",
		States: []State{
			hidden("start"),
			hidden("rejected").labelled(Danger),
			live("creating"),
			live("up").labelled(Success),
			live("failed").labelled(Danger),
			changing("update_start").comparing(Active, None),
			changing("update_rejected").labelled(Warning),
			live("update_inprogress").comparing(None, Rollback),
			live("update_failed").labelled(Warning),
			live("rollback").comparing(None, Candidate),
			{Name: "delete_validating", Label: Info, Export: true, ValidateOthers: Active},
			live("deleting").purging(),
			gone("terminated"),
		},
		Transfers: []Transfer{
			auto("start", "creating").validated("rejected").does(Promote),
			updated("rejected", "start"),
			deletes("rejected", "terminated"),
			deployed("creating", "up", "failed"),
			deletes("creating", "delete_validating"),
			deployed("up", "up", "failed"),
			updated("up", "update_start"),
			deletes("up", "delete_validating"),
			deployed("failed", "up", "failed"),
			updated("failed", "update_start"),
			deletes("failed", "delete_validating"),
			auto("update_start", "update_inprogress").validated("update_rejected").does(Promote),
			updated("update_rejected", "update_start"),
			asked("update_rejected", "up").does(ClearCandidate),
			deletes("update_rejected", "delete_validating").does(ClearCandidate),
			deployed("update_inprogress", "up", "update_failed"),
			deployed("update_failed", "up", "update_failed"),
			updated("update_failed", "update_start"),
			auto("update_failed", "rollback").does(Restore).gated("auto_rollback"),
			asked("update_failed", "rollback").does(Restore),
			deletes("update_failed", "delete_validating"),
			deployed("rollback", "up", "failed").does(ClearCandidate).failing(ClearCandidate),
			auto("delete_validating", "deleting").validated("failed"),
			deployed("deleting", "terminated", "deleting"),
		},
	}
}
