package types

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// capture records what the transaction is going to bring and to take. All packages that the manifest installs are
// looked at as one transaction, since they will be one: what one brings may serve another, and the last of them to be
// undone takes it along.
func (a apt) capture(
	ctx context.Context, s *Session, want packageWant, differs bool, alongside []packageWant, b *packageBefore,
) error {
	db, err := readDpkg(s)
	if err != nil {
		return err
	}
	auto, err := readAuto(s, db)
	if err != nil {
		return err
	}
	key, _ := db.find(want.name)
	b.Auto = auto[key]
	if b.Install && b.Present {
		others, err := otherPackages(s, b.Provider)
		if err != nil {
			return err
		}
		b.inherit(key, auto[key], others, db.keyOf)
	}
	if !differs {
		return nil
	}
	plan, err := a.plan(ctx, s, db, want, alongside)
	if err == nil && a.contradicted(s, db, plan) != nil && want.install() {
		plan, err = a.installing(ctx, s, []packageWant{want}) // which of those that share the transaction is it
	}
	if err == nil {
		err = a.contradicted(s, db, plan)
	}
	if err != nil {
		return err
	}
	asked := func(key string) bool {
		return slices.ContainsFunc(alongside, func(w packageWant) bool { return db.keyOf(w.name) == key })
	}
	came := slices.DeleteFunc(slices.Clone(plan.install), func(k string) bool { return k == key || asked(k) })
	if len(came) > 0 {
		b.addCompanions(came, db.without())
		b.CameConffiles = slices.DeleteFunc(slices.Clone(came), func(k string) bool {
			return db.packages[k].condition != conditionConffiles
		})
	}
	for _, went := range plan.remove {
		if went.Name != key {
			went.Auto = auto[went.Name]
			b.Went = append(b.Went, went)
		}
	}
	return nil
}

// contradicted returns an error when a transaction would take or bring what a resource wants otherwise.
func (a apt) contradicted(s *Session, db dpkgDatabase, plan aptPlan) error {
	for _, w := range wantedPackages(s, a) {
		switch key := db.keyOf(w.name); {
		case w.install() && plan.removes[key]:
			return w.contradicts("would go")
		case !w.install() && slices.Contains(plan.install, key):
			return w.contradicts("would come")
		}
	}
	return nil
}

// plan simulates the transaction that want will be part of. It is empty when that cannot be had: Apply is about to fail
// and to say why.
func (a apt) plan(
	ctx context.Context, s *Session, db dpkgDatabase, want packageWant, alongside []packageWant,
) (aptPlan, error) {
	switch want.ensure {
	case "absent":
		return simulate(ctx, s, "remove", "--", want.name)
	case "purged":
		return simulate(ctx, s, "purge", "--", want.name)
	}
	together := slices.DeleteFunc(slices.Clone(alongside), func(w packageWant) bool {
		return !w.install() || db.state(w.name).there() || w.options != want.options
	})
	if !slices.Contains(together, want) {
		together = []packageWant{want}
	}
	if plan, err := a.installing(ctx, s, together); err == nil && a.brings(db, plan, together) {
		sure, err := able(s)
		for _, w := range together {
			sure[w.argument()] = err == nil
		}
		return plan, err
	}
	// The index lacks something, or is to be refreshed.
	var all []packageWant
	for i, err := range a.known(ctx, s, together) {
		if err == nil {
			all = append(all, together[i])
		}
	}
	if !slices.Contains(all, want) {
		return aptPlan{}, nil
	}
	plan, err := a.installing(ctx, s, all)
	if err != nil && len(all) > 1 && ctx.Err() == nil {
		// They may exclude each other; then each is tried by itself, as Apply will do.
		plan, err = a.installing(ctx, s, []packageWant{want})
	}
	if err != nil && ctx.Err() == nil {
		return aptPlan{}, nil //nolint:nilerr // Apply runs the same transaction and reports its error
	}
	return plan, err
}

// installing simulates one transaction that installs packages.
func (apt) installing(ctx context.Context, s *Session, wants []packageWant) (aptPlan, error) {
	arguments := append([]string{"install", "--allow-downgrades"}, wants[0].installOptions()...)
	arguments = append(arguments, "--")
	for _, w := range wants {
		arguments = append(arguments, w.argument())
	}
	return system.Remember(s.System, "apt.plan "+strings.Join(arguments, " "), func() (aptPlan, error) {
		return simulate(ctx, s, arguments...)
	})
}

// brings reports whether a transaction installs all of the packages under their own names: apt takes a virtual package
// for one that provides it.
func (apt) brings(db dpkgDatabase, plan aptPlan, wants []packageWant) bool {
	return !slices.ContainsFunc(wants, func(w packageWant) bool {
		key := db.keyOf(w.name)
		return !slices.Contains(plan.install, key) && !slices.Contains(plan.upgrade, key)
	})
}

func (a apt) undo(ctx context.Context, s *Session, b packageBefore) error {
	if _, err := a.finish(ctx, s); err != nil {
		return err
	}
	cutOff := a.reinstall(ctx, s, b)
	var err error
	if b.Install && !b.Present {
		err = a.takeAway(ctx, s, b)
	}
	if err == nil {
		err = a.bringBack(ctx, s, b)
	}
	if err != nil {
		return errors.Join(err, cutOff)
	}
	return nil
}

// reinstall installs again the packages of which the unpacking was cut off, before anything is judged: dpkg does not
// even remove them, and apt refuses all else. Those of other resources count, too, for one call may have brought all.
func (apt) reinstall(ctx context.Context, s *Session, b packageBefore) error {
	db, err := readDpkg(s)
	if err != nil {
		return err
	}
	others, err := otherPackages(s, b.Provider)
	if err != nil {
		return err
	}
	names := append([]string{b.Name}, b.Came...)
	for _, o := range others {
		names = append(append(names, o.before.Name), o.before.Came...)
	}
	var cut []string
	for _, name := range names {
		if key, p := db.find(name); p.status == statusReinstall && !slices.Contains(cut, key) {
			cut = append(cut, key)
		}
	}
	if len(cut) == 0 {
		return nil
	}
	return mustRun(ctx, s, aptGet(append([]string{"install", "--reinstall", "--"}, cut...)...))
}

// takeAway removes a package that slipway installed, with its companions. A package that others by now depend on stays,
// marked as installed for their sake, so that it goes when they do.
func (a apt) takeAway(ctx context.Context, s *Session, b packageBefore) error {
	db, err := readDpkg(s)
	if err != nil {
		return err
	}
	auto, err := readAuto(s, db)
	if err != nil {
		return err
	}
	others, err := otherPackages(s, b.Provider)
	if err != nil {
		return err
	}
	asked := func(key string) bool {
		return slices.ContainsFunc(others, func(o packageRecord) bool { return db.keyOf(o.before.Name) == key })
	}
	key, p := db.find(b.Name)
	if asked(key) || p.condition == conditionGone || p.condition == conditionConffiles && b.Conffiles {
		key = "" // not to go, or gone already; its companions may still be there
	}
	// A companion that someone asked for by name in the meantime is that one's. Only of an installed one does apt know
	// that, and an undo that was cut off leaves companions behind without a mark: those in b.Leaving.
	came := slices.DeleteFunc(slices.Clone(b.Came), func(k string) bool {
		switch p := db.packages[k]; p.condition {
		case conditionGone:
			return true
		case conditionConffiles:
			return asked(k) || slices.Contains(b.CameConffiles, k)
		case conditionInstalled:
			return !auto[k] && !slices.Contains(b.Leaving, k) || asked(k) || p.held
		}
		return asked(k)
	})
	leaving, neededBy, err := a.leaving(ctx, s, db, key, came, b.Without)
	if err != nil {
		return err
	}
	// Those that an undo was about to take away before, and that others need by now, have lost their marks.
	staying := slices.DeleteFunc(came, func(k string) bool { return slices.Contains(leaving, k) })
	marks := slices.DeleteFunc(slices.Clone(staying), func(k string) bool {
		return db.packages[k].condition != conditionInstalled || !slices.Contains(b.Leaving, k)
	})
	if neededBy != "" {
		staying, marks = append(staying, key), append(marks, key)
	}
	if err := markAuto(ctx, s, marks); err != nil {
		return err
	}
	if len(leaving) > 0 {
		companions := slices.DeleteFunc(slices.Clone(leaving), func(k string) bool { return k == key })
		if err := b.noteLeaving(s, companions); err != nil {
			return err
		}
		if err := a.purge(ctx, s, leaving, key, b); err != nil {
			return err
		}
	}
	return transferCompanions(s, others, staying, b.Without)
}

// noteLeaving writes into the ledger on the disk which companions are about to go: apt forgets why they are there
// before they are gone.
func (b packageBefore) noteLeaving(s *Session, companions []string) error {
	l := s.Ledger
	if l == nil || slices.Equal(b.Leaving, companions) {
		return nil
	}
	e := l.Entry(s.Site, s.ID)
	if e == nil {
		return nil
	}
	b.Leaving = companions
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	e.Before = text
	l.Change(ledger.Record{Entry: e})
	return l.Save()
}

// restore selects again what an undo that was cut off was about to take away, finishes, installs again what is half
// there, and marks the companions as installed for others.
func (a apt) restore(ctx context.Context, s *Session, b packageBefore) (was string, err error) {
	var selections strings.Builder
	err = b.each(s, func(key string, p dpkgPackage) {
		if p.unwanted {
			selections.WriteString(key + " install\n")
		}
	})
	if err == nil && selections.Len() > 0 {
		err = mustRun(ctx, s, system.Command{Argv: []string{"dpkg", "--set-selections"}, Stdin: []byte(selections.String())})
	}
	if err != nil {
		return "", err
	}
	if was, err = a.finish(ctx, s); err != nil {
		return "", err
	}
	var half, auto []string
	err = b.each(s, func(key string, p dpkgPackage) {
		if p.halfInstalled() {
			half = append(half, key)
		}
		if slices.Contains(b.Leaving, key) {
			auto = append(auto, key)
		}
	})
	if err == nil && len(half) > 0 {
		was = cmp.Or(was, strings.Join(half, ", ")+" half installed")
		err = mustRun(ctx, s, aptGet(append([]string{"install", "--reinstall", "--"}, half...)...))
	}
	if err == nil {
		err = markAuto(ctx, s, auto)
	}
	return was, err
}

// each calls f for the package and its companions, as far as they are there.
func (b packageBefore) each(s *Session, f func(key string, p dpkgPackage)) error {
	db, err := readDpkg(s)
	if err != nil {
		return err
	}
	for _, name := range append([]string{b.Name}, b.Came...) {
		if key, p := db.find(name); p.condition == conditionInstalled || p.condition == conditionBroken {
			f(key, p)
		}
	}
	return nil
}

// leaving returns what can go of key and its companions, and when key cannot, who needs it. What the pure rule says is
// checked with apt, which knows about versions, too; where they disagree, more stays.
func (a apt) leaving(
	ctx context.Context, s *Session, db dpkgDatabase, key string, came, without []string,
) (keys []string, neededBy string, err error) {
	keys, neededBy = db.unneeded(key, came, without)
	for _, k := range append([]string{key}, came...) {
		if db.packages[k].condition == conditionConffiles {
			keys = append(keys, k) // removed, by hand or by an undo that was cut off: what it left behind goes too
		}
	}
	if len(keys) == 0 {
		return nil, neededBy, nil
	}
	slices.Sort(keys)
	ok, err := a.takes(ctx, s, keys)
	if err == nil && !ok && slices.Contains(keys, key) && len(keys) > 1 {
		keys = []string{key}
		ok, err = a.takes(ctx, s, keys)
	}
	if err != nil || ok {
		return keys, neededBy, err
	}
	if slices.Contains(keys, key) {
		neededBy = "a package that slipway did not install"
	}
	return nil, neededBy, nil
}

// takes reports whether a purge of keys would take nothing else along and put nothing in its place.
func (apt) takes(ctx context.Context, s *Session, keys []string) (bool, error) {
	plan, err := simulate(ctx, s, append([]string{"purge", "--"}, keys...)...)
	return err == nil && plan.only(keys), err
}

// purge removes keys; configuration files that were there before slipway stay.
func (apt) purge(ctx context.Context, s *Session, keys []string, key string, b packageBefore) error {
	db, err := readDpkg(s)
	if err != nil {
		return err
	}
	if held := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !db.packages[k].held }); len(held) > 0 {
		if err := mustRun(ctx, s, system.Command{Argv: append([]string{"apt-mark", "unhold", "--"}, held...)}); err != nil {
			return err
		}
	}
	keepsFiles := func(k string) bool { return b.Conffiles && k == key || slices.Contains(b.CameConffiles, k) }
	if remove := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !keepsFiles(k) }); len(remove) > 0 {
		err := mustRun(ctx, s, aptGet(append([]string{"remove", "--"}, remove...)...))
		if err = unlessGone(s, err, remove, conditionConffiles); err != nil {
			return err
		}
	}
	keys = slices.DeleteFunc(slices.Clone(keys), keepsFiles)
	if len(keys) > 0 {
		if err := unlessGone(s, aptPurge(ctx, s, keys), keys, conditionGone); err != nil {
			return err
		}
	}
	db, err = readDpkg(s)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if db.packages[k].condition != conditionGone {
			return errors.New("apt-get reported success, yet " + k + " is still " + db.state(k).String())
		}
	}
	return nil
}

// unlessGone returns the error of a call that took packages away, nil when each of them is gone, or in a condition that
// will do: the error is about another package then, which apt tries to configure in each call.
func unlessGone(s *Session, failure error, keys []string, or packageCondition) error {
	if failure == nil {
		return nil
	}
	db, err := readDpkg(s)
	if err != nil {
		return errors.Join(failure, err)
	}
	for _, k := range keys {
		if c := db.packages[k].condition; c != conditionGone && c != or {
			return failure
		}
	}
	return nil
}

// bringBack installs again what the transaction took away, and sets the marks that apt and dpkg had.
func (apt) bringBack(ctx context.Context, s *Session, b packageBefore) error {
	db, err := readDpkg(s)
	if err != nil {
		return err
	}
	gone := b.Went
	if b.Present && !b.Install {
		gone = append([]packageGone{{Name: b.Name, Version: b.Version, Auto: b.Auto}}, gone...)
	}
	var former, present, marks []string
	if b.Present && b.Install && b.Auto && db.state(b.Name).there() {
		marks = append(marks, b.Name)
	}
	for _, g := range gone {
		if g.Auto {
			marks = append(marks, g.Name)
		}
		if db.state(g.Name).condition == conditionInstalled {
			continue
		}
		present = append(present, g.Name)
		if g.Version == "" {
			former = append(former, g.Name)
		} else {
			former = append(former, g.Name+"="+g.Version)
		}
	}
	if len(present) > 0 {
		// The former versions, or if the repositories do not have them any more, those that they have.
		if mustRun(ctx, s, aptGet(append([]string{"install", "--"}, former...)...)) != nil {
			if err := mustRun(ctx, s, aptGet(append([]string{"install", "--"}, present...)...)); err != nil {
				return fmt.Errorf("it was there before, and cannot be installed again: %w", err)
			}
		}
	}
	if err := markAuto(ctx, s, marks); err != nil {
		return err
	}
	_, p := db.find(b.Name)
	switch held := b.Present && b.Held; {
	case held && !p.held:
		return mustRun(ctx, s, system.Command{Argv: []string{"apt-mark", "hold", "--", b.Name}})
	case b.Marked && !held && p.held:
		return mustRun(ctx, s, system.Command{Argv: []string{"apt-mark", "unhold", "--", b.Name}})
	}
	return nil
}

// markAuto marks packages as installed for others, where they are not yet.
func markAuto(ctx context.Context, s *Session, names []string) error {
	db, err := readDpkg(s)
	if err != nil {
		return err
	}
	auto, err := readAuto(s, db)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return auto[db.keyOf(name)] })
	if len(names) == 0 {
		return nil
	}
	return mustRun(ctx, s, system.Command{Argv: append([]string{"apt-mark", "auto", "--"}, names...)})
}
