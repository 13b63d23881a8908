package engine

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/rollout"
)

// A run that took too long says which limit it was.
func TestTimeLimitIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited, cancel := context.WithTimeoutCause(t.Context(), time.Minute, &TimeLimitError{"timeouts.update", time.Minute})
		defer cancel()
		<-limited.Done()
		for want, ctx := range map[string]context.Context{
			"The limit of timeouts.update, 1m0s, is over": limited, "interrupted": t.Context(),
		} {
			out := Outcome{Status: Interrupted}
			out.report(ctx, rollout.Report{Status: rollout.StatusInterrupted})
			if len(out.Messages) != 1 || !out.Failed() || !strings.Contains(out.Messages[0].Error(), want) {
				t.Errorf("got %v, want one with %q", out.Messages, want)
			}
		}
	})
}

// A run that did all that its plan showed says so in one line, because the next plan prints it.
func TestDidAsShown(t *testing.T) {
	shown := []string{"3.1 web: prepare 1 node (a)", "3.2 web: node phase"}
	for name, c := range map[string]struct {
		out  Outcome
		want []string
	}{
		"all":    {Outcome{Done: []string{"web: prepare 1 node (a)", "web: node phase"}}, []string{"3.1 to 3.2, as in steps"}},
		"some":   {Outcome{Done: []string{"web: node phase"}}, []string{"3.1 web: node phase"}},
		"failed": {Outcome{Status: Failed, Done: []string{"web: prepare 1 node (a)", "web: node phase"}}, shown},
	} {
		if got := c.out.Did(3, shown); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
