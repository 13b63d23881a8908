package types

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// daemon is a program that only its own commands start, stop and look at.
func daemon() *recorder {
	const status = "/bin/sh -c pgrep -x app"
	r := &recorder{Answers: map[string]system.Output{
		"systemctl show": systemtest.Prints(systemtest.Shown("app.service", "not-found", "inactive", "dead", "")),
		status:           {Status: 1},
		"rc-update show": systemtest.Prints(runlevels),
	}}
	r.Effects = map[string]func(){
		"app --start now": func() { r.Answers[status] = system.Output{} },
		"/bin/sh -c app --stop; true": func() {
			r.Answers[status] = system.Output{Status: 1}
		},
	}
	return r
}

var daemonCommands = resource.Parameters{
	"ensure": true, "start": []any{"app", "--start", "now"}, "stop": "app --stop; true", "status": "pgrep -x app",
}

// TestServiceCommands: the commands of a resource are used in place of the manager's, by check, apply, refresh and undo.
func TestServiceCommands(t *testing.T) {
	const start, stop, status = "app --start now", "/bin/sh -c app --stop; true", "/bin/sh -c pgrep -x app"
	show := systemctlShow + "app.service"
	levels := "rc-update show --verbose"
	for _, tt := range []struct {
		name, provider, file string
		look                 []string // how the manager is asked
	}{
		{"systemd", "", "/run/systemd/system/", []string{show}},
		{"openrc", "", "/run/openrc/", []string{levels}},
		{"base", "base", "/etc/", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := daemon()
			s := wholeMachine(t, map[string]string{tt.file: ""}, r.Run)
			p := resource.Parameters{}
			for k, v := range daemonCommands {
				p[k] = v
			}
			if tt.provider != "" {
				p["provider"] = tt.provider
			}
			of := res(t, serviceType{}, "app", p)
			before := applied(t, s, serviceType{}, of)
			if !strings.Contains(string(before), `"active":"stopped"`) || !strings.Contains(string(before), `"stop":["app --stop; true"]`) {
				t.Errorf("captured %s", before)
			}
			ran := func(what string, want ...string) {
				t.Helper()
				var got []string
				for _, line := range r.Ran {
					if line != status && line != show && line != levels {
						got = append(got, line)
					}
				}
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("%s: %q, want %q", what, got, want)
				}
				r.Ran = nil
			}
			ran("apply", start)
			if err := (serviceType{}).Prefetch(t.Context(), s, []resource.Resource{of}); err != nil {
				t.Fatal(err)
			}
			r.WantRan(t) // its state is no manager's to know
			if err := (serviceType{}).Refresh(t.Context(), s, of); err != nil {
				t.Fatal(err)
			}
			ran("refresh", stop, start)
			undone(t, s, serviceType{}, of, before)
			ran("undo", stop)
			r.Answers[status] = system.Output{Status: 3}
			if diffs, err := (serviceType{}).Check(t.Context(), s, of); err != nil || len(diffs) != 1 || diffs[0].Should != running {
				t.Errorf("drift: %v, %v", diffs, err)
			}
			r.WantRan(t, append(tt.look, status)...)
		})
	}
}

// TestServiceStatusOfItsOwn: what the manager says of whether it runs does not count, what it says of enable does.
func TestServiceStatusOfItsOwn(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{
		"systemctl show":              systemtest.Prints(systemtest.Shown("a.service", "loaded", "active", "exited", "enabled")),
		"/usr/bin/a-status --verbose": {Status: 2},
	}}
	r.Effects = map[string]func(){"systemctl start": func() { r.Answers["/usr/bin/a-status --verbose"] = system.Output{} }}
	s := systemdNode(t, r)
	apply(t, s, serviceType{}, res(t, serviceType{}, "a", resource.Parameters{
		"ensure": "running", "enable": true, "status": []any{"/usr/bin/a-status", "--verbose"}}))
	show := systemctlShow + "a.service"
	r.WantRan(t, show, "/usr/bin/a-status --verbose", show, "/usr/bin/a-status --verbose", "systemctl start -- a.service",
		show, "/usr/bin/a-status --verbose", show, "/usr/bin/a-status --verbose")
}

func TestServiceCommandsFail(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{
		"systemctl show":  systemtest.Prints(systemtest.Shown("a.service", "not-found", "inactive", "dead", "")),
		"/bin/sh -c up":   {Status: 4, Combined: "no licence\n"},
		"/bin/sh -c seen": {Status: 1},
	}}
	s := systemdNode(t, r)
	for _, tt := range []struct {
		p    resource.Parameters
		want string
	}{
		{resource.Parameters{"start": "up", "status": "seen"}, `service "a": start: /bin/sh ended with status 4: no licence`},
		{resource.Parameters{"start": "up"}, "the node has no such service"},
		{resource.Parameters{"start": "up", "status": "seen", "enable": true}, "the node has no such service"},
	} {
		tt.p["ensure"] = "running"
		if err := (serviceType{}).Apply(t.Context(), s, res(t, serviceType{}, "a", tt.p)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %s", tt.p, err, tt.want)
		}
	}
}
