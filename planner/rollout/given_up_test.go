package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// late is a node whose session lasts until its context ends.
type late struct{}

func (late) Converge(ctx context.Context, _ site.Node, _ converge.Catalog, _ func(converge.Result),
) (converge.Summary, error) {
	<-ctx.Done()
	return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost,
		Message: "the session was given up (" + context.Cause(ctx).Error() + ") before the node sent its summary"}
}

func (late) Close() error { return nil }

// TestTheReasonOfASessionIsGivenOnce: both the session and who started it know why it ended.
func TestTheReasonOfASessionIsGivenOnce(t *testing.T) {
	limit := errors.New("the limit of timeouts.read is over")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, limit)
	defer cancel()
	err := checkNode(ctx, late{}, site.Node{Name: "n1"}, converge.Catalog{}).Error
	if !errors.Is(err, limit) {
		t.Errorf("%q does not wrap its reason", err)
	}
	for _, text := range []string{limit.Error(), "the session was given up"} {
		if n := strings.Count(err.Error(), text); n != 1 {
			t.Errorf("%q is %d times in %q", text, n, err)
		}
	}
}
