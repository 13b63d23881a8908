package types

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// TestInstallOptions: packages with equal options are one call; the simulation and the newest version see the options, too.
func TestInstallOptions(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{
		"apt-cache policy":                             systemtest.Prints("a:\n  Candidate: 1\nb:\n  Candidate: 1\nc:\n  Candidate: 1\n"),
		"apt-get" + systemtest.AptOptions + " -s":      systemtest.Prints("Inst a (1 x [amd64])\nInst b (1 x [amd64])\nInst c (1 x [amd64])\n"),
		"apt-cache policy -t backports -- c":           systemtest.Prints("c:\n  Candidate: 2\n"),
		"apt-cache policy -o Acquire::Retries=3 -- c ": systemtest.Prints(""),
	}}
	s := aptNode(t, "", r)
	have := func(names ...string) func() {
		return func() {
			var all strings.Builder
			for _, name := range names {
				all.WriteString(systemtest.Stanza(name, ""))
			}
			nowInstalled(t, &s, all.String(), "")()
		}
	}
	r.Effects = map[string]func(){
		"apt-get" + systemtest.AptOptions + " install -- a":                                        have("a"),
		"apt-get" + systemtest.AptOptions + " install --no-install-recommends -t backports -- b c": have("a", "b", "c"),
	}
	typ, options := packageType{}, []any{"--no-install-recommends", "-t", "backports"}
	rs := []resource.Resource{
		res(t, typ, "a", nil),
		res(t, typ, "b", resource.Parameters{"install_options": options}),
		res(t, typ, "c", resource.Parameters{"install_options": options}),
	}
	if err := typ.Prefetch(t.Context(), s, rs); err != nil {
		t.Fatal(err)
	}
	if _, err := typ.Capture(t.Context(), s, rs[1]); err != nil {
		t.Fatal(err)
	}
	r.WantRan(t, "apt-get -s --allow-change-held-packages install --allow-downgrades --no-install-recommends -t backports -- b c")
	for i, err := range typ.ApplyBatch(t.Context(), s, rs) {
		if err != nil {
			t.Errorf("%s: %v", rs[i].ID(), err)
		}
	}
	r.WantRan(t, "apt-cache policy -- a", "apt-get install -- a", "apt-get install --no-install-recommends -t backports -- b c")
	diffs, err := typ.Check(t.Context(), s, res(t, typ, "c", resource.Parameters{"ensure": "latest", "install_options": options}))
	if err != nil || len(diffs) != 1 || diffs[0].Should != "2" {
		t.Errorf("latest: %v, %v", diffs, err)
	}
	r.WantRan(t, "apt-cache policy -t backports -- c")
}

// TestPackageMark holds a package and lets it, without installing anything, and brings back what was.
func TestPackageMark(t *testing.T) {
	on := strings.Replace(systemtest.Stanza("jq", ""), "install ok", "hold ok", 1)
	var s *Session
	r := &recorder{Answers: map[string]system.Output{}}
	s = aptNode(t, systemtest.Stanza("jq", ""), r)
	r.Effects = map[string]func(){
		"apt-mark hold -- jq":   nowInstalled(t, &s, on, ""),
		"apt-mark unhold -- jq": nowInstalled(t, &s, systemtest.Stanza("jq", ""), ""),
	}
	typ := packageType{}
	hold := res(t, typ, "jq", resource.Parameters{"mark": "hold"})
	before := applied(t, s, typ, hold)
	r.WantRan(t, "apt-cache policy -- jq", "apt-mark hold -- jq")
	back, rest, err := typ.Release(t.Context(), s, res(t, typ, "jq", nil), before)
	if err != nil || back["mark"] != "none" || strings.Contains(string(rest), "marked") {
		t.Errorf("released: %v, %s, %v", back, rest, err)
	}
	undone(t, s, typ, hold, before)
	r.WantRan(t, "apt-mark unhold -- jq")

	nowInstalled(t, &s, on, "")()
	s.Forget()
	none := res(t, typ, "jq", resource.Parameters{"mark": "none"})
	before = applied(t, s, typ, none)
	r.WantRan(t, "apt-cache policy -- jq", "apt-mark unhold -- jq")
	undone(t, s, typ, none, before)
	r.WantRan(t, "apt-mark hold -- jq")

	s = wholeMachine(t, map[string]string{"/usr/bin/dnf": ""}, (&recorder{}).Run)
	if _, err := typ.Check(t.Context(), s, hold); err == nil || !strings.Contains(err.Error(), `package "jq": mark: dnf has none`) {
		t.Error(err)
	}
}

// mark = "manual" keeps a package that others brought along; without it, and with undo, it is theirs again.
func TestPackageMarkManual(t *testing.T) {
	const auto = "Package: jq\nArchitecture: amd64\nAuto-Installed: 1\n\n"
	typ := packageType{}
	manual := res(t, typ, "jq", resource.Parameters{"mark": "manual"})
	node := func(auto string) (*Session, *recorder) {
		var s *Session
		r := &recorder{Answers: map[string]system.Output{}}
		s = aptNode(t, systemtest.Stanza("jq", ""), r)
		nowInstalled(t, &s, systemtest.Stanza("jq", ""), auto)()
		s.Forget()
		r.Effects = map[string]func(){
			"apt-mark manual -- jq": nowInstalled(t, &s, systemtest.Stanza("jq", ""), ""),
			"apt-mark auto -- jq":   nowInstalled(t, &s, systemtest.Stanza("jq", ""), auto),
		}
		return s, r
	}
	s, r := node(auto)
	if found, err := typ.Check(t.Context(), s, manual); err != nil || len(found) != 1 ||
		found[0] != (Difference{"mark", "auto", "manual"}) {
		t.Fatalf("%v, %v", found, err)
	}
	before := applied(t, s, typ, manual)
	r.WantRan(t, "apt-cache policy -- jq", "apt-mark manual -- jq")
	undone(t, s, typ, manual, before)
	r.WantRan(t, "apt-mark auto -- jq")

	before = applied(t, s, typ, manual)
	r.Ran = nil
	back, rest, err := typ.Release(t.Context(), s, res(t, typ, "jq", nil), before)
	if err != nil || back["mark"] != "auto" || strings.Contains(string(rest), `"manual"`) {
		t.Errorf("released: %v, %s, %v", back, rest, err)
	}
	returning := res(t, typ, "jq", nil)
	returning.Parameters = back
	apply(t, s, typ, returning)
	r.WantRan(t, "apt-cache policy -- jq", "apt-mark auto -- jq")

	s, r = node("") // it was asked for before
	if found, err := typ.Check(t.Context(), s, manual); err != nil || len(found) > 0 {
		t.Fatalf("%v, %v", found, err)
	}
	before = applied(t, s, typ, manual)
	if back, _, err := typ.Release(t.Context(), s, res(t, typ, "jq", nil), before); err != nil || len(back) > 0 {
		t.Errorf("released: %v, %v", back, err)
	}
	undone(t, s, typ, manual, before)
	r.WantRan(t)
}
