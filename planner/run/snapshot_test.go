package run

import (
	"reflect"
	"slices"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// Every field of what changes during a run is in its snapshot, or follows from the program, or is in the snapshot in
// another form.
func TestSnapshotHasAllFields(t *testing.T) {
	for _, what := range []struct {
		value   any
		fields  strategy.Fields
		without []string
	}{
		{Machine{}, (&Machine{}).fields(), []string{"p", "walk", "at", "out", "calls", "running", "freed", "later"}},
		{call{}, (&call{}).fields(), []string{"group", "outside", "rounds", "now", "queue", "blocked"}},
		{chain{}, (&chain{}).fields(), []string{"call", "node", "sessions", "place", "window"}},
		{node{}, (&node{}).fields(), nil},
		{outsidePhase{}, (&outsidePhase{}).fields(), []string{"Phase", "first"}},
	} {
		of := reflect.TypeOf(what.value)
		for i := range of.NumField() {
			name := of.Field(i).Name
			if _, saved := what.fields[name]; saved == slices.Contains(what.without, name) {
				t.Errorf("%s.%s: saved is %v", of.Name(), name, saved)
			}
		}
	}
}

// A snapshot is restored with its own program only.
func TestRestoreRefuses(t *testing.T) {
	data, err := New(Program{}).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		data, want string
		program    Program
	}{
		{string(data), "the snapshot is of a run with another program", Program{Destroy: true}},
		{"{", "the snapshot of the run cannot be read: unexpected end of JSON input", Program{}},
		{`{"version": 2}`, "the snapshot of the run has version 2, this build reads 1", Program{}},
	} {
		if _, err := Restore(c.program, []byte(c.data)); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.data, err, c.want)
		}
	}
}
