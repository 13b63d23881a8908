package types

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const apkSample = "C:Q1abc=\nP:busybox\nV:1.36.1-r15\nA:x86_64\nF:bin\nR:busybox\nZ:Q1x=\n\nC:Q1d=\nP:ca-certificates-bundle\nV:20240226-r0\nA:x86_64\n\nP:last\nV:1-r0"

func TestAPK(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{
		"apk --no-progress --wait 120 version": systemtest.Prints("Installed:                                Available:\nbusybox-1.36.1-r15                       < 1.36.1-r29 \nca-certificates-bundle-20240226-r0       < 20250911-r0\nother-1-r0 < 2-r0\n"),
	}}
	s := wholeMachine(t, map[string]string{"/sbin/apk": "", "/lib/apk/db/installed": apkSample}, r.Run)
	for name, want := range map[string]string{"busybox": "1.36.1-r15", "ca-certificates-bundle": "20240226-r0", "last": "1-r0", "nosuch": "absent"} {
		if state, err := (apk{}).state(t.Context(), s, name); state.String() != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", name, state, err, want)
		}
	}
	newest, err := apk{}.newest(t.Context(), s, []string{"busybox", "ca-certificates-bundle", "last"})
	if diff := cmp.Diff(map[string]string{"busybox": "1.36.1-r29", "ca-certificates-bundle": "20250911-r0"}, newest); diff != "" || err != nil {
		t.Error(err, diff)
	}
	r.WantRan(t, "apk --no-progress --wait 120 version -l < -- busybox ca-certificates-bundle last")
	for should, want := range map[string]bool{"1.36.1-r15": true, "1.36.1": true, "1.36": false, "1.36.1-r1": false} {
		if (apk{}).matches("1.36.1-r15", should) != want {
			t.Errorf("1.36.1-r15 is %s: not %v", should, want)
		}
	}
	if err := (apk{}).transact(t.Context(), s, []packageWant{{name: "mc", ensure: "absent"}, {name: "vim", ensure: "installed"}, {name: "jq", ensure: "1.7"}, {name: "tree", ensure: "2-r1"}, {name: "busybox", ensure: "latest"}}); err != nil {
		t.Fatal(err)
	}
	r.WantRan(t, "apk --no-progress --wait 120 del --purge -- mc", "apk --no-progress --wait 120 add -- vim jq~1.7 tree=2-r1",
		"apk --no-progress --wait 120 add --upgrade -- busybox")
}

// TestAPKRefreshesItsIndexOnce: an index that lacks something is refreshed, and then the answer stands.
func TestAPKRefreshesItsIndexOnce(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"apk --no-progress --wait 120 add": {Status: 1, Combined: "ERROR: unable to select packages:\n  nosuch (no such package):"}}}
	s := wholeMachine(t, map[string]string{"/sbin/apk": "", "/lib/apk/db/installed": apkSample}, r.Run)
	if err := (packageType{}).Apply(t.Context(), s, res(t, packageType{}, "nosuch", nil)); err == nil {
		t.Error("no error")
	}
	r.WantRan(t, "apk --no-progress --wait 120 add -- nosuch", "apk --no-progress --wait 120 update", "apk --no-progress --wait 120 add -- nosuch")
}

func TestAPKUndo(t *testing.T) {
	tests := []struct {
		name   string
		before packageBefore
		want   []string
	}{
		{"slipway's", packageBefore{Name: "busybox", Install: true}, []string{"apk --no-progress --wait 120 del --purge -- busybox"}},
		{"was there", packageBefore{Name: "busybox", Install: true, Present: true}, nil},
		{"gone already", packageBefore{Name: "mc", Install: true}, nil},
		{"taken away", packageBefore{Name: "mc", Present: true, Version: "4-r1"}, []string{"apk --no-progress --wait 120 add -- mc=4-r1", "apk --no-progress --wait 120 add -- mc"}},
	}
	for _, tt := range tests {
		r := &recorder{}
		s := wholeMachine(t, map[string]string{"/sbin/apk": "", "/usr/lib/apk/db/installed": apkSample}, r.Run)
		tt.before.Provider = "apk"
		text, err := json.Marshal(tt.before)
		if err != nil {
			t.Fatal(err)
		}
		if err := (packageType{}).Undo(t.Context(), s, "x", text); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		r.WantRan(t, tt.want...)
	}
	if _, err := (packageType{}).Check(t.Context(), wholeMachine(t, map[string]string{"/sbin/apk": ""}, noCommand), resource.Resource{Title: "x"}); err == nil {
		t.Error("no error for a database that is not there")
	}
}

// TestAPKBrokenPackage: a package whose scripts failed or whose files are incomplete is in the database with a mark, and does not count as
// installed.
func TestAPKBrokenPackage(t *testing.T) {
	var s *Session
	r := &recorder{}
	const marked, sound = "P:jq\nV:1.7-r0\nf:s\n\n", "P:jq\nV:1.7-r0\n\n"
	s = wholeMachine(t, map[string]string{"/sbin/apk": "", "/lib/apk/db/installed": marked}, r.Run)
	r.Effects = map[string]func(){"apk --no-progress --wait 120 fix": func() {
		if err := s.WriteFile("/lib/apk/db/installed", []byte(sound), system.Attributes{}); err != nil {
			t.Error(err)
		}
	}}
	jq := res(t, packageType{}, "jq", nil)
	diffs, err := packageType{}.Check(t.Context(), s, jq)
	if diff := cmp.Diff([]Difference{{"ensure", "1.7-r0, its scripts failed", "installed"}}, diffs); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if err := (packageType{}).Apply(t.Context(), s, jq); err != nil {
		t.Error(err)
	}
	r.WantRan(t, "apk --no-progress --wait 120 fix -- jq")
}
