package types

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// rebootType restarts the node. It takes two sessions: the first writes into the ledger which boot it wants to end and
// has the node restart behind it, the second finds another boot id and is done. So a restart that was asked for happens
// once, whoever is killed in between, and one that happened by other means in the meantime counts.
type rebootType struct{ action }

func (rebootType) Schema() resource.Schema { return schema.Reboot() }

const (
	// DefaultRestartTimeout is how long a node may take to come back, where the action does not say.
	DefaultRestartTimeout = 10 * time.Minute
	// BootParameter names the difference of a node that is to restart: from its boot id to another one.
	BootParameter = "boot_id"
	// RebootType is the type of the action that restarts a node.
	RebootType = "reboot"
)

// ErrRestarting is how Apply says that the node restarts after this session.
var ErrRestarting = errors.New("the node restarts")

// RestartTimeout returns how long the node may take to come back from the restart that r asks for; 0 is no limit.
func RestartTimeout(r resource.Resource) time.Duration {
	return time.Duration(r.Parameters.IntOr("timeout", int64(DefaultRestartTimeout/time.Second))) * time.Second
}

func (rebootType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	if !s.due(r) {
		return nil, nil
	}
	id, err := s.BootID()
	if err != nil {
		return nil, err
	}
	if e := s.Ledger.Entry(s.Site, r.ID()); e != nil {
		asked, err := askedFor(e)
		if err != nil {
			return nil, err
		}
		id = cmp.Or(asked.BootID, id)
	}
	return []Difference{{Parameter: BootParameter, Is: id, Should: "another"}}, nil
}

// restartAsked is what the ledger's entry holds from the moment before the restart until it is over.
type restartAsked struct {
	BootID string `json:"boot_id"` // of the boot that is to end
}

func askedFor(e *ledger.Entry) (restartAsked, error) {
	var asked restartAsked
	if err := json.Unmarshal(e.Before, &asked); err != nil {
		return asked, fmt.Errorf("the ledger's record of %s: %w", e.ID, err)
	}
	return asked, nil
}

func (rebootType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	e := s.Ledger.Entry(s.Site, r.ID())
	asked, err := askedFor(e)
	if err != nil {
		return err
	}
	id, err := s.BootID()
	switch {
	case err != nil:
		return err
	case asked.BootID != "" && asked.BootID != id:
		e.Before = json.RawMessage("null") // saved together with the digest
		return nil
	case asked.BootID == "":
		if e.Before, err = json.Marshal(restartAsked{id}); err != nil {
			return err
		}
		s.Ledger.Change(ledger.Record{Entry: e})
		if err := s.Ledger.Save(); err != nil {
			return fmt.Errorf("not begun: %w", err)
		}
	}
	if err := s.restart(ctx); err != nil {
		return err
	}
	return ErrRestarting
}

// restart has the machine restart in two seconds, so that the session can end before.
func (s *Session) restart(ctx context.Context) error {
	systemd, err := s.Exists("/run/systemd/system")
	if err != nil {
		return err
	}
	argv, needed := []string{"/bin/sh", "-c", "(trap '' HUP; sleep 2; exec reboot) </dev/null >/dev/null 2>&1 &"}, "reboot"
	if systemd {
		// A unit of its own, because the session's processes may end with it.
		argv, needed = []string{"systemd-run", "--quiet", "/bin/sh", "-c", "sleep 2; exec systemctl reboot"}, "systemd-run"
	}
	switch program, err := s.Program(needed); {
	case err != nil:
		return err
	case program == "":
		return fmt.Errorf("%s: no such program on the node in %s; without it the node cannot be restarted",
			needed, system.ProgramPath)
	}
	return mustRun(ctx, s, system.Command{Argv: argv})
}
