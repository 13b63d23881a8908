package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// site makes two routers with ports, and a link between them, all up.
func site(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, nil, network("simple_with_delete_validate")...)
	r.up("r1", "router", object{"name": "r1"}).up("r2", "router", object{"name": "r2"})
	r.up("p1", "port", object{"name": "p1", "router": "r1"}).up("p2", "port", object{"name": "p2", "router": "r2"})
	return r.up("l", "link", object{"name": "l", "ends": []any{"r1", "r2"}, "path": []any{object{"via": "p1"}}})
}

func TestReferences(t *testing.T) {
	r := site(t)
	r.create("p3", "port", object{"name": "p3", "router": "r9"}).refused(lifecycle.BadReference, "router")
	// of another entity
	r.create("p3", "port", object{"name": "p3", "router": "p1"}).refused(lifecycle.BadReference, "router")
	r.create("p3", "port", object{"name": "p3", "router": nil}).refused("limit_violation", "router")
	r.create("p3", "port", object{"name": "p3"}).refused("missing_attribute", "router")
	r.create("l2", "link", object{"name": "l2", "ends": []any{"r1", "r2", "r1"}}).refused("limit_violation", "ends")
	r.create("l2", "link", object{"name": "l2", "ends": []any{"r1", "r9"},
		"path": []any{object{"via": "p9"}}}).refused(lifecycle.BadReference, "ends[1]")
	if text := r.err.Error(); !strings.Contains(text, "path[0].via") {
		t.Errorf("not all references are told: %s", text)
	}
	r.patch("p1", object{"router": "r2"}).refused("immutable_attribute", "router") // an owner stays
	r.patch("l", object{"ends": []any{"r1"}, "path": []any{}}).validated("l", true).deployed("l", good).at("l", "up", 8)
	r.delete("p2").validated("p2", true).deployed("p2", good).at("p2", "terminated", 7)
	// deleted
	r.create("l2", "link", object{"name": "l2", "path": []any{object{"via": "p2"}}}).refused(lifecycle.BadReference,
		"path[0].via")
}

func TestReferrersProtect(t *testing.T) {
	r := site(t).delete("r1").at("r1", "delete_validating_up", 5)
	dangling, err := r.Dangling("r1")
	want := []lifecycle.Reference{{ID: "l", Set: lifecycle.Active, Path: "ends[0]", Target: "r1"},
		{ID: "p1", Set: lifecycle.Active, Path: "router", Target: "r1"}}
	if d := cmp.Diff(want, dangling); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	r.validated("r1", false).at("r1", "up", 6)
	if dangling, err := r.Dangling("r1"); err != nil || dangling != nil {
		t.Errorf("a service that stays leaves %v dangling, %v", dangling, err)
	}
	if _, err := r.Dangling("x"); err == nil {
		t.Error("no such service, and no error")
	}
	got := []string{}
	for _, ref := range r.ReferencedBy("p1") {
		got = append(got, fmt.Sprint(ref.ID, " ", ref.Set, " ", ref.Path))
	}
	if d := cmp.Diff([]string{"l active path[0].via"}, got); d != "" {
		t.Error(d)
	}
	r.patch("l", object{"ends": []any{"r2"}}).at("l", "update_start")
	if refs := r.ReferencedBy("r2"); len(refs) != 3 { // candidate and active of the link, and the port
		t.Errorf("%v", refs)
	}
}

func TestADeletionThatFailsWhileItIsValidated(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple_with_delete_validate")).up("a", "p", values("n", 1)).deployed("a",
		bad).at("a", "failed", 5)
	r.delete("a").at("a", "delete_validating_failed", 6).deployed("a", good).at("a", "delete_validating_failed",
		6).events("6 RESOURCE ignored")
	if in, _ := r.Instance("a"); in.Pending == nil || in.Pending.Target != "deleting" {
		t.Errorf("%+v", in.Pending)
	}
	r.validated("a", false).at("a", "failed", 7).delete("a").validated("a", true).at("a", "deleting", 9)
}

func TestTwoCreationsDoNotSeeEachOther(t *testing.T) {
	r := newRig(t, map[string]bool{"auto_creating": false}, plain("p", "service"))
	r.create("a", "p", values("a", 1)).create("b", "p", values("b", 1)).ok()
	seen := func(id string) string {
		members, err := r.Validation(id)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, m := range members {
			out = append(out, m.ID+" "+string(m.Set))
		}
		return strings.Join(out, ", ")
	}
	if got := seen("b"); got != "b candidate" {
		t.Error(got)
	}
	r.validated("a", true).validated("a", true).at("a", "designed", 3)
	if got := seen("b"); got != "a candidate, b candidate" { // which is what designed is for
		t.Error(got)
	}
}

func TestExport(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple_with_deallocation"))
	r.up("a", "p", values("a", 1)).delete("a").create("b", "p", values("b", 1)).validated("b", false).at("b",
		"rejected")
	members, err := r.Export()
	if d := cmp.Diff([]lifecycle.Member{{ID: "a", Set: lifecycle.Active, Purge: true}}, members); err != nil ||
		d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	// A state that exports without anything to export is told, and hides nothing else.
	r.delete("b").at("b", "deallocating")
	members, err = r.Export()
	if err == nil || len(members) != 1 || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("%v, %v", members, err)
	}
}

func TestLoad(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple"))
	for want, in := range map[invalid.Code]lifecycle.Instance{
		lifecycle.BadCall:      {},
		lifecycle.UnknownState: {ID: "a", Entity: "p", State: "upp"},
	} {
		r.err = r.Load(in)
		r.refused(want, "")
	}
	in := lifecycle.Instance{ID: "a", Entity: "p", State: "up", Version: 1, DesiredVersion: 1}
	if err := r.Load(in); err != nil {
		t.Fatal(err)
	}
	r.err = r.Load(in)
	r.refused(lifecycle.InstanceExists, "")
}

func TestAServiceWithoutTheSetIsLeftOut(t *testing.T) {
	r := newRig(t, nil, plain("p", "simple"))
	for id, state := range map[string]string{"a": "up", "b": "update_start", "c": "up"} {
		in := lifecycle.Instance{ID: id, Entity: "p", State: state, Version: 1, DesiredVersion: 1}
		if id == "c" {
			in.Active = values("c", 1)
		}
		if err := r.Load(in); err != nil {
			t.Fatal(err)
		}
	}
	members, err := r.Validation("b")
	if d := cmp.Diff([]lifecycle.Member{{ID: "c", Set: lifecycle.Active}}, members); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

func TestOperations(t *testing.T) {
	c, a, b := object{"v": 3}, object{"v": 2}, object{"v": 1}
	all := lifecycle.Sets{Candidate: c, Active: a, Rollback: b}
	for _, tt := range []struct {
		from    lifecycle.Sets
		op      lifecycle.Operation
		want    lifecycle.Sets
		missing lifecycle.Set
	}{
		{all, lifecycle.Promote, lifecycle.Sets{Active: c, Rollback: a}, lifecycle.None},
		{all, lifecycle.Restore, lifecycle.Sets{Candidate: a, Active: b}, lifecycle.None},
		{all, lifecycle.ClearCandidate, lifecycle.Sets{Active: a, Rollback: b}, lifecycle.None},
		{all, lifecycle.ClearActive, lifecycle.Sets{Candidate: c, Rollback: b}, lifecycle.None},
		{all, lifecycle.ClearRollback, lifecycle.Sets{Candidate: c, Active: a}, lifecycle.None},
		{all, lifecycle.NoOperation, all, lifecycle.None},
		{lifecycle.Sets{Active: a}, lifecycle.Promote, lifecycle.Sets{Active: a}, lifecycle.Candidate},
		{lifecycle.Sets{Active: a}, lifecycle.Restore, lifecycle.Sets{Active: a}, lifecycle.Rollback},
		{lifecycle.Sets{Rollback: b}, lifecycle.Restore, lifecycle.Sets{Active: b}, lifecycle.None},
		{lifecycle.Sets{}, lifecycle.ClearCandidate, lifecycle.Sets{}, lifecycle.None},
	} {
		got, missing := tt.from.Apply(tt.op)
		if d := cmp.Diff(tt.want, got); d != "" || missing != tt.missing {
			t.Errorf("%s: misses %q\n%s", tt.op, missing, d)
		}
	}
	if got := lifecycle.Operations(); !slices.Contains(got, lifecycle.Restore) || len(got) != 5 {
		t.Error(got)
	}
}
