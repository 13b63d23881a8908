package types

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestCompareService(t *testing.T) {
	is := func(active string, e enablement) serviceState {
		return serviceState{exists: true, active: active, enabled: e}
	}
	gone := serviceState{active: stopped}
	tests := []struct {
		is   serviceState
		want serviceWant
		diff string
	}{
		{is(running, enabled), serviceWant{active: running, enabled: enabled}, ""},
		{is(running, enabled), serviceWant{}, ""},
		{is(stopped, disabled), serviceWant{active: running, enabled: enabled}, "ensure: stopped -> running, enable: false -> true"},
		{is(running, enabled), serviceWant{active: stopped, enabled: disabled}, "ensure: running -> stopped, enable: true -> false"},
		{is("activating", enabled), serviceWant{active: running}, "ensure: activating -> running"},
		{is("activating", enabled), serviceWant{active: stopped}, "ensure: activating -> stopped"},
		{is(stopped, masked), serviceWant{enabled: disabled}, ""},
		{is(stopped, masked), serviceWant{enabled: masked}, ""},
		{is(stopped, masked), serviceWant{enabled: enabled}, "enable: mask -> true"},
		{is(running, unsettable), serviceWant{enabled: enabled}, ""},
		{is(running, unsettable), serviceWant{enabled: disabled}, ""},
		{is(running, unsettable), serviceWant{enabled: masked}, "enable: cannot be enabled -> mask"},
		{gone, serviceWant{active: running, enabled: enabled}, "ensure: not there -> running, enable: not there -> true"},
		{gone, serviceWant{active: stopped, enabled: disabled}, ""},
		{gone, serviceWant{enabled: masked}, "enable: not there -> mask"},
	}
	for _, tt := range tests {
		var got []string
		for _, d := range compareService(tt.is, tt.want) {
			got = append(got, d.Parameter+": "+d.Is+" -> "+d.Should)
		}
		if text := strings.Join(got, ", "); text != tt.diff {
			t.Errorf("is %+v, want %+v: %q, not %q", tt.is, tt.want, text, tt.diff)
		}
	}
}

func TestUndoService(t *testing.T) {
	is := func(active string, e enablement, levels ...string) serviceState {
		return serviceState{exists: true, active: active, enabled: e, levels: levels}
	}
	tests := []struct {
		name string
		is   serviceState
		b    serviceBefore
		want serviceWant
	}{
		{"as it was", is(running, enabled), serviceBefore{SaidEnabled: true, Exists: true, Active: running, Enabled: enabled}, serviceWant{}},
		{"was stopped and disabled", is(running, enabled), serviceBefore{SaidEnabled: true, Exists: true, Active: stopped, Enabled: disabled}, serviceWant{active: stopped, enabled: disabled}},
		{"was running and enabled", is(stopped, masked), serviceBefore{SaidEnabled: true, Exists: true, Active: running, Enabled: enabled}, serviceWant{active: running, enabled: enabled}},
		{"was masked", is(stopped, disabled), serviceBefore{SaidEnabled: true, Exists: true, Active: stopped, Enabled: masked}, serviceWant{enabled: masked}},
		{"was static", is(stopped, masked), serviceBefore{SaidEnabled: true, Exists: true, Active: stopped}, serviceWant{enabled: disabled}},
		{"static still", is(running, unsettable), serviceBefore{SaidEnabled: true, Exists: true, Active: stopped}, serviceWant{active: stopped}},
		{"did not exist", is(running, enabled), serviceBefore{SaidEnabled: true, Active: stopped}, serviceWant{active: stopped, enabled: disabled}},
		{"did not exist and was masked", is(stopped, masked), serviceBefore{SaidEnabled: true, Active: stopped}, serviceWant{enabled: disabled}},
		{"enabling it is not slipway's", is(stopped, disabled), serviceBefore{Exists: true, Active: running, Enabled: ""}, serviceWant{active: running}},
		{"running it is not slipway's", is(stopped, disabled), serviceBefore{SaidEnabled: true, Exists: true, Enabled: enabled}, serviceWant{enabled: enabled}},
		{"did not exist, and others enabled it", is(running, enabled), serviceBefore{Active: running}, serviceWant{active: stopped}},
		{"is gone", serviceState{active: stopped}, serviceBefore{SaidEnabled: true, Exists: true, Active: running, Enabled: enabled}, serviceWant{}},
		{"in another runlevel", is(running, enabled, "default"), serviceBefore{SaidEnabled: true, Exists: true, Active: running, Enabled: enabled, Levels: []string{"boot"}},
			serviceWant{enabled: enabled, levels: []string{"boot"}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, undoService(tt.is, tt.b), cmp.AllowUnexported(serviceWant{})); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestServiceSchema(t *testing.T) {
	tests := []struct {
		title      string
		parameters resource.Parameters
		wrong      string
	}{
		{"nginx", resource.Parameters{"ensure": "running", "enable": true}, ""},
		{"getty@tty1", resource.Parameters{"enable": "false"}, ""},
		{`dev-disk-by\x2did.swap`, resource.Parameters{"enable": "mask", "ensure": "stopped"}, ""},
		{"the web", resource.Parameters{"name": "nginx"}, ""},
		{"the web", nil, "name"},
		{"nginx*", nil, "name"},
		{"--now", nil, "name"},
		{"../nginx", nil, "name"},
		{"nginx", resource.Parameters{"ensure": "on"}, "ensure"},
		{"nginx", resource.Parameters{"enable": "manual"}, "enable"},
		{"nginx", resource.Parameters{"enable": "mask", "ensure": "running"}, "enable"},
		{"nginx", resource.Parameters{"enable": "mask", "provider": "openrc"}, "enable"},
		{"nginx", resource.Parameters{"provider": "upstart"}, "provider"},
		{"app", resource.Parameters{"provider": "base", "start": "a", "stop": "b", "status": []any{"c", "d"}}, ""},
		{"app", resource.Parameters{"provider": "base", "start": "a", "stop": "b"}, "status"},
		{"app", resource.Parameters{"provider": "base", "start": "a", "stop": "b", "status": "c", "enable": true}, "enable"},
		{"app", resource.Parameters{"start": ""}, "start"},
		{"app", resource.Parameters{"stop": "a", "sensitive": true}, "stop"},
	}
	for _, tt := range tests {
		errs := serviceType{}.Schema().Validate(resource.Resource{Type: "service", Title: tt.title, Parameters: tt.parameters})
		if tt.wrong == "" && len(errs) > 0 || tt.wrong != "" && (len(errs) != 1 || errs[0].Attribute != tt.wrong) {
			t.Errorf("%s %v: %v, want %q", tt.title, tt.parameters, errs, tt.wrong)
		}
	}
}
