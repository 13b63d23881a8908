package types

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// packageLedger puts records into the ledger of a system at work on package[me].
func packageLedger(t *testing.T, s *Session, befores ...packageBefore) *ledger.Ledger {
	t.Helper()
	l := &ledger.Ledger{}
	for _, b := range befores {
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		l.Change(ledger.Record{Entry: &ledger.Entry{Site: "s", Type: "package", Title: b.Name, Before: text, ID: resource.MakeID("package", b.Name)}})
	}
	l.Log.Unsaved = nil
	s.Site, s.ID, s.Ledger = "s", resource.MakeID("package", "me"), l
	return l
}

// TestCompanionAskedForByName: a package that slipway brought along and that is then asked for by name was not there before slipway.
func TestCompanionAskedForByName(t *testing.T) {
	r := &recorder{}
	s := aptNode(t, "", r)
	nowInstalled(t, &s, systemtest.Stanza("light", "Depends: me\n")+systemtest.Stanza("me", "Depends: common\n")+systemtest.Stanza("common", ""),
		"Package: me\nArchitecture: amd64\nAuto-Installed: 1\n\nPackage: common\nArchitecture: amd64\nAuto-Installed: 1\n")()
	packageLedger(t, s,
		packageBefore{Name: "light", Provider: "apt", Install: true, Came: []string{"common", "me"}, Without: []string{"a: b"}},
		packageBefore{Name: "me", Provider: "apt", Install: true, Present: true}, // its own record does not count
		packageBefore{Name: "other", Provider: "dnf", Install: true, Came: []string{"me", "no"}})
	before, err := packageType{}.Capture(t.Context(), s, res(t, packageType{}, "me", nil))
	want := `{"name":"me","provider":"apt","install":true,"present":false,"came":["common"],"without":["a: b"]}`
	if string(before) != want || err != nil {
		t.Errorf("%s, %v; want %s", before, err, want)
	}
	r.WantRan(t) // nothing differs, so nothing is asked
}

// TestCompanionsAreHandedOver: what stays for another package that slipway installed goes with that one, and what is asked for by name
// does not go at all.
func TestCompanionsAreHandedOver(t *testing.T) {
	r := &recorder{Answers: map[string]system.Output{"apt-get" + systemtest.AptOptions + " -s": systemtest.Prints("Purg me [1]\n")}}
	s := aptNode(t, "", r)
	auto := "Package: d\nArchitecture: amd64\nAuto-Installed: 1\n\nPackage: asked\nArchitecture: amd64\nAuto-Installed: 1\n"
	rest := systemtest.Stanza("x", "Depends: d\n") + systemtest.Stanza("d", "") + systemtest.Stanza("asked", "")
	nowInstalled(t, &s, systemtest.Stanza("me", "Depends: d\n")+rest, auto)()
	r.Effects = map[string]func(){"apt-get" + systemtest.AptOptions + " purge": nowInstalled(t, &s, rest, auto)}
	l := packageLedger(t, s,
		packageBefore{Name: "old", Provider: "apt", Install: true, Present: true},
		packageBefore{Name: "asked", Provider: "apt", Install: true, Present: true},
		packageBefore{Name: "x", Provider: "apt", Install: true})
	text := `{"name":"me","provider":"apt","install":true,"present":false,"came":["asked","d"],"without":["a: b"]}`
	undone(t, s, packageType{}, resource.Resource{Title: "me"}, json.RawMessage(text))
	r.WantRan(t, "apt-get -s --allow-change-held-packages purge -- me", "apt-get purge -- me")
	var got []string
	for _, e := range l.Entries {
		got = append(got, string(e.Before))
	}
	want := []string{
		`{"name":"old","provider":"apt","install":true,"present":true}`,
		`{"name":"asked","provider":"apt","install":true,"present":true}`,
		`{"name":"x","provider":"apt","install":true,"present":false,"came":["d"],"without":["a: b"]}`,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(l.Log.Unsaved) != 1 {
		t.Errorf("%d records to save, ledger (-want +got):\n%s", len(l.Log.Unsaved), diff)
	}
}
