package types

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// systemd manages services by systemctl. Its exit statuses say little (execution.md 2), so the state is read again
// after each change.
type systemd struct{ serviceCommands }

// unitSuffixes are the kinds of units that have a state of their own.
var unitSuffixes = []string{
	".service", ".socket", ".timer", ".path", ".mount", ".automount", ".swap", ".target", ".slice", ".scope", ".device",
}

func (systemd) unit(name string) string {
	if slices.Contains(unitSuffixes, path.Ext(name)) {
		return name
	}
	return name + ".service"
}

// unitSettles bounds the wait for a unit that systemctl left between two states.
const unitSettles = 30 * time.Second

const unitProperties = "Id,LoadState,ActiveState,SubState,UnitFileState,NeedDaemonReload,Result,Type," +
	"ConditionResult,ConditionTimestampMonotonic"

func (m systemd) states(ctx context.Context, s *Session, units []string) (map[string]serviceState, error) {
	c := system.Command{Argv: append([]string{"systemctl", "show", "--no-pager", "-p", unitProperties, "--"}, units...)}
	out, err := ask(ctx, s, c)
	if err != nil {
		return nil, err
	}
	shown := parseShow(string(out.Stdout))
	if len(shown) != len(units) {
		return nil, fmt.Errorf("systemctl show printed %d units, not %d: %w", len(shown), len(units), toolError(c, out))
	}
	states := map[string]serviceState{}
	for i, unit := range units { // by position: Id is another name where the unit has several
		state := unitState(shown[i])
		if shown[i]["UnitFileState"] == "generated" {
			// A script of the old kind: only is-enabled knows.
			out, err := ask(ctx, s, system.Command{Argv: []string{"systemctl", "is-enabled", "--", unit}})
			if err != nil {
				return nil, err
			}
			state.enabled = isEnabled(strings.TrimSpace(string(out.Stdout)), out.Status)
		}
		if states[unit], err = m.judge(ctx, s, state); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// parseShow reads blocks of `Property=value`, one block a unit, with empty lines between.
func parseShow(text string) []map[string]string {
	var out []map[string]string
	for block := range strings.SplitSeq(text, "\n\n") {
		properties := map[string]string{}
		for line := range strings.Lines(block) {
			if name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "="); ok {
				properties[name] = value
			}
		}
		if len(properties) > 0 {
			out = append(out, properties)
		}
	}
	return out
}

func unitState(p map[string]string) serviceState {
	state := serviceState{
		reload:  p["NeedDaemonReload"] == "yes",
		enabled: unitEnabled(p["UnitFileState"]),
		detail: fmt.Sprintf("ActiveState=%s, SubState=%s, Result=%s, Type=%s",
			p["ActiveState"], p["SubState"], p["Result"], p["Type"]),
	}
	// Of a unit that systemd has unloaded since, which it does when nothing refers to it, it says no in any case.
	unloaded := p["ConditionTimestampMonotonic"] == "0"
	unmet := p["ConditionResult"] == "no" && !unloaded
	ended := p["ActiveState"] == "inactive" && p["Result"] == "success"
	switch {
	case unmet:
		state.detail += ", ConditionResult=no: a condition in its unit was not met"
	case ended && unloaded:
		state.detail += "; it ended at once, or a condition in its unit was not met"
	}
	if p["Type"] == "oneshot" && ended && !unmet {
		state.finished = "it ran and has finished"
		if unloaded {
			state.finished += ", or a condition in its unit was not met"
		}
	}
	switch p["ActiveState"] {
	case "active", "reloading", "refreshing":
		state.active = running
	case "inactive", "failed", "":
		state.active = stopped
	default: // activating, deactivating, maintenance
		state.active = p["ActiveState"]
	}
	state.failed = p["ActiveState"] == "failed"
	// A unit whose file was removed while it runs is still something that can be stopped.
	state.exists = p["LoadState"] != "not-found" || state.active != stopped
	return state
}

// unitEnabled maps systemd's states of a unit file onto Puppet's three. Static and indirect units can be neither
// enabled nor disabled.
func unitEnabled(state string) enablement {
	switch state {
	case "enabled", "enabled-runtime", "alias":
		return enabled
	case "disabled", "linked", "linked-runtime":
		return disabled
	case "masked", "masked-runtime":
		return masked
	default: // static, indirect, transient, bad, and no file at all
		return unsettable
	}
}

// isEnabled reads the answer of `systemctl is-enabled` about a script of the old kind.
func isEnabled(word string, status int) enablement {
	switch {
	case word == "generated" || word == "":
		return unsettable
	case status == 0:
		return enabled
	default:
		return disabled
	}
}

func (m systemd) set(ctx context.Context, s *Session, unit string, is serviceState, want serviceWant) error {
	systemctl := func(verb string) error {
		return mustRun(ctx, s, system.Command{Argv: []string{"systemctl", verb, "--", unit}})
	}
	if is.reload {
		if err := mustRun(ctx, s, system.Command{Argv: []string{"systemctl", "daemon-reload"}}); err != nil {
			return err
		}
	}
	if want.active == stopped {
		if err := m.activate(ctx, s, unit, "stop", stopped); err != nil {
			return err
		}
	}
	// A masked unit is masked no more when it is to be anything else.
	if is.enabled == masked && want.enabled != masked && (want.enabled != "" || want.active == running) {
		if err := systemctl("unmask"); err != nil {
			return err
		}
		var err error
		if is, err = m.look(ctx, s, unit); err != nil {
			return err
		}
	}
	if want.enabled != "" && want.enabled != is.enabled && is.enabled != unsettable ||
		want.enabled == masked && is.enabled != masked {
		verb := map[enablement]string{enabled: "enable", disabled: "disable", masked: "mask"}[want.enabled]
		if err := systemctl(verb); err != nil {
			return err
		}
		now, err := m.look(ctx, s, unit)
		if err != nil {
			return err
		}
		if now.enabled != want.enabled && now.enabled != unsettable {
			return fmt.Errorf("systemctl %s reported success, yet enable is %s", verb, now.enabled)
		}
	}
	if want.active == running {
		return m.begin(ctx, s, unit, "start", is)
	}
	return nil
}

// begin starts or restarts a unit. One that has failed too often in a short time is not started any more until that is
// forgotten.
func (m systemd) begin(ctx context.Context, s *Session, unit, verb string, is serviceState) error {
	if is.failed {
		if err := mustRun(ctx, s, system.Command{Argv: []string{"systemctl", "reset-failed", "--", unit}}); err != nil {
			return err
		}
	}
	return m.activate(ctx, s, unit, verb, running)
}

func (m systemd) restart(ctx context.Context, s *Session, unit string) error {
	is, err := m.look(ctx, s, unit)
	if err != nil {
		return err
	}
	if is.reload {
		if err := mustRun(ctx, s, system.Command{Argv: []string{"systemctl", "daemon-reload"}}); err != nil {
			return err
		}
	}
	if len(m.Start)+len(m.Stop) > 0 {
		if err := m.activate(ctx, s, unit, "stop", stopped); err != nil {
			return err
		}
		return m.begin(ctx, s, unit, "start", is)
	}
	return m.begin(ctx, s, unit, "restart", is)
}

// look reads the state of one unit as it is now.
func (m systemd) look(ctx context.Context, s *Session, unit string) (serviceState, error) {
	states, err := m.states(ctx, s, []string{unit})
	return states[unit], err
}

// activate starts, stops or restarts a unit and waits until it is neither here nor there any more.
func (m systemd) activate(ctx context.Context, s *Session, unit, verb, should string) error {
	if len(m.of(verb)) > 0 {
		return m.serviceCommands.activate(ctx, s, m, unit, verb, should)
	}
	c := system.Command{Argv: []string{"systemctl", verb, "--", unit}}
	out, err := s.Run(ctx, c)
	s.Forget()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(unitSettles)
	for {
		is, err := m.look(ctx, s, unit)
		if err != nil {
			return err
		}
		switch {
		case is.active == should:
			return nil
		case (is.active != running && is.active != stopped || len(m.Status) > 0 && out.Status == 0) &&
			time.Now().Before(deadline):
			if err := pause(ctx, 200*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		cause := ""
		if out.Status != 0 {
			cause = toolError(c, out).Error() + "; "
		}
		// What the service said goes into the result's output.
		c := system.Command{Argv: []string{"systemctl", "status", "--no-pager", "--full", "-n", "10", "--", unit}}
		if _, err := s.Run(ctx, c); err != nil {
			return err
		}
		if should == running && is.finished != "" && out.Status == 0 {
			return fmt.Errorf("%s: %s is of the type oneshot, which runs to its end and is not running then; "+
				"leave ensure out, or set RemainAfterExit=yes in the unit", is.finished, unit)
		}
		return fmt.Errorf("%sit is %s after systemctl %s, not %s (%s); `journalctl -u %s` on the node shows more",
			cause, is.active, verb, should, is.detail, unit)
	}
}
