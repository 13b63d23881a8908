package types

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const runlevels = "             networking | boot                                  \n                  crond |      default                          \n                 urandom | boot shutdown\n                   sshd |                                       \n"

func TestParseRunlevels(t *testing.T) {
	want := map[string][]string{"networking": {"boot"}, "crond": {"default"}, "urandom": {"boot", "shutdown"}, "sshd": nil}
	got := parseRunlevels(runlevels)
	if len(got["sshd"]) == 0 {
		got["sshd"] = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOpenRC(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{
		"rc-update show":                    systemtest.Prints(runlevels),
		"rc-service --nocolor crond status": {Status: 0},
		"rc-service --nocolor sshd status":  {Status: 3},
	}}
	files := map[string]string{"/run/openrc/": "", "/etc/init.d/crond": "", "/etc/init.d/sshd": ""}
	s := wholeMachine(t, files, r.Run)
	states, err := openrc{}.states(t.Context(), s, []string{"crond", "sshd", "nosuch"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]serviceState{
		"crond":  {exists: true, active: running, enabled: enabled, levels: []string{"default"}, detail: "rc-service status 0"},
		"sshd":   {exists: true, active: stopped, enabled: disabled, levels: []string{}, detail: "rc-service status 3"},
		"nosuch": {active: stopped},
	}
	if diff := cmp.Diff(want, states, cmp.AllowUnexported(serviceState{})); diff != "" {
		t.Error(diff)
	}
	r.Ran = nil

	r.Effects = map[string]func(){
		"rc-service --nocolor sshd start": func() { r.Answers["rc-service --nocolor sshd status"] = system.Output{Status: 0} },
		"rc-update add sshd":              func() { r.Answers["rc-update show"] = systemtest.Prints(runlevels + "sshd | default\n") },
		"rc-update del crond default":     func() { r.Answers["rc-update show"] = systemtest.Prints("sshd | default\n") },
		"rc-service --nocolor crond stop": func() { r.Answers["rc-service --nocolor crond status"] = system.Output{Status: 3} },
	}
	apply(t, s, serviceType{}, res(t, serviceType{}, "sshd", resource.Parameters{"ensure": "running", "enable": true}))
	before := applied(t, s, serviceType{}, res(t, serviceType{}, "crond", resource.Parameters{"ensure": "stopped", "enable": false}))
	var changing []string
	for _, line := range r.Ran {
		if !strings.HasSuffix(line, "status") && !strings.HasPrefix(line, "rc-update show") {
			changing = append(changing, line)
		}
	}
	r.Ran = changing
	r.WantRan(t, "rc-update add sshd default", "rc-service --nocolor sshd start", "rc-update del crond default", "rc-service --nocolor crond stop")
	if text := `{"unit":"crond","provider":"openrc","exists":true,"active":"running","said_enabled":true,"enabled":"true","levels":["default"]}`; string(before) != text {
		t.Errorf("captured %s, want %s", before, text)
	}
}

func TestOpenRCErrors(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{
		"rc-service --nocolor a status": {Status: 32},
		"rc-service --nocolor a start":  {Status: 1, Combined: " * ERROR: a failed to start\n"},
	}}
	s := wholeMachine(t, map[string]string{"/run/openrc/": "", "/etc/init.d/a": ""}, r.Run)
	err := serviceType{}.Apply(t.Context(), s, res(t, serviceType{}, "a", resource.Parameters{"ensure": "running"}))
	if err == nil || !strings.Contains(err.Error(), "a failed to start") {
		t.Error(err)
	}
	r.WantRan(t, "rc-update show --verbose", "rc-service --nocolor a status", "rc-service --nocolor a zap", "rc-service --nocolor a start",
		"rc-update show --verbose", "rc-service --nocolor a status")
	err = serviceType{}.Apply(t.Context(), s, res(t, serviceType{}, "a", resource.Parameters{"enable": "mask"}))
	if err == nil || !strings.Contains(err.Error(), "OpenRC cannot mask") {
		t.Error(err)
	}
}
