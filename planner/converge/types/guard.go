package types

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// GuardProgram is where a program waits for its start by the service that [Session.ArmGuard] starts, and GuardLimit is
// the time that it waits for a confirmation.
const (
	GuardProgram = system.Home + "/guard"
	GuardLimit   = 2 * time.Minute
)

const guardService = "slipway-guard"

// guardUnits are the services of systemd and OpenRC. They start the program again after a restart of the node, and
// systemd also when it was killed. A shell starts it, because SELinux lets systemd itself start nothing there.
var guardUnits = map[string]struct {
	path, text string
	mode       fs.FileMode
}{
	"systemd": {"/etc/systemd/system/" + guardService + ".service", `[Unit]
Description=slipway puts back what no new connection confirms

[Service]
ExecStart=/bin/sh -c 'exec ` + GuardProgram + ` --guard'
Restart=on-failure
RestartSec=5
KillMode=process

[Install]
WantedBy=multi-user.target
`, 0o644},
	"openrc": {"/etc/init.d/" + guardService, `#!/sbin/openrc-run
description="slipway puts back what no new connection confirms"
command=` + GuardProgram + `
command_args=--guard
command_background=yes
pidfile=/run/$RC_SVCNAME.pid
`, 0o755},
}

// ArmGuard has the node start program, with the argument --guard, now and after each restart, until DisarmGuard.
func (s *Session) ArmGuard(ctx context.Context, program []byte) error {
	m, provider, err := findServiceManager(s, "", serviceCommands{})
	if err != nil {
		return fmt.Errorf("%w, so nothing could put the change back; leave guard out on this node", err)
	}
	private := fs.FileMode(0o700)
	if err := s.ReplaceFile(GuardProgram, program, system.Attributes{Mode: &private}); err != nil {
		return err
	}
	unit := guardUnits[provider]
	if err := s.ReplaceFile(unit.path, []byte(unit.text), system.Attributes{Mode: &unit.mode}); err != nil {
		return err
	}
	s.Forget()
	name := m.unit(guardService)
	states, err := m.states(ctx, s, []string{name})
	if err == nil {
		err = m.set(ctx, s, name, states[name], serviceWant{enabled: enabled})
	}
	if err == nil {
		err = m.restart(ctx, s, name)
	}
	return err
}

// DisarmGuard removes what ArmGuard made. The program itself says with itself that it calls: it is not stopped.
func (s *Session) DisarmGuard(ctx context.Context, itself bool) error {
	m, provider, err := findServiceManager(s, "", serviceCommands{})
	if err != nil {
		return err
	}
	name, want := m.unit(guardService), serviceWant{enabled: disabled, active: stopped}
	if itself {
		want.active = ""
	}
	s.Forget()
	states, err := m.states(ctx, s, []string{name})
	if err == nil && states[name].exists {
		err = m.set(ctx, s, name, states[name], want)
	}
	if err != nil {
		return err
	}
	if err := s.Remove(guardUnits[provider].path); err != nil {
		return err
	}
	return s.Remove(GuardProgram)
}
