package types

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// forgotten is what systemd says of the conditions of a unit that it has unloaded since: nothing.
const forgotten = "ConditionResult=no\nConditionTimestampMonotonic=0\n"

const systemctlShow = "systemctl show --no-pager -p " + unitProperties + " -- "

func TestSystemdStates(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{
		"systemctl show": systemtest.Prints(strings.Join([]string{
			systemtest.Shown("cron.service", "loaded", "active", "running", "enabled"),
			systemtest.Shown("ssh.service", "loaded", "active", "running", "enabled"), // asked for as sshd: another name of it
			systemtest.Shown("nosuch.service", "not-found", "inactive", "dead", ""),
			systemtest.Shown("systemd-resolved.service", "masked", "inactive", "dead", "masked"),
			systemtest.Shown("a.timer", "loaded", "activating", "start", "static"),
			systemtest.Shown("removed.service", "not-found", "active", "running", ""),
			systemtest.Shown("old.service", "loaded", "failed", "failed", "generated"),
		}, "\n")),
		"systemctl is-enabled -- old.service": {Status: 1, Stdout: []byte("disabled\n")},
	}}
	s := systemdNode(t, r)
	names := []string{"cron", "sshd", "nosuch", "systemd-resolved", "a.timer", "removed", "old"}
	var rs []resource.Resource
	for _, name := range names {
		rs = append(rs, res(t, serviceType{}, name, nil))
	}
	if err := (serviceType{}).Prefetch(t.Context(), s, rs); err != nil {
		t.Fatal(err)
	}
	want := map[string]serviceState{
		"cron":             {exists: true, active: running, enabled: enabled},
		"sshd":             {exists: true, active: running, enabled: enabled},
		"nosuch":           {active: stopped},
		"systemd-resolved": {exists: true, active: stopped, enabled: masked},
		"a.timer":          {exists: true, active: "activating"},
		"removed":          {exists: true, active: running},
		"old":              {exists: true, active: stopped, enabled: disabled, failed: true},
	}
	for i, name := range names {
		_, _, _, state, err := serviceType{}.stateOf(t.Context(), s, rs[i])
		state.detail = ""
		if diff := cmp.Diff(want[name], state, cmp.AllowUnexported(serviceState{})); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	r.WantRan(t, systemctlShow+"cron.service sshd.service nosuch.service systemd-resolved.service a.timer removed.service old.service",
		"systemctl is-enabled -- old.service")

	r.Answers["systemctl show"] = system.Output{Status: 1, Combined: "Failed to connect to bus"}
	s.Forget()
	if err := (serviceType{}).Prefetch(t.Context(), s, rs); err == nil || !strings.Contains(err.Error(), "Failed to connect to bus") {
		t.Error(err)
	}
}

func TestSystemdApply(t *testing.T) {
	tests := []struct {
		name    string
		p       resource.Parameters
		is      string            // what systemctl show prints at first
		becomes map[string]string // and after a verb
		want    []string
		err     string
	}{
		{"starts and enables", resource.Parameters{"ensure": "running", "enable": true}, systemtest.Shown("a", "loaded", "inactive", "dead", "disabled"),
			map[string]string{"enable": systemtest.Shown("a", "loaded", "inactive", "dead", "enabled"), "start": systemtest.Shown("a", "loaded", "active", "running", "enabled")},
			[]string{"systemctl enable -- a.service", "systemctl start -- a.service"}, ""},
		{"stops and masks", resource.Parameters{"ensure": "stopped", "enable": "mask"}, systemtest.Shown("a", "loaded", "active", "running", "enabled"),
			map[string]string{"stop": systemtest.Shown("a", "loaded", "inactive", "dead", "enabled"), "mask": systemtest.Shown("a", "masked", "inactive", "dead", "masked")},
			[]string{"systemctl stop -- a.service", "systemctl mask -- a.service"}, ""},
		{"unmasks what is to run", resource.Parameters{"ensure": "running"}, systemtest.Shown("a", "masked", "inactive", "dead", "masked"),
			map[string]string{"unmask": systemtest.Shown("a", "loaded", "inactive", "dead", "disabled"), "start": systemtest.Shown("a", "loaded", "active", "running", "disabled")},
			[]string{"systemctl unmask -- a.service", "systemctl start -- a.service"}, ""},
		{"reloads first", resource.Parameters{"ensure": "running"}, strings.Replace(systemtest.Shown("a", "loaded", "inactive", "dead", "disabled"), "Reload=no", "Reload=yes", 1),
			map[string]string{"start": systemtest.Shown("a", "loaded", "active", "running", "disabled")},
			[]string{"systemctl daemon-reload", "systemctl start -- a.service"}, ""},
		{"waits for what is on its way", resource.Parameters{"ensure": "running"}, systemtest.Shown("a", "loaded", "inactive", "dead", "disabled"),
			map[string]string{"start": systemtest.Shown("a", "loaded", "activating", "start", "disabled"), "show": systemtest.Shown("a", "loaded", "active", "running", "disabled")},
			[]string{"systemctl start -- a.service"}, ""},
		{"does not believe the status", resource.Parameters{"ensure": "running"}, systemtest.Shown("a", "loaded", "inactive", "dead", "disabled"),
			map[string]string{"start": systemtest.Shown("a", "loaded", "failed", "failed", "disabled")},
			[]string{"systemctl start -- a.service", "systemctl status --no-pager --full -n 10 -- a.service"},
			`service "a": it is stopped after systemctl start, not running (ActiveState=failed, SubState=failed, Result=success, Type=notify)`},
		{"a oneshot that has finished", resource.Parameters{"ensure": "running"}, strings.Replace(systemtest.Shown("a", "loaded", "inactive", "dead", "static"), "notify", "oneshot", 1), nil,
			[]string{"systemctl start -- a.service", "systemctl status --no-pager --full -n 10 -- a.service"},
			"it ran and has finished: a.service is of the type oneshot, which runs to its end and is not running then; leave ensure out, or set RemainAfterExit=yes in the unit"},
		{"a oneshot that systemd has forgotten", resource.Parameters{"ensure": "running"},
			strings.Replace(systemtest.Shown("a", "loaded", "inactive", "dead", "static"), "notify", "oneshot", 1) + forgotten, nil,
			[]string{"systemctl start -- a.service", "systemctl status --no-pager --full -n 10 -- a.service"},
			"it ran and has finished, or a condition in its unit was not met: a.service is of the type oneshot, which"},
		{"ended at once, and forgotten", resource.Parameters{"ensure": "running"}, systemtest.Shown("a", "loaded", "inactive", "dead", "disabled") + forgotten, nil,
			[]string{"systemctl start -- a.service", "systemctl status --no-pager --full -n 10 -- a.service"},
			"it ended at once, or a condition in its unit was not met"},
		{"skipped by its conditions", resource.Parameters{"ensure": "running"}, systemtest.Shown("a", "loaded", "inactive", "dead", "disabled") + "ConditionResult=no\n", nil,
			[]string{"systemctl start -- a.service", "systemctl status --no-pager --full -n 10 -- a.service"}, "a condition in its unit was not met"},
		{"does not believe enable either", resource.Parameters{"enable": true}, systemtest.Shown("a", "loaded", "inactive", "dead", "disabled"),
			map[string]string{"enable": systemtest.Shown("a", "loaded", "inactive", "dead", "disabled")},
			[]string{"systemctl enable -- a.service"}, "systemctl enable reported success, yet enable is false"},
		{"no such unit", resource.Parameters{"ensure": "running"}, systemtest.Shown("a", "not-found", "inactive", "dead", ""), nil, nil, "the node has no such service"},
		{"nothing to do", resource.Parameters{"ensure": "stopped", "enable": false}, systemtest.Shown("a", "masked", "inactive", "dead", "masked"), nil, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{Answers: map[string]system.Output{"systemctl show": systemtest.Prints(tt.is)}, Effects: map[string]func(){}}
			for verb, then := range tt.becomes {
				if verb == "show" {
					continue
				}
				r.Effects["systemctl "+verb+" "] = func() { r.Answers["systemctl show"] = systemtest.Prints(then) }
			}
			if then, ok := tt.becomes["show"]; ok {
				r.Effects["systemctl show"] = func() {
					if strings.Contains(string(r.Answers["systemctl show"].Stdout), "activating") {
						r.Answers["systemctl show"] = systemtest.Prints(then)
					}
				}
			}
			s := systemdNode(t, r)
			err := serviceType{}.Apply(t.Context(), s, res(t, serviceType{}, "a", tt.p))
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("%v, want %q", err, tt.err)
			}
			var changing []string
			for _, line := range r.Ran {
				if !strings.HasPrefix(line, "systemctl show") {
					changing = append(changing, line)
				}
			}
			if diff := cmp.Diff(tt.want, changing); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServiceRefresh(t *testing.T) {
	up, down := systemtest.Shown("a", "loaded", "active", "running", "enabled"), systemtest.Shown("a", "loaded", "inactive", "dead", "enabled")
	tests := []struct {
		name string
		p    resource.Parameters
		is   string
		want string
	}{
		{"is to run", resource.Parameters{"ensure": "running"}, up, "systemctl restart -- a.service"},
		{"nothing said, runs", nil, up, "systemctl restart -- a.service"},
		{"nothing said, stopped", nil, down, ""},
		{"is to be stopped", resource.Parameters{"ensure": "stopped"}, up, ""},
		{"a command of its own", resource.Parameters{"ensure": "running", "restart": "a -s reload"}, up, "/bin/sh -c a -s reload"},
	}
	for _, tt := range tests {
		r := &recorder{Answers: map[string]system.Output{"systemctl show": systemtest.Prints(tt.is)}}
		if err := (serviceType{}).Refresh(t.Context(), systemdNode(t, r), res(t, serviceType{}, "a", tt.p)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		got := ""
		for _, line := range r.Ran {
			if !strings.HasPrefix(line, "systemctl show") {
				got += line
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSystemdUndo(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"systemctl show": systemtest.Prints(systemtest.Shown("a", "loaded", "inactive", "dead", "disabled"))}, Effects: map[string]func(){}}
	s := systemdNode(t, r)
	resource := res(t, serviceType{}, "a", resource.Parameters{"ensure": "running", "enable": true})
	become := func(verb, then string) {
		r.Effects["systemctl "+verb+" "] = func() { r.Answers["systemctl show"] = systemtest.Prints(then) }
	}
	become("enable", systemtest.Shown("a", "loaded", "inactive", "dead", "enabled"))
	become("start", systemtest.Shown("a", "loaded", "active", "running", "enabled"))
	become("stop", systemtest.Shown("a", "loaded", "inactive", "dead", "enabled"))
	become("disable", systemtest.Shown("a", "loaded", "inactive", "dead", "disabled"))
	before := applied(t, s, serviceType{}, resource)
	if want := `{"unit":"a.service","provider":"systemd","exists":true,"active":"stopped","said_enabled":true,"enabled":"false"}`; string(before) != want {
		t.Errorf("captured %s, want %s", before, want)
	}
	r.Ran = nil
	undone(t, s, serviceType{}, resource, before)
	show := systemctlShow + "a.service"
	r.WantRan(t, show, "systemctl stop -- a.service", show, "systemctl disable -- a.service", show, show) // the last one: undone again
	if err := (serviceType{}).Undo(t.Context(), s, "a", []byte("[")); err == nil {
		t.Error("no error for a record that cannot be read")
	}
}

func TestServiceManagerOfTheNode(t *testing.T) {
	for _, tt := range []struct{ file, provider, want string }{
		{"/run/systemd/system/", "", "systemd"},
		{"/sbin/openrc-run", "", "openrc"},
		{"/sbin/openrc-run", "systemd", ""},
		{"/etc/", "", ""},
	} {
		_, got, err := findServiceManager(wholeMachine(t, map[string]string{tt.file: ""}, noCommand), tt.provider, serviceCommands{})
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}

// TestUndoOfAServiceLeavesTheRest: whether it runs is brought back only where the resource has spoken of it, and as it was by then.
func TestUndoOfAServiceLeavesTheRest(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"systemctl show": systemtest.Prints(systemtest.Shown("a", "loaded", "active", "running", "enabled"))}}
	s := systemdNode(t, r)
	first := res(t, serviceType{}, "a", resource.Parameters{"enable": true})
	before := applied(t, s, serviceType{}, first)
	r.Answers["systemctl show"] = systemtest.Prints(systemtest.Shown("a", "loaded", "inactive", "dead", "enabled")) // stopped by others
	s.Forget()
	r.Ran = nil
	undone(t, s, serviceType{}, first, before)
	show := systemctlShow + "a.service"
	r.WantRan(t, show, show)

	second := res(t, serviceType{}, "a", resource.Parameters{"enable": true, "ensure": "running"})
	before, err := serviceType{}.Widen(t.Context(), s, second, before)
	if err != nil {
		t.Fatal(err)
	}
	r.Answers["systemctl show"] = systemtest.Prints(systemtest.Shown("a", "loaded", "active", "running", "enabled"))
	s.Forget()
	r.Effects = map[string]func(){"systemctl stop": func() {
		r.Answers["systemctl show"] = systemtest.Prints(systemtest.Shown("a", "loaded", "inactive", "dead", "enabled"))
	}}
	r.Ran = nil
	undone(t, s, serviceType{}, second, before)
	r.WantRan(t, show, "systemctl stop -- a.service", show, show)
}
