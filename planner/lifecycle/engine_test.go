package lifecycle_test

import (
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

const (
	good = lifecycle.Succeeded
	bad  = lifecycle.Failed
)

func TestARejectedCreationCanBeMendedOrDeleted(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple"))
	r.create("a", "p", object{"name": "n", "size": int64(1)}).at("a", "start", 1).validated("a", false).at("a",
		"rejected", 2)
	r.events("1 AUTO executed!").compiles().sets("a", object{"name": "n", "size": int64(1), "note": nil, "vni": nil},
		nil, nil)
	r.patch("a", object{"size": int64(2)}).at("a", "start", 3).compiles()
	r.validated("a", false).at("a", "rejected", 4).delete("a").at("a", "terminated", 5).compiles()
	if in, _ := r.Instance("a"); !in.Deleted {
		t.Error("terminated is not deleted")
	}
	r.create("b", "p", object{"name": "n", "size": int64(1)}).ok() // its identity is free again
}

func TestIdentity(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple"), plain("q", "simple"))
	r.create("a", "p", values("n", 1)).ok()
	if id, ok := r.ByIdentity("p", "n"); !ok || id != "a" {
		t.Errorf("got %q", id)
	}
	if name, ok := r.Identity("a"); !ok || name != "n" {
		t.Errorf("got %v", name)
	}
	r.create("b", "p", values("n", 2)).refused(lifecycle.IdentityConflict, "name")
	r.create("b", "q", values("n", 2)).ok() // of another entity
	r.create("a", "p", values("m", 1)).refused(lifecycle.InstanceExists, "")
	// a rejected service has it still
	r.validated("a", false).create("c", "p", values("n", 2)).refused(lifecycle.IdentityConflict, "name")
	// Types come before the identity, the identity before modifiers.
	r.create("c", "p", object{"name": "n", "size": "1", "vni": int64(1)}).refused("type_mismatch", "size")
	r.create("c", "p", object{"name": "n", "size": int64(1), "vni": int64(1)}).refused(lifecycle.IdentityConflict,
		"name")
	r.create("c", "p", object{"name": "o", "size": int64(1), "vni": int64(1)}).refused("readonly_attribute", "vni")
}

func TestPut(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple"))
	given := lifecycle.Instance{ID: "a", Entity: "p", State: "up", Version: 4, DesiredVersion: 4}
	given.Active = object{"name": "n", "size": int64(1), "note": "x", "vni": int64(7)}
	if err := r.Load(given); err != nil {
		t.Fatal(err)
	}
	r.put("a", object{"name": "n", "size": int64(2), "vni": int64(8)}).refused("readonly_attribute", "vni")
	r.put("a", object{"name": "m", "size": int64(2)}).refused("identity_immutable", "name")
	r.put("a", object{"name": "n"}).refused("missing_attribute", "size")
	preview, err := r.Preview("a", object{"name": "n", "size": int64(2)})
	if err != nil || preview["note"] != nil || preview["vni"] != int64(7) {
		t.Errorf("got %v, %v", preview, err)
	}
	// What is left out returns to its default; what slipway set stays.
	r.put("a", object{"name": "n", "size": int64(2)}).at("a", "update_start", 5)
	r.sets("a", object{"name": "n", "size": int64(2), "note": nil, "vni": int64(7)}, given.Active, nil)
	// The same value of what is read-only is no change (lsm.md 18, 4).
	r.validated("a", false).put("a", object{"name": "n", "size": int64(2), "vni": int64(7)}).at("a", "update_start", 7)
}

func TestAllErrorsAreReported(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple")).up("a", "p", values("n", 1))
	r.patch("a", object{"size": "x", "colour": "red"}).refused("type_mismatch", "size")
	if e := r.err.Error(); e != "service \"a\": size: is the string \"x\", not a whole number\nservice \"a\": colour: there is no such attribute; use one of name, size, note, vni" {
		t.Error(e)
	}
}

func TestChecksComeInOrder(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple")).up("a", "p", values("n", 1))
	wrong := object{"name": "n", "size": true}
	r.did(r.Update(lifecycle.Call{ID: "x"}, wrong, "")).refused(lifecycle.UnknownInstance, "")
	r.did(r.Update(lifecycle.Call{ID: "a"}, wrong, "")).refused(lifecycle.MissingVersion, "")
	r.did(r.Update(lifecycle.Call{ID: "a", Version: 3}, wrong, "")).refused(lifecycle.VersionConflict, "")
	r.did(r.Update(r.call("a"), wrong, "")).refused("type_mismatch", "size")
	r.delete("a").at("a", "deleting", 5)
	r.did(r.Update(r.call("a"), wrong, "")).refused(lifecycle.TransferNotAllowed, "")
	r.delete("a").refused(lifecycle.TransferNotAllowed, "")
	r.set("a", "up").refused(lifecycle.TransferNotAllowed, "")
	r.deployed("a", good).at("a", "terminated", 6)
	r.did(r.Update(lifecycle.Call{ID: "a"}, wrong, "")).refused(lifecycle.Deleted, "")
	r.gates("a", nil).refused(lifecycle.Deleted, "")
	r.did(r.ForceState(r.call("a"), "up", "")).refused(lifecycle.Deleted, "")
}

func TestDeletionWhileBeingCreated(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple"))
	r.create("a", "p", values("n", 1)).delete("a").refused(lifecycle.TransferNotAllowed, "")
	r.validated("a", true).at("a", "creating", 3).delete("a").at("a", "deleting", 4).compiles("a 4")
	// The result of the deployment that was under way is not about the deletion.
	r.did(r.Deployed(lifecycle.Call{ID: "a"}, good, 3)).at("a", "deleting", 4).events("4 RESOURCE_EVENT ignored")
	r.did(r.Deployed(lifecycle.Call{ID: "a"}, good, 4)).at("a", "terminated", 5)
	r.deployed("a", good).at("a", "terminated", 5).events("5 RESOURCE_EVENT ignored")
	r.validated("a", true).at("a", "terminated", 5).compiles()
}

func TestWaitingResultsChangeNothing(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple"))
	r.create("a", "p", values("n", 1)).validated("a", true)
	r.deployed("a", lifecycle.Waiting).at("a", "creating", 3).events()
	r.deployed("a", good).at("a", "up", 4)
	r.did(r.Deployed(r.call("a"), "done", 0)).refused(lifecycle.BadCall, "")
}

func TestUpdateInProgressHasNoWayOutButAResult(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple")).up("a", "p", values("n", 1))
	r.patch("a", object{"size": int64(2)}).validated("a", true).at("a", "update_inprogress", 7)
	r.delete("a").refused(lifecycle.TransferNotAllowed, "").patch("a", object{}).refused(lifecycle.TransferNotAllowed,
		"")
	r.deployed("a", bad).at("a", "update_failed", 8)
	r.set("a", "rollback").at("a", "rollback", 9).compiles("a 9").sets("a", values("n", 2), values("n", 1), nil)
	r.deployed("a", bad).at("a", "failed", 10).patch("a", object{}).refused(lifecycle.TransferNotAllowed, "")
}

func TestGates(t *testing.T) {
	r := newRig(t, map[string]bool{"auto_designed": false, "auto_creating": false}, plain("p", "service"))
	r.create("a", "p", values("n", 1)).validated("a", true).at("a", "acknowledged", 2)
	if in, _ := r.Instance("a"); in.Pending != nil {
		t.Fatal("a closed gate lets through")
	}
	r.did(r.SetConfig(lifecycle.Call{ID: "a"}, nil)).refused(lifecycle.MissingVersion, "")
	r.gates("a", map[string]bool{"auto_desined": true}).refused(lifecycle.UnknownConfig, `gates["auto_desined"]`)
	// Opening a gate takes effect at once, and is no transfer (lsm.md 18, 7).
	r.gates("a", map[string]bool{"auto_designed": true}).at("a", "acknowledged", 2).events("2 AUTO trigger",
		"2 AUTO validation")
	r.validated("a", true).at("a", "designed", 3)
	r.gates("a", map[string]bool{"auto_creating": true}).at("a", "creating", 4).compiles("a 4")
	// What nobody says is open (lsm.md 18, 6).
	r.deployed("a", good).patch("a", object{"size": int64(2)}).validated("a", true).validated("a", true).at("a",
		"update_inprogress", 9)
}

func TestAPersonsValidation(t *testing.T) {
	r := newRig(t, map[string]bool{"auto_designed": false}, plain("p", "service"))
	r.create("a", "p", values("n", 1)).validated("a", true)
	// A transfer to the state itself asks again, and is not executed when the answer is the same.
	r.set("a", "acknowledged").at("a", "acknowledged", 2).events("2 API_SET_STATE trigger",
		"2 API_SET_STATE validation")
	r.validated("a", true).at("a", "acknowledged", 2).events("2 API_SET_STATE ignored")
	if in, _ := r.Instance("a"); in.Pending != nil {
		t.Error("the validation is over, and pending")
	}
	r.validated("a", true).events("2 AUTO ignored")
	r.set("a", "designed").validated("a", false).at("a", "rejected", 3).events("2 API_SET_STATE executed!")
}

func TestAnUpdateIsAbortedByHand(t *testing.T) {
	r := newRig(t, nil, plain("p", "service")).up("a", "p", values("n", 1))
	r.patch("a", object{"size": int64(2)}).at("a", "update_start", 6).set("a", "up").at("a", "up", 7).sets("a", nil,
		values("n", 1), nil)
	r.did(r.Validated(lifecycle.Call{ID: "a"}, lifecycle.Validation{ForVersion: 6, OK: true})).at("a", "up", 7)
}

func TestAFailedUpdateThatIsUpdatedLosesTheLastGoodSet(t *testing.T) {
	r := newRig(t, map[string]bool{lifecycle.AutoRollback: false}, plain("p", "slipway_default")).up("a", "p",
		values("n", 1))
	r.patch("a", object{"size": int64(2)}).validated("a", true).deployed("a", bad).at("a", "update_failed", 6)
	r.patch("a", object{"size": int64(3)}).validated("a", true).at("a", "update_inprogress", 8).sets("a", nil,
		values("n", 3), values("n", 2))
}

func TestDefaultLifecycle(t *testing.T) {
	closed := map[string]bool{lifecycle.AutoRollback: false}
	start := func(t *testing.T) *rig {
		return newRig(t, closed, plain("p", "slipway_default")).up("a", "p", values("n", 1)).at("a", "up", 3)
	}
	t.Run("a failed creation is updated", func(t *testing.T) {
		r := newRig(t, closed, plain("p", "slipway_default")).create("a", "p", values("n", 1)).validated("a", true)
		r.deployed("a", bad).at("a", "failed", 3).patch("a", object{"size": int64(2)}).validated("a",
			true).deployed("a", good).at("a", "up", 6)
		r.sets("a", nil, values("n", 2), values("n", 1))
	})
	t.Run("rollback by hand leaves no candidate", func(t *testing.T) {
		r := start(t).patch("a", object{"size": int64(2)}).validated("a", true).deployed("a", bad).at("a",
			"update_failed", 6)
		r.set("a", "rollback").sets("a", values("n", 2), values("n", 1), nil).deployed("a", good).at("a", "up",
			8).sets("a", nil, values("n", 1), nil)
	})
	t.Run("rollback without being asked", func(t *testing.T) {
		r := start(t).gates("a", map[string]bool{lifecycle.AutoRollback: true}).patch("a",
			object{"size": int64(2)}).validated("a", true)
		r.deployed("a", bad).at("a", "rollback", 7).sets("a", values("n", 2), values("n", 1), nil)
		r.deployed("a", bad).at("a", "failed", 8).sets("a", nil, values("n", 1), nil)
	})
	t.Run("opening the gate rolls back at once", func(t *testing.T) {
		r := start(t).patch("a", object{"size": int64(2)}).validated("a", true).deployed("a", bad)
		r.ok().gates("a", map[string]bool{lifecycle.AutoRollback: true}).at("a", "rollback", 7)
	})
	t.Run("a rejected update is deleted", func(t *testing.T) {
		r := start(t).patch("a", object{"size": int64(2)}).validated("a", false).at("a", "update_rejected", 5)
		r.delete("a").at("a", "delete_validating", 6).sets("a", nil, values("n", 1), nil)
		r.validated("a", true).at("a", "deleting", 7).deployed("a", bad).at("a", "deleting", 7).deployed("a",
			good).at("a", "terminated", 8)
	})
	t.Run("a refused deletion", func(t *testing.T) {
		start(t).delete("a").validated("a", false).at("a", "failed", 5).deployed("a", good).at("a", "up", 6)
	})
}

func TestCustomerLifecycle(t *testing.T) {
	gates := map[string]bool{"auto_delete_create_failed": false, "auto_delete_up_failed": false,
		"auto_discard_update_rejected": true}
	r := newRig(t, gates, plain("p", "cloudconnect"))
	r.create("a", "p", values("n", 1)).at("a", "ordered", 1).validated("a", true).at("a", "allocating",
		2).validated("a", true).at("a", "creating", 3)
	r.deployed("a", bad).at("a", "create_failed", 4).deployed("a", good).at("a", "awaiting_up", 5).deployed("a",
		good).at("a", "up", 6)
	// discarded
	r.patch("a", object{"size": int64(2)}).validated("a", false).at("a", "up", 9).sets("a", nil, values("n", 1), nil)
	r.set("a", "maintenance").at("a", "maintenance", 10).compiles("a 10")
	r.deployed("a", bad).at("a", "maintenance", 10) // exports nothing, so it has no results
	r.patch("a", object{"size": int64(3)}).at("a", "ep_migration_start", 11).compiles()
	r.validated("a", true).at("a", "ep_migration_deleting", 12).deployed("a", good).at("a", "ep_migration_updating",
		13).sets("a", nil, values("n", 3), values("n", 1))
	r.deployed("a", good).set("a", "up").at("a", "up", 15).set("a", "rollback").at("a", "rollback", 16).sets("a",
		values("n", 3), values("n", 1), nil)
}

func TestAnAutomaticTransferThatCannotBe(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple"))
	// without a candidate to promote
	in := lifecycle.Instance{ID: "a", Entity: "p", State: "acknowledged", Version: 2, DesiredVersion: 2}
	if err := r.Load(in); err != nil {
		t.Fatal(err)
	}
	r.did(r.SetConfig(r.call("a"), nil)).at("a", "acknowledged", 2).events("2 AUTO trigger", "2 AUTO aborted!")
	r.err = r.last.Stopped
	r.refused(lifecycle.Precondition, "candidate")
}

func TestKnownResultsEndCirclesAndFollowOnce(t *testing.T) {
	l := lifecycle.Lifecycle{Name: "swing", Initial: "a", States: []lifecycle.State{
		{Name: "a", Export: true}, {Name: "b", Export: true}, {Name: "gone", Deleted: true},
	}, Transfers: []lifecycle.Transfer{
		{Source: "a", Target: "b", Error: "a", Trigger: lifecycle.ResourceBased, Preserves: true},
		{Source: "b", Target: "a", Error: "b", Trigger: lifecycle.ResourceBased, Preserves: true},
		{Source: "a", Target: "gone", Trigger: lifecycle.OnDelete},
	}}
	r := newRig(t, nil)
	r.AddEntity(resolved(t, plain("p", "simple"))[0], l)
	if err := r.Load(lifecycle.Instance{ID: "x", Entity: "p", State: "a", Version: 1, DesiredVersion: 1}); err != nil {
		t.Fatal(err)
	}
	// With the result known, x swings once and stops where it came from.
	r.deployed("x", good).at("x", "a", 3).compiles()
	if in, _ := r.Instance("x"); in.DesiredVersion != 1 {
		t.Errorf("%+v", in)
	}
}

func TestAnUpdateIsNeverWithoutEffect(t *testing.T) {
	l := lifecycle.Lifecycle{Name: "l", Initial: "s", States: []lifecycle.State{{Name: "s"},
		{Name: "gone", Deleted: true}}, Transfers: []lifecycle.Transfer{
		{Source: "s", Target: "s", Trigger: lifecycle.OnUpdate}, {Source: "s", Target: "gone",
			Trigger: lifecycle.OnDelete}}}
	r := newRig(t, nil)
	r.AddEntity(resolved(t, plain("p", "simple"))[0], l)
	// Whoever has seen version 1 has not seen the new candidate.
	r.create("a", "p", values("n", 1)).patch("a", object{"size": int64(2)}).at("a", "s", 2).sets("a", values("n", 2),
		nil, nil)
}

func TestAStateWithoutExportHasNoResult(t *testing.T) {
	// In the old form a state exports as long as there is an active set, which the way to it may clear.
	l := lifecycle.Lifecycle{Name: "l", Initial: "s", States: []lifecycle.State{
		{Name: "s", ModelState: lifecycle.CandidateModel}, {Name: "t",
			ModelState: lifecycle.CandidateModel}, {Name: "u", ModelState: lifecycle.CandidateModel}, {
			Name: "gone", Deleted: true},
	}, Transfers: []lifecycle.Transfer{
		{Source: "s", Target: "t", Trigger: lifecycle.APISetState, Operation: lifecycle.ClearActive, Preserves: true},
		{Source: "t", Target: "u", Error: "t", Trigger: lifecycle.ResourceBased},
		{Source: "u", Target: "gone", Trigger: lifecycle.OnDelete},
	}}
	r := newRig(t, nil)
	r.AddEntity(resolved(t, plain("p", "simple"))[0], l)
	in := lifecycle.Instance{ID: "a", Entity: "p", State: "s", Version: 1, DesiredVersion: 1, Last: good}
	in.Active = values("n", 1)
	if err := r.Load(in); err != nil {
		t.Fatal(err)
	}
	r.set("a", "t").at("a", "t", 2)
}

func TestPreservingHopsKeepTheResult(t *testing.T) {
	r := newRig(t, nil, plain("p", "basic_optimized"))
	r.create("a", "p", values("n", 1)).validated("a", true).at("a", "creating", 2).compiles("a 2")
	r.deployed("a", bad).at("a", "creating", 2).events("2 RESOURCE ignored!")
	r.deployed("a", good).at("a", "up", 3).compiles().events("2 RESOURCE trigger", "2 RESOURCE executed",
		"3 RESOURCE ignored")
	in, _ := r.Instance("a")
	if in.Last != good || in.DesiredVersion != 2 || !in.Preserved {
		t.Errorf("%+v", in)
	}
	r.delete("a").at("a", "deleting", 4)
	if in, _ := r.Instance("a"); in.Last != "" || in.DesiredVersion != 3 {
		t.Errorf("%+v", in)
	}
}

func TestAllocation(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple")).create("a", "p", values("n", 1))
	allocate := func(v lifecycle.Validation) *rig { v.OK = true; return r.did(r.Validated(lifecycle.Call{ID: "a"}, v)) }
	allocate(lifecycle.Validation{Candidate: values("n", 3)}).refused(lifecycle.BadCall, "")
	wrong := values("n", 1)
	wrong["vni"] = "x"
	allocate(lifecycle.Validation{Candidate: wrong}).refused("type_mismatch", "vni")
	r.at2("a", "start", 1)
	whole := values("n", 1)
	whole["vni"] = int64(5)
	allocate(lifecycle.Validation{Candidate: whole}).at("a", "creating", 3).sets("a", nil, whole, nil)
	r.events("1 ALLOCATION_UPDATE executed", "1 AUTO executed", "2 AUTO trigger", "2 AUTO compile", "2 AUTO executed")
	// The value stays through updates, and a validation that chooses nothing new tells nothing.
	r.deployed("a", good).patch("a", object{"size": int64(2)})
	next := values("n", 2)
	next["vni"] = int64(5)
	allocate(lifecycle.Validation{Candidate: next}).at("a", "update_inprogress", 7).sets("a", nil, next, whole)
	if r.last.Events[0].Type == lifecycle.AllocationUpdate {
		t.Error("nothing was allocated, and an event tells so")
	}
}

// at2 is at after a call that was refused.
func (r *rig) at2(id, state string, version int) *rig {
	r.Helper()
	r.err = nil
	return r.at(id, state, version)
}

func TestForce(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple")).up("a", "p", values("n", 1))
	r.did(r.ForceState(lifecycle.Call{ID: "a", Version: 1}, "up", "")).refused(lifecycle.VersionConflict, "")
	r.did(r.ForceState(lifecycle.Call{ID: "a"}, "up", "demote")).refused(lifecycle.UnknownOperation, "")
	r.did(r.ForceState(lifecycle.Call{ID: "a"}, "up", lifecycle.Promote)).refused(lifecycle.Precondition, "candidate")
	// counts, although nothing moves
	r.did(r.ForceState(lifecycle.Call{ID: "a"}, "up", "")).at("a", "up", 5).events("4 FORCE_UPDATE executed")
	r.did(r.Forget(lifecycle.Call{ID: "a"})).ok()
	if _, ok := r.Instance("a"); ok {
		t.Error("it is there still")
	}
	// A forced service goes on by itself from where it was put.
	r.create("b", "p", values("k", 1)).did(r.ForceState(lifecycle.Call{ID: "b"}, "acknowledged", "")).at("b",
		"creating", 3)
}

func TestAbstractEntitiesHaveNoServices(t *testing.T) {
	e := plain("p", "simple")
	e.Abstract = true
	newRig(t, nil, e).create("a", "p", values("n", 1)).refused(lifecycle.UnknownEntity, "")
}

func TestEventsTellNoValues(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	r := newRig(t, nil, plain("p", "simple"))
	r.did(r.Create(lifecycle.Create{ID: "0b6e3b33-6f2b-4a86-8a39-5d14d2f7c3f1", Entity: r.entities["p"], Attributes: values("n", 1),
		At: at, Message: "because"})).ok()
	e := r.last.Events[0]
	want := lifecycle.Event{Service: "0b6e3b33-6f2b-4a86-8a39-5d14d2f7c3f1", Type: lifecycle.CreateTransition,
		Step: lifecycle.Triggered, Destination: "start",
		Severity: lifecycle.SeverityInfo, Message: "created in start: because", At: at}
	want.Correlation = lifecycle.Correlation(want.Service, 0)
	// as Python's uuid3 has it
	if got := lifecycle.Correlation(want.Service, 5); got != "ff496baf-2f5e-3b91-8521-b3005e049828" {
		t.Error(got)
	}
	if lifecycle.Correlation("web", 1) == lifecycle.Correlation("db", 1) {
		t.Error("two services share an id")
	}
	if e != want {
		t.Errorf("got %+v\nwant %+v", e, want)
	}
	if in, _ := r.Instance(e.Service); !in.Created.Equal(at) || !in.Updated.Equal(at) {
		t.Errorf("%+v", in)
	}
}
