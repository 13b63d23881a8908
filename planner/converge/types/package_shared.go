package types

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
)

// packageRecord is what the ledger says of another package resource.
type packageRecord struct {
	entry  *ledger.Entry
	before packageBefore
}

// otherPackages returns the ledger's records of the packages that a manager was to install, without that of the
// resource at work, in the order in which they were first applied.
func otherPackages(s *Session, provider string) ([]packageRecord, error) {
	if s.Ledger == nil {
		return nil, nil
	}
	var out []packageRecord
	for _, e := range s.Ledger.Entries {
		if e.Type != "package" || e.Site == s.Site && e.ID == s.ID {
			continue
		}
		r := packageRecord{entry: e}
		if err := json.Unmarshal(e.Before, &r.before); err != nil {
			return nil, fmt.Errorf("the ledger's record of %s: %w", e.ID, err)
		}
		if r.before.Install && r.before.Provider == provider {
			out = append(out, r)
		}
	}
	return out, nil
}

// wantedPackage is what a resource wants of a package.
type wantedPackage struct {
	packageWant
	by string // the resource
}

// wantedPackages returns what the manifest wants of a package manager, and what resources want that it does not name:
// unchanged ones of the site, and those of other sites, as far as the ledger has it.
func wantedPackages(s *Session, m packageManager) (out []wantedPackage) {
	add := func(provider, by string, want packageWant) {
		if its, _, err := findManager(s, provider); err == nil && its == m {
			want.mark = "" // a transaction lifts it for a while
			out = append(out, wantedPackage{want, by})
		}
	}
	for _, r := range s.Wanted {
		if r.Type == "package" {
			add(r.Parameters.String("provider"), string(r.ID()), wantPackage(r))
		}
	}
	if s.Ledger == nil {
		return out
	}
	for _, e := range s.Ledger.Entries {
		if e.Type != "package" || e.Digest == "" || s.Named[e.Key()] {
			continue
		}
		b, err := decode[*packageBefore](e.Before)
		if err != nil {
			continue // the resource itself reports it
		}
		by, want := string(e.ID), packageWant{name: b.Name, ensure: "absent"}
		if b.Install {
			want.ensure = "installed"
		}
		if e.Site != s.Site {
			by += fmt.Sprintf(" of the site %q", e.Site)
		}
		add(b.Provider, by, want)
	}
	return out
}

// ContradictionError is the error of a resource whose transaction undoes, or would undo, what another one wants.
type ContradictionError struct{ message string }

func (e ContradictionError) Error() string { return e.message }

func (w wantedPackage) contradicts(becomes string) error {
	return ContradictionError{fmt.Sprintf("with it %s %s, and %s wants it %s: leave one of the two out", w.name, becomes, w.by,
		w.ensure)}
}

// finishOthers completes what a transaction left that was cut off and that brought other resources, too: dnf knows that
// of its last transaction only.
func finishOthers(ctx context.Context, s *Session, m packageManager) error {
	if s.Ledger == nil || !slices.ContainsFunc(s.Ledger.Entries, func(e *ledger.Entry) bool {
		return e.Type == "package" && e.Digest == "" && (e.Site != s.Site || e.ID != s.ID)
	}) {
		return nil
	}
	_, err := m.finish(ctx, s)
	return err
}

// inherit corrects b for a package that is there only because slipway brought it along with another one: then it was
// not there before, and goes with the last resource that asks for it.
func (b *packageBefore) inherit(key string, auto bool, others []packageRecord, keyOf func(string) string) {
	for _, o := range others {
		same := keyOf(o.before.Name) == key && !o.before.Present
		if same || auto && slices.Contains(o.before.Came, key) {
			b.Present, b.Version, b.Auto = false, "", false
			b.addCompanions(o.before.Came, o.before.Without)
		}
	}
	b.Came = slices.DeleteFunc(b.Came, func(k string) bool { return k == key })
}

func (b *packageBefore) addCompanions(came, without []string) {
	b.Came = sortedUnion(b.Came, came)
	b.Without = sortedUnion(b.Without, without)
}

func sortedUnion(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// transferCompanions writes companions that stay because others need them into the record of the first package that
// slipway installed and that is still there, so that they go with it, or are handed on. Without such a package they
// stay, marked as installed for others.
func transferCompanions(s *Session, others []packageRecord, came, without []string) error {
	for _, o := range others {
		if o.before.Present || len(came) == 0 {
			continue
		}
		o.before.addCompanions(came, without)
		text, err := json.Marshal(o.before)
		if err != nil {
			return err
		}
		if !bytes.Equal(o.entry.Before, text) {
			o.entry.Before = text
			s.Ledger.Change(ledger.Record{Entry: o.entry})
		}
		return nil
	}
	return nil
}
