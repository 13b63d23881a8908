package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
)

// The lease of a run that a workflow executes never counts as silent. Who goes on with the run fences off who was at
// work on it before.
func TestLeaseOfWorkflow(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		keys, err := encryption.Parse(encryption.New())
		if err != nil {
			t.Fatal(err)
		}
		at.Keys = keys
		s, other := openSite(t, at), openSite(t, at)
		s.leaseTime, other.leaseTime = 50*time.Millisecond, 50*time.Millisecond
		handed := Run{ID: "run-1", Site: "lon1", Operation: "update", Workflow: "slipway/lon1/run-1", Desired: "d",
			Steps: []string{"1.1 a"}}
		if err := s.Hand(t.Context(), handed, []byte("what is asked for")); err != nil {
			t.Fatal(err)
		}
		var busy *BusyError
		if _, err := other.Start(t.Context(), Run{ID: "run-2", Site: "lon1"}); !errors.As(err, &busy) || busy.Run != "run-1" {
			t.Errorf("a second run: %v, want that run-1 has the site", err)
		}
		if said := busy.Error(); !strings.Contains(said, "`terraform-provider-slipway runs cancel run-1`") ||
			strings.Contains(said, "end that process") {
			t.Errorf("%s: must name runs cancel, and no process that another one goes on for", said)
		}
		got, err := other.Run(t.Context(), "")
		if err != nil || got.Status != Running || got.Workflow != handed.Workflow || got.Desired != "d" {
			t.Errorf("the run is %+v, error %v", got, err)
		}
		if text, err := other.Blob(t.Context(), "run-1", UseRequest, encryption.Control, got.Request); string(text) != "what is asked for" {
			t.Errorf("the request is %q, error %v", text, err)
		}
		// What processes of the run write for each other has a name, and the first one counts.
		for i, want := range [][]bool{{true, true}, {false, true}, {false, false}} {
			count, err := other.Name(t.Context(), "run-1", Named{"a", Blob{Content: fmt.Append(nil, i)}},
				Named{fmt.Sprint("b", min(i, 1)), Blob{Content: fmt.Append(nil, i)}})
			if err != nil || !slices.Equal(count, want) {
				t.Errorf("%v of the contents %d count, error %v, want %v", count, i, err, want)
			}
		}
		found, err := s.Named(t.Context(), "run-1", "", "a", "b1", "c")
		if err != nil || len(found) != 2 || string(found["a"]) != "0" || string(found["b1"]) != "1" {
			t.Errorf("the contents are %q, error %v", found, err)
		}

		first, err := s.Resume(t.Context(), "run-1")
		if err != nil {
			t.Fatal(err)
		}
		second, err := other.Resume(t.Context(), "run-1")
		if err != nil {
			t.Fatal(err)
		}
		if first.Fence().Number >= second.Fence().Number || first.Fence().Line != second.Fence().Line {
			t.Errorf("fences %+v and %+v: the second must be higher", first.Fence(), second.Fence())
		}
		if err := first.Record(t.Context(), Event{Kind: Note}); !errors.Is(err, ErrFenced) {
			t.Errorf("the first writer: %v, want that it lost the lease", err)
		}
		if err := second.Record(t.Context(), Event{Kind: Note}); err != nil {
			t.Error(err)
		}
		if err := first.Finish(t.Context(), "failed", ""); !errors.Is(err, ErrFenced) {
			t.Errorf("the first writer finishes: %v", err)
		}
		if err := second.FinishWith(t.Context(), "succeeded", "all", "outcome"); err != nil {
			t.Fatal(err)
		}
		got, err = s.Run(t.Context(), "run-1")
		if err != nil || got.Status != "succeeded" || got.Outcome != "outcome" || got.Ended.IsZero() {
			t.Errorf("the run is %+v, error %v", got, err)
		}
		if _, err := s.Resume(t.Context(), "run-1"); !errors.Is(err, ErrEnded) {
			t.Errorf("a run that has ended goes on: %v", err)
		}
		finish(t, start(t, s, "run-3"))
		if _, err := s.Resume(t.Context(), "run-3"); err == nil {
			t.Error("a run that no workflow executes was resumed")
		}
	})
}
