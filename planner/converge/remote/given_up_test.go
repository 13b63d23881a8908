package remote

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
	"github.com/slipway/terraform-provider-slipway/planner/transport/sshtest"
)

// mute is a connection whose login shell says nothing; ended is called when its session has.
type mute struct {
	transport.Conn
	ended func()
}

func (m mute) Start(ctx context.Context, _ string) (transport.Session, error) {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.Close() })
	return muteSession{speaker{out}, m.ended}, nil
}

type muteSession struct {
	speaker
	ended func()
}

func (s muteSession) Wait() error {
	s.ended()
	return nil
}

// TestAnInterruptionIsNoFaultOfTheShell: the run is interrupted while the login shell is waited for.
func TestAnInterruptionIsNoFaultOfTheShell(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	conn := mute{ended: func() { cancel(errors.New("the run was interrupted")) }}
	l := limits{start: time.Millisecond, upload: time.Second, grace: time.Second, beat: time.Second}
	_, err := l.converge(ctx, &Link{Conn: conn}, site.Connection{}, Helpers{}, manifest(), func(converge.Result) {})
	refused(t, err, converge.CodeLost, "before the helper was started: the run was interrupted")
}

func TestEmptyLinesAreNamed(t *testing.T) {
	n := newNode(t, sshtest.Options{})
	_, _, err := n.converge(n.helpers("read -r c\necho"))
	refused(t, err, converge.CodeProtocol, "an empty line")
	if strings.Contains(err.Error(), "EOF") {
		t.Error(err)
	}
}
