package types

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const policySample = `jq:
  Installed: (none)
  Candidate: 1.6-2.1+deb12u3
  Version table:
     1.6-2.1+deb12u3 500
        500 file:/srv/apt ./ Packages
     1.6-2.1 500
        500 http://deb.example/debian bookworm/main amd64 Packages
libc6:
  Installed: 2.36-9+deb12u14
  Candidate: 2.36-9+deb12u14
  Version table:
 *** 2.36-9+deb12u14 100
        100 /var/lib/dpkg/status
mail-transport-agent:
  Installed: (none)
  Candidate: (none)
  Version table:
`

func TestParseAptPolicy(t *testing.T) {
	want := map[string]aptPolicy{
		"jq":                   {"1.6-2.1+deb12u3", []string{"1.6-2.1+deb12u3", "1.6-2.1"}},
		"libc6":                {"2.36-9+deb12u14", []string{"2.36-9+deb12u14"}},
		"mail-transport-agent": {},
	}
	if diff := cmp.Diff(want, parseAptPolicy(policySample), cmp.AllowUnexported(aptPolicy{})); diff != "" {
		t.Error(diff)
	}
}

func TestAptInstallsAllInOneTransaction(t *testing.T) {
	var s *Session
	r := &recorder{Answers: map[string]system.Output{
		"apt-cache policy -- jq tree":             systemtest.Prints(policySample + "tree:\n  Candidate: 2\n"),
		"apt-get" + systemtest.AptOptions + " -s": systemtest.Prints("Inst onig (1 x [amd64])\nInst jq (1 x [amd64])\nInst tree (2 x [amd64])\n"),
	}}
	s = aptNode(t, systemtest.Stanza("old", "Recommends: onig\n"), r)
	r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " install": nowInstalled(t, &s,
		systemtest.Stanza("old", "Recommends: onig\n")+systemtest.Stanza("jq", "Depends: onig\n")+systemtest.Stanza("tree", "")+systemtest.Stanza("onig", ""),
		"Package: onig\nArchitecture: amd64\nAuto-Installed: 1\n")}
	typ := packageType{}
	rs := []resource.Resource{res(t, typ, "jq", nil), res(t, typ, "tree", resource.Parameters{"ensure": "present"})}
	if err := typ.Prefetch(t.Context(), s, rs); err != nil {
		t.Fatal(err)
	}
	var befores []json.RawMessage
	for _, each := range rs {
		diffs, err := typ.Check(t.Context(), s, each)
		if diff := cmp.Diff([]Difference{{"ensure", "absent", "installed"}}, diffs); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
		before, err := typ.Capture(t.Context(), s, each)
		if err != nil {
			t.Fatal(err)
		}
		befores = append(befores, before)
	}
	want := `{"name":"jq","provider":"apt","install":true,"present":false,"came":["onig"],"without":["old: onig"]}`
	if string(befores[0]) != want {
		t.Errorf("captured %s, want %s", befores[0], want)
	}
	for i, err := range typ.ApplyBatch(t.Context(), s, rs) {
		if err != nil {
			t.Errorf("%s: %v", rs[i].ID(), err)
		}
	}
	if env := r.Env["apt-get"+systemtest.AptOptions+" install -- jq tree"]; !env["DEBIAN_FRONTEND=noninteractive"] {
		t.Errorf("environment %v", env)
	}
	r.WantRan(t, // what the simulation can install, the index has
		"apt-get -s --allow-change-held-packages install --allow-downgrades -- jq tree",
		"apt-get install -- jq tree")

	// Undone one by one: the companion goes with the package that needs it, though both recorded it.
	r.Answers["apt-get"+systemtest.AptOptions+" -s"] = systemtest.Prints("Purg tree [2]\n")
	r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " purge -- tree": nowInstalled(t, &s,
		systemtest.Stanza("old", "Recommends: onig\n")+systemtest.Stanza("jq", "Depends: onig\n")+systemtest.Stanza("onig", ""), "Package: onig\nArchitecture: amd64\nAuto-Installed: 1\n")}
	undone(t, s, typ, rs[1], befores[1])
	r.WantRan(t, "apt-get -s --allow-change-held-packages purge -- tree", "apt-get purge -- tree")
	r.Answers["apt-get"+systemtest.AptOptions+" -s"] = systemtest.Prints("Purg jq [1]\nPurg onig [1]\n")
	r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " purge -- jq onig": nowInstalled(t, &s, systemtest.Stanza("old", "Recommends: onig\n"), "")}
	undone(t, s, typ, rs[0], befores[0])
	r.WantRan(t, "apt-get -s --allow-change-held-packages purge -- jq onig", "apt-get purge -- jq onig")
}

func TestAptTriesOneByOneWhenTheBatchFails(t *testing.T) {
	var s *Session
	r := &recorder{Answers: map[string]system.Output{
		"apt-cache policy": systemtest.Prints("good:\n  Candidate: 1\nbad:\n  Candidate: 1\n"),
		"apt-get" + systemtest.AptOptions + " install -- good bad": {Status: 100, Combined: "E: held broken packages\n"},
		"apt-get" + systemtest.AptOptions + " install -- bad":      {Status: 100, Combined: "noise\nE: bad cannot be configured\n"},
	}}
	s = aptNode(t, "", r)
	r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " install -- good": nowInstalled(t, &s, systemtest.Stanza("good", ""), "")}
	typ := packageType{}
	errs := typ.ApplyBatch(t.Context(), s, []resource.Resource{res(t, typ, "good", nil), res(t, typ, "bad", nil), res(t, typ, "nosuch", nil)})
	want := []string{"", `package "bad": apt-get ended with status 100: bad cannot be configured`, `package "nosuch": the node's package index has no such package`}
	for i, err := range errs {
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !strings.HasPrefix(text, want[i]) || (want[i] == "") != (text == "") {
			t.Errorf("%d: %q, want %q", i, text, want[i])
		}
	}
	// The unknown package made apt refresh its index, once.
	r.WantRan(t, "apt-cache policy -- good bad nosuch", "apt-get update", "apt-cache policy -- good bad nosuch",
		"apt-get install -- good bad", "apt-get install -- bad")
}

// TestAptDoesNotBelieveStatus: apt-get ends with 0, and the package is not there (execution.md 2).
func TestAptDoesNotBelieveStatus(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"apt-cache policy": systemtest.Prints("jq:\n  Candidate: 1\n")}}
	s := aptNode(t, "", r)
	err := packageType{}.Apply(t.Context(), s, res(t, packageType{}, "jq", nil))
	if err == nil || !strings.Contains(err.Error(), "reported success, yet it is absent, not installed") {
		t.Error(err)
	}
}

func TestAptTransact(t *testing.T) {
	database := systemtest.Stanza("mc", "") + strings.Replace(systemtest.Stanza("held", ""), "install ok", "hold ok", 1) + systemtest.Stanza("gone", "")
	r := &recorder{}
	s := aptNode(t, database, r)
	err := apt{}.transact(t.Context(), s, []packageWant{{name: "jq", ensure: "1.6-2"}, {name: "held", ensure: "latest"}, {name: "mc", ensure: "absent"}, {name: "gone", ensure: "purged"}, {name: "libc6:amd64", ensure: "installed"}})
	if err != nil {
		t.Fatal(err)
	}
	r.WantRan(t, "apt-mark unhold -- held", "apt-get install --allow-downgrades -- jq=1.6-2 held mc- libc6:amd64", "apt-get purge -- gone")

	s = wholeMachine(t, map[string]string{"/var/lib/dpkg/status": systemtest.DpkgStanza, dpkgUpdates + "/0001": systemtest.Stanza("jq", ""), dpkgUpdates + "/tmp.i": "x"}, r.Run)
	if err := (apt{}).transact(t.Context(), s, []packageWant{{name: "jq", ensure: "absent"}}); err != nil {
		t.Fatal(err)
	}
	r.WantRan(t, "dpkg --force-confdef --force-confold --configure -a", "apt-get install -- jq-")
}

func TestAptVersions(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"apt-cache policy": systemtest.Prints(policySample)}}
	s := aptNode(t, "", r)
	errs := apt{}.known(t.Context(), s, []packageWant{{name: "jq", ensure: "1.6-2.1"}, {name: "jq", ensure: "1.7"}, {name: "mail-transport-agent", ensure: "installed"}, {name: "nosuch", ensure: "absent"}})
	for i, want := range []string{"", "has no version 1.7, but 1.6-2.1+deb12u3, 1.6-2.1", "a virtual package", ""} {
		if (errs[i] == nil) != (want == "") || want != "" && !strings.Contains(errs[i].Error(), want) {
			t.Errorf("%d: %v, want %q", i, errs[i], want)
		}
	}
}

func TestAptUndo(t *testing.T) {
	auto := func(names ...string) string {
		text := ""
		for _, n := range names {
			text += "Package: " + n + "\nArchitecture: amd64\nAuto-Installed: 1\n\n"
		}
		return text
	}
	conffiles := "Package: jq\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n\n"
	companionConffiles := strings.ReplaceAll(conffiles, "jq", "onig")
	const sim = "apt-get -s --allow-change-held-packages purge -- "
	tests := []struct {
		name     string
		database string
		auto     string
		before   packageBefore
		simulate string // what apt-get -s prints
		after    string // the database after any apt-get
		want     []string
	}{
		{"was there: stays", systemtest.Stanza("jq", ""), "", packageBefore{Install: true, Present: true, Version: "0.9"}, "", "", nil},
		{"was there and unwanted by now: not slipway's", "", "", packageBefore{Install: true, Present: true, Version: "0.9"}, "", "", nil},
		{"was absent and is to be: stays absent", "", "", packageBefore{}, "", "", nil},
		{"was absent and is to be, came by hand: stays", systemtest.Stanza("jq", ""), "", packageBefore{}, "", "", nil},
		{"gone already", "", "", packageBefore{Install: true}, "", "", nil},
		{"gone already, companion left", systemtest.Stanza("onig", ""), auto("onig"), packageBefore{Install: true, Came: []string{"onig"}}, "Purg onig [1]\n", "-",
			[]string{sim + "onig", "apt-get purge -- onig"}},
		{"removed by hand", conffiles, "", packageBefore{Install: true}, "Purg jq [1]\n", "-", []string{sim + "jq", "apt-get purge -- jq"}},
		{"cut off while its companion was purged", companionConffiles, "", packageBefore{Install: true, Came: []string{"onig"}}, "Purg onig\n", "-",
			[]string{sim + "onig", "apt-get purge -- onig"}},
		{"cut off while its companion was removed", strings.Replace(systemtest.Stanza("onig", ""), "install ok installed", "purge ok half-installed", 1), "",
			packageBefore{Install: true, Came: []string{"onig"}}, "Purg onig [1]\n", "-",
			[]string{sim + "onig", "apt-get purge -- onig"}},
		{"a companion's configuration files were there before", systemtest.Stanza("jq", "Depends: onig\n") + systemtest.Stanza("onig", ""), auto("onig"),
			packageBefore{Install: true, Came: []string{"onig"}, CameConffiles: []string{"onig"}}, "Purg jq [1]\nPurg onig [1]\n", companionConffiles,
			[]string{sim + "jq onig", "apt-get remove -- onig", "apt-get purge -- jq"}},
		{"configuration files were there before", systemtest.Stanza("jq", ""), "", packageBefore{Install: true, Conffiles: true}, "Purg jq [1]\n", conffiles,
			[]string{sim + "jq", "apt-get remove -- jq"}},
		{"a companion wanted by hand stays", systemtest.Stanza("jq", "Depends: onig\n") + systemtest.Stanza("onig", ""), "", packageBefore{Install: true, Came: []string{"onig"}}, "Purg jq [1]\n", systemtest.Stanza("onig", ""),
			[]string{sim + "jq", "apt-get purge -- jq"}},
		{"needed by others: stays, marked", systemtest.Stanza("jq", "") + systemtest.Stanza("z", "Depends: jq\n"), "", packageBefore{Install: true}, "", "",
			[]string{"apt-mark auto -- jq"}},
		{"apt knows better: companions stay", systemtest.Stanza("jq", "Depends: onig\n") + systemtest.Stanza("onig", ""), auto("onig"), packageBefore{Install: true, Came: []string{"onig"}}, "Purg jq [1]\nPurg onig [1]\nPurg z [1]\n", "",
			[]string{sim + "jq onig", sim + "jq", "apt-mark auto -- jq"}},
		{"apt would put another in its place: stays", systemtest.Stanza("jq", ""), "", packageBefore{Install: true}, "Purg jq [1]\nInst gojq (1 x [amd64])\n", "",
			[]string{sim + "jq", "apt-mark auto -- jq"}},
		{"was taken away: comes back with the others", "", "", packageBefore{Present: true, Version: "1.0", Held: true, Went: []packageGone{{"z", "2", true}}}, "", systemtest.Stanza("jq", "") + systemtest.Stanza("z", ""),
			[]string{"apt-get install -- jq=1.0 z=2", "apt-mark auto -- z", "apt-mark hold -- jq"}},
		{"hold and mark come back", systemtest.Stanza("jq", ""), "", packageBefore{Install: true, Present: true, Held: true, Auto: true}, "", "",
			[]string{"apt-mark auto -- jq", "apt-mark hold -- jq"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s *Session
			r := &recorder{Answers: map[string]system.Output{"apt-get" + systemtest.AptOptions + " -s": systemtest.Prints(tt.simulate)}}
			s = aptNode(t, tt.database, r)
			nowInstalled(t, &s, tt.database, tt.auto)()
			if tt.after != "" {
				effect := nowInstalled(t, &s, strings.TrimPrefix(tt.after, "-"), "")
				r.Effects = map[string]func(){}
				for _, verb := range []string{"purge", "remove", "install"} {
					r.Effects["apt-get"+systemtest.AptOptions+" "+verb] = effect
				}
			}
			tt.before.Name, tt.before.Provider = "jq", "apt"
			text, err := json.Marshal(tt.before)
			if err != nil {
				t.Fatal(err)
			}
			if err := (packageType{}).Undo(t.Context(), s, "jq", text); err != nil {
				t.Fatal(err)
			}
			r.WantRan(t, tt.want...)
		})
	}
}

// A package that is gone is undone, whatever apt says of another one that it could not configure in the same call.
func TestAptUndoDespiteAnotherPackage(t *testing.T) {
	z := strings.Replace(systemtest.Stanza("z", ""), "install ok installed", "install ok half-configured", 1)
	conffiles := "Package: jq\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n\n"
	for _, tt := range []struct {
		name, after string // the database after the failed call
		before      packageBefore
		want        string // the error
	}{
		{"gone", z, packageBefore{Install: true}, ""},
		{"removed, its configuration files were there before", conffiles + z, packageBefore{Install: true, Conffiles: true}, ""},
		{"still there", systemtest.Stanza("jq", "") + z, packageBefore{Install: true}, "processing package z"},
		{"not purged", conffiles + z, packageBefore{Install: true}, "processing package z"},
		{"not removed", systemtest.Stanza("jq", "") + z, packageBefore{Install: true, Conffiles: true}, "processing package z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			failed := system.Output{Status: 100, Combined: "dpkg: error processing package z (--configure):\n" +
				"E: Sub-process /usr/bin/dpkg returned an error code (1)\n"}
			r := &recorder{Answers: map[string]system.Output{"apt-get" + systemtest.AptOptions + " -s": systemtest.Prints("Purg jq [1]\n"),
				"apt-get" + systemtest.AptOptions + " purge": failed, "apt-get" + systemtest.AptOptions + " remove": failed}}
			s := aptNode(t, systemtest.Stanza("jq", "")+z, r)
			effect := nowInstalled(t, &s, tt.after, "")
			r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " purge": effect, "apt-get" + systemtest.AptOptions + " remove": effect}
			tt.before.Name, tt.before.Provider = "jq", "apt"
			text, err := json.Marshal(tt.before)
			if err != nil {
				t.Fatal(err)
			}
			err = (packageType{}).Undo(t.Context(), s, "jq", text)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestAptTakesNoOtherPackage: apt installs what provides a virtual package, which the simulation shows.
func TestAptTakesNoOtherPackage(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{
		"apt-cache policy":                        systemtest.Prints("mail-transport-agent:\n  Candidate: (none)\n"),
		"apt-get" + systemtest.AptOptions + " -s": systemtest.Prints("Inst exim4 (4 [amd64])\n"),
	}}
	s := aptNode(t, "", r)
	typ := packageType{}
	virtual := res(t, typ, "mail-transport-agent", nil)
	if _, err := typ.Capture(t.Context(), s, virtual); err != nil {
		t.Fatal(err)
	}
	if err := typ.Apply(t.Context(), s, virtual); err == nil || !strings.Contains(err.Error(), "name one that provides it") {
		t.Errorf("error %v", err)
	}
	for _, line := range r.Ran {
		if strings.Contains(line, "install") && !strings.Contains(line, " -s ") {
			t.Errorf("it ran %s", line)
		}
	}
}
