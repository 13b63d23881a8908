package types

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// serviceCommands are the commands of a resource that are run in place of the service manager's own; those that are not
// set are the manager's. The ledger has them for undo.
type serviceCommands struct {
	Start  []string `json:"start,omitempty"`
	Stop   []string `json:"stop,omitempty"`
	Status []string `json:"status,omitempty"`
}

func commandsOf(r resource.Resource) serviceCommands {
	p := r.Parameters
	return serviceCommands{Start: p.Strings("start"), Stop: p.Strings("stop"), Status: p.Strings("status")}
}

// own returns the commands, as a method of the managers that have them.
func (c serviceCommands) own() serviceCommands { return c }

// of returns the command in place of a verb of the manager, empty for the manager's.
func (c serviceCommands) of(verb string) []string {
	return map[string][]string{"start": c.Start, "stop": c.Stop}[verb]
}

// suffice reports whether the service can be started without the manager knowing of it.
func (c serviceCommands) suffice() bool { return len(c.Start) > 0 && len(c.Status) > 0 }

// judge returns is with the state that the command for it reports: status 0 is running, any other stopped, as in
// Puppet.
func (c serviceCommands) judge(ctx context.Context, s *Session, is serviceState) (serviceState, error) {
	if len(c.Status) == 0 {
		return is, nil
	}
	command := commandOf(c.Status)
	command.EndsWithSession = true
	out, err := ask(ctx, s, command)
	if err != nil {
		return is, fmt.Errorf("status: %w", err)
	}
	is.active, is.finished = stopped, ""
	is.detail = fmt.Sprintf("its command for the status ended with status %d", out.Status)
	if out.Status == 0 {
		is.active, is.exists = running, true
	}
	return is, nil
}

// activate runs the command in place of a verb and waits until m says that the service is as it should be.
func (c serviceCommands) activate(ctx context.Context, s *Session, m serviceManager, unit, verb, should string) error {
	if err := mustRun(ctx, s, commandOf(c.of(verb))); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	for deadline := time.Now().Add(unitSettles); ; {
		states, err := m.states(ctx, s, []string{unit})
		if err != nil {
			return err
		}
		is := states[unit]
		if is.active == should {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: its command succeeded, yet it is %s, not %s (%s)", verb, is.active, should, is.detail)
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// commandOf builds the command for words: one is a line for the shell, several are a program and its arguments.
func commandOf(words []string) system.Command {
	if len(words) == 1 {
		words = []string{"/bin/sh", "-c", words[0]}
	}
	return system.Command{Argv: words}
}

// base is Puppet's provider of this name: a service that no manager knows and that has commands for everything.
type base struct{ serviceCommands }

func (base) unit(name string) string { return name }

func (m base) states(ctx context.Context, s *Session, units []string) (map[string]serviceState, error) {
	states := map[string]serviceState{}
	for _, unit := range units {
		is, err := m.judge(ctx, s, serviceState{exists: true})
		if err != nil {
			return nil, err
		}
		states[unit] = is
	}
	return states, nil
}

func (m base) set(ctx context.Context, s *Session, unit string, _ serviceState, want serviceWant) error {
	switch want.active {
	case running:
		return m.activate(ctx, s, m, unit, "start", running)
	case stopped:
		return m.activate(ctx, s, m, unit, "stop", stopped)
	}
	return nil
}

func (m base) restart(ctx context.Context, s *Session, unit string) error {
	if err := m.activate(ctx, s, m, unit, "stop", stopped); err != nil {
		return err
	}
	return m.activate(ctx, s, m, unit, "start", running)
}
