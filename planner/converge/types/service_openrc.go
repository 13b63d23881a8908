package types

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// openrc manages services by rc-service and rc-update.
type openrc struct{ serviceCommands }

func (openrc) unit(name string) string { return name }

// states asks for all runlevels at once, and for each service whether it is there and runs.
func (m openrc) states(ctx context.Context, s *Session, units []string) (map[string]serviceState, error) {
	show := system.Command{Argv: []string{"rc-update", "show", "--verbose"}}
	out, err := ask(ctx, s, show)
	if err != nil {
		return nil, err
	}
	if out.Status != 0 {
		return nil, toolError(show, out)
	}
	levels := parseRunlevels(string(out.Stdout))
	states := map[string]serviceState{}
	for _, unit := range units {
		var state serviceState
		if state.exists, err = s.Exists("/etc/init.d/" + unit); err != nil {
			return nil, err
		}
		state.active = stopped
		if state.exists {
			state.enabled, state.levels = disabled, levels[unit]
			if len(state.levels) > 0 {
				state.enabled = enabled
			}
			out, err := ask(ctx, s, system.Command{Argv: []string{"rc-service", "--nocolor", unit, "status"}})
			if err != nil {
				return nil, err
			}
			state.active = openrcActive(out.Status)
			state.detail = fmt.Sprintf("rc-service status %d", out.Status)
		}
		if states[unit], err = m.judge(ctx, s, state); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// openrcActive reads the exit status of `rc-service NAME status`.
func openrcActive(status int) string {
	switch status {
	case 0, 16: // 16: started, and waiting for something such as a carrier
		return running
	case 4:
		return "stopping"
	case 8:
		return "starting"
	case 32:
		return "crashed"
	default: // 3, and scripts that know only 1
		return stopped
	}
}

// parseRunlevels reads lines of `name | default boot`.
func parseRunlevels(text string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(text) {
		if name, levels, ok := strings.Cut(line, "|"); ok {
			fields := strings.Fields(levels)
			slices.Sort(fields)
			out[strings.TrimSpace(name)] = fields
		}
	}
	return out
}

func (m openrc) set(ctx context.Context, s *Session, unit string, is serviceState, want serviceWant) error {
	switch {
	case want.enabled == masked:
		return errors.New("OpenRC cannot mask a service; use enable = false")
	case want.enabled == disabled, want.enabled == enabled && len(is.levels) > 0:
		if len(is.levels) > 0 {
			// With --all, OpenRC fails wherever a runlevel does not have the service.
			if err := mustRun(ctx, s, system.Command{Argv: append([]string{"rc-update", "del", unit}, is.levels...)}); err != nil {
				return err
			}
		}
	}
	if want.enabled == enabled {
		levels := want.levels
		if len(levels) == 0 {
			levels = []string{"default"}
		}
		if err := mustRun(ctx, s, system.Command{Argv: append([]string{"rc-update", "add", unit}, levels...)}); err != nil {
			return err
		}
	}
	switch want.active {
	case running:
		if is.active == "crashed" {
			// What is left of it must be cleared away before it can start.
			if err := mustRun(ctx, s, system.Command{Argv: []string{"rc-service", "--nocolor", unit, "zap"}}); err != nil {
				return err
			}
		}
		return m.activate(ctx, s, unit, "start", running)
	case stopped:
		return m.activate(ctx, s, unit, "stop", stopped)
	}
	return nil
}

func (m openrc) restart(ctx context.Context, s *Session, unit string) error {
	if len(m.Start)+len(m.Stop) > 0 {
		if err := m.activate(ctx, s, unit, "stop", stopped); err != nil {
			return err
		}
		return m.activate(ctx, s, unit, "start", running)
	}
	return m.activate(ctx, s, unit, "restart", running)
}

// activate runs a verb and reads the state again.
func (m openrc) activate(ctx context.Context, s *Session, unit, verb, should string) error {
	if len(m.of(verb)) > 0 {
		return m.serviceCommands.activate(ctx, s, m, unit, verb, should)
	}
	c := system.Command{Argv: []string{"rc-service", "--nocolor", unit, verb}}
	out, err := s.Run(ctx, c)
	s.Forget()
	if err != nil {
		return err
	}
	states, err := m.states(ctx, s, []string{unit})
	if err != nil {
		return err
	}
	is := states[unit]
	if is.active == should {
		return nil
	}
	if out.Status != 0 {
		return toolError(c, out)
	}
	return fmt.Errorf("it is %s after rc-service %s, not %s", is.active, verb, should)
}
