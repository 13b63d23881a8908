package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// late is a node whose time is over while its session is at work.
type late struct{ over func() }

func (l late) Converge(ctx context.Context, _ site.Node, _ converge.Manifest, _ func(converge.Result),
) (converge.Summary, error) {
	l.over()
	<-ctx.Done()
	return converge.Summary{}, &converge.SessionError{Code: converge.CodeLost,
		Message: "the session was given up (" + context.Cause(ctx).Error() + ") before the node sent its summary"}
}

func (late) Close() error { return nil }

// TestTheReasonOfASessionIsGivenOnce: both the session and who started it know why it ended.
func TestTheReasonOfASessionIsGivenOnce(t *testing.T) {
	limit := errors.New("the limit of timeouts.read is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := checkNode(ctx, late{func() { cancel(limit) }}, site.Node{Name: "n1"}, converge.Manifest{}).Error
	if !errors.Is(err, limit) {
		t.Errorf("%q does not wrap its reason", err)
	}
	for _, text := range []string{limit.Error(), "the session was given up"} {
		if n := strings.Count(err.Error(), text); n != 1 {
			t.Errorf("%q is %d times in %q", text, n, err)
		}
	}
}
