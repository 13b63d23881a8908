package engine

import (
	"context"
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
