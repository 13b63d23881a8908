package types

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// packageType is Puppet's package: software that the node's package manager installs.
type packageType struct {
	recorded[packageType, *packageBefore]
}

func (packageType) Schema() resource.Schema { return schema.Package() }

func wantPackage(r resource.Resource) packageWant {
	w := packageWant{name: schema.PackageName(r), ensure: r.Parameters.StringOr("ensure", "installed")}
	if w.ensure == "present" {
		w.ensure = "installed"
	}
	for _, option := range r.Parameters.Strings("install_options") {
		w.options += option + "\x00"
	}
	w.mark = r.Parameters.String("mark")
	return w
}

// Prefetch remembers what the manifest wants, so that Capture can look at one transaction as a whole, and asks for the
// newest versions of all packages with ensure = latest at once.
func (packageType) Prefetch(ctx context.Context, s *Session, rs []resource.Resource) error {
	latest := map[string][]string{}
	wants := map[string][]packageWant{}
	for _, r := range rs {
		_, provider, err := managerOf(s, r)
		if err != nil {
			continue // Check reports it for the resource that it concerns
		}
		w := wantPackage(r)
		wants[provider] = append(wants[provider], w)
		if w.ensure == "latest" && w.options == "" {
			latest[provider] = append(latest[provider], w.name)
		}
	}
	for provider, ws := range wants {
		if _, err := alongside(s, provider, ws...); err != nil {
			return err
		}
	}
	for provider, names := range latest {
		if _, err := newestVersions(ctx, s, provider, names, packageWant{}); err != nil {
			return err
		}
	}
	return nil
}

// alongside returns the wants that Prefetch remembered, or those given when there are none.
func alongside(s *Session, provider string, wants ...packageWant) ([]packageWant, error) {
	return system.Remember(s.System, "package.wants."+provider, func() ([]packageWant, error) { return wants, nil })
}

// newestVersions asks for names with the install options of w, unless an earlier question covered them.
func newestVersions(
	ctx context.Context, s *Session, provider string, names []string, w packageWant,
) (map[string]string, error) {
	type answer struct {
		asked  []string
		newest map[string]string
	}
	m, _, err := findManager(s, provider)
	if err != nil {
		return nil, err
	}
	ask := func() (answer, error) {
		newest, err := m.newest(ctx, s, names, w.installOptions()...)
		return answer{names, newest}, err
	}
	a, err := system.Remember(s.System, "package.newest."+provider+" "+w.options, ask)
	if err == nil && slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(a.asked, n) }) {
		a, err = ask()
	}
	return a.newest, err
}

// lookAtPackage returns the package manager of r, and what it has of the package.
func lookAtPackage(
	ctx context.Context, s *Session, r resource.Resource,
) (m packageManager, provider string, state packageState, err error) {
	if m, provider, err = managerOf(s, r); err == nil {
		state, err = m.state(ctx, s, wantPackage(r).name)
	}
	if err != nil {
		err = packageError(wantPackage(r), err)
	}
	return m, provider, state, err
}

func (packageType) Check(ctx context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	want := wantPackage(r)
	m, provider, state, err := lookAtPackage(ctx, s, r)
	if err != nil {
		return nil, err
	}
	if marks, can := m.(marker); want.mark != "" && !can {
		return nil, packageError(want, fmt.Errorf("mark: %s has none; leave it out, only apt can hold a package", provider))
	} else if can && (want.mark == markManual || want.mark == markedAuto) {
		if state.auto, err = marks.auto(s, want.name); err != nil {
			return nil, packageError(want, err)
		}
	}
	newest := ""
	if want.ensure == "latest" && state.there() {
		versions, err := newestVersions(ctx, s, provider, []string{want.name}, want)
		if err != nil {
			return nil, packageError(want, err)
		}
		newest = versions[want.name]
	}
	return comparePackage(want, state, newest, m.matches), nil
}

// comparePackage is Puppet's rule of when a package is in sync. newest is empty when the index has no version.
func comparePackage(
	want packageWant, is packageState, newest string, matches func(is, should string) bool,
) []Difference {
	should := want.ensure
	ok := is.condition == conditionInstalled && is.trouble == ""
	switch {
	case want.ensure == "absent":
		ok = !is.there()
	case want.ensure == "purged":
		ok = is.condition == conditionGone
	case want.ensure == "latest" && newest != "":
		should = newest
		ok = ok && slices.Contains(is.versions, newest)
	case want.version() != "":
		ok = ok && slices.ContainsFunc(is.versions, func(v string) bool { return matches(v, want.version()) })
	}
	var found []Difference
	if !ok {
		found = append(found, Difference{Parameter: "ensure", Is: is.String(), Should: should})
	}
	if mark := is.mark(want.mark); want.mark != "" && mark != want.mark {
		found = append(found, Difference{Parameter: "mark", Is: mark, Should: want.mark})
	}
	return found
}

func packageError(w packageWant, err error) error { return fmt.Errorf("package %q: %w", w.name, err) }

func (t packageType) capture(ctx context.Context, s *Session, r resource.Resource) (_ *packageBefore, err error) {
	var b packageBefore
	want := wantPackage(r)
	m, provider, state, err := lookAtPackage(ctx, s, r)
	if err != nil {
		return &b, err
	}
	b = packageBefore{
		Name: want.name, Provider: provider, Install: want.install(), Present: state.there(), Held: state.held,
		Conffiles: state.condition == conditionConffiles,
	}
	b.marks(r)
	if len(state.versions) > 0 {
		b.Version = state.versions[len(state.versions)-1]
	}
	differences, err := t.Check(ctx, s, r)
	if err != nil {
		return &b, err
	}
	others, err := alongside(s, provider, want)
	if err == nil {
		err = m.capture(ctx, s, want, differsIn("ensure", differences), others, &b)
	}
	if err != nil {
		err = packageError(want, err)
	}
	return &b, err
}

// Resolve leaves the node's own architecture out of the name, where dpkg's database says it.
func (packageType) Resolve(s *Session, object string) string {
	name, arch, qualified := strings.Cut(object, ":")
	if !qualified {
		return object
	}
	db, err := readDpkg(s)
	if err != nil {
		return object // another package manager, whose names have no architecture
	}
	return db.key(name, arch)
}

func (t packageType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	return t.ApplyBatch(ctx, s, []resource.Resource{r})[0]
}

// ApplyBatch makes one transaction of all; when that fails, each that is not yet as wanted is tried by itself, so that
// each error is its own. The node's database decides what succeeded, not the manager's exit status (execution.md 2).
func (t packageType) ApplyBatch(ctx context.Context, s *Session, rs []resource.Resource) []error {
	errs := make([]error, len(rs))
	groups := map[packageManager][]int{}
	for i, r := range rs {
		m, _, err := managerOf(s, r)
		if err != nil {
			errs[i] = packageError(wantPackage(r), err)
			continue
		}
		groups[m] = append(groups[m], i)
	}
	apply := func(m packageManager) {
		if indexes := groups[m]; len(indexes) > 0 {
			t.applyWith(ctx, s, m, rs, indexes, errs)
		}
	}
	for _, known := range packageManagers { // they may bring the programs of the others
		apply(known.manager)
	}
	for _, l := range languages {
		apply(l)
	}
	return errs
}

func (t packageType) applyWith(
	ctx context.Context, s *Session, m packageManager, rs []resource.Resource, indexes []int, errs []error,
) {
	wants := func(indexes []int) []packageWant {
		out := make([]packageWant, len(indexes))
		for i, index := range indexes {
			out[i] = wantPackage(rs[index])
		}
		return out
	}
	var todo []int
	for i, err := range m.known(ctx, s, wants(indexes)) {
		if errs[indexes[i]] = err; err == nil {
			todo = append(todo, indexes[i])
		}
	}
	if len(todo) > 0 {
		// What cannot be completed matters only where it is in the way.
		cutOff, inOrder := finishOthers(ctx, s, m), wantedInOrder(ctx, s, m)
		err := errors.Join(bring(ctx, s, m, wants(todo)), cutOff)
		for _, i := range todo {
			errs[i] = t.verify(ctx, s, rs[i], err)
		}
		undone := stillInOrder(ctx, s, m, inOrder)
		if len(todo) > 1 {
			for _, i := range todo {
				if errs[i] != nil && ctx.Err() == nil {
					before := wantedInOrder(ctx, s, m)
					errs[i] = t.verify(ctx, s, rs[i], bring(ctx, s, m, wants([]int{i})))
					errs[i] = errors.Join(errs[i], stillInOrder(ctx, s, m, before))
				}
			}
		}
		for _, i := range todo {
			if errs[i] == nil {
				errs[i] = undone
			}
		}
	}
	for _, i := range indexes {
		if errs[i] != nil {
			errs[i] = packageError(wantPackage(rs[i]), errs[i])
		}
	}
}

func differsIn(parameter string, found []Difference) bool {
	return slices.ContainsFunc(found, func(d Difference) bool { return d.Parameter == parameter })
}

// bring makes a transaction of the wants that have the same install options, and sets the marks. What differs in its
// mark alone takes part in no transaction, which would install a newer version.
func bring(ctx context.Context, s *Session, m packageManager, wants []packageWant) error {
	var errs []error
	var options []string
	parts := map[string][]packageWant{}
	for _, w := range wants {
		state, err := m.state(ctx, s, w.name)
		if err == nil && w.mark != "" && w.ensure != "latest" &&
			!differsIn("ensure", comparePackage(w, state, "", m.matches)) {
			continue
		}
		if _, known := parts[w.options]; !known {
			options = append(options, w.options)
		}
		parts[w.options] = append(parts[w.options], w)
	}
	for _, o := range options {
		errs = append(errs, m.transact(ctx, s, parts[o]))
	}
	if marks, ok := m.(marker); ok {
		errs = append(errs, marks.mark(ctx, s, wants))
	}
	return errors.Join(errs...)
}

// wantedInOrder returns what resources want of a package manager and the node has.
func wantedInOrder(ctx context.Context, s *Session, m packageManager) []wantedPackage {
	return slices.DeleteFunc(wantedPackages(s, m), func(w wantedPackage) bool {
		state, err := m.state(ctx, s, w.name)
		return err != nil || comparePackage(w.packageWant, state, "", m.matches) != nil
	})
}

// stillInOrder returns an error that names what resources want and the node had before a transaction, and has no
// longer.
func stillInOrder(ctx context.Context, s *Session, m packageManager, wanted []wantedPackage) (errs error) {
	for _, w := range wanted {
		state, err := m.state(ctx, s, w.name)
		if err == nil && comparePackage(w.packageWant, state, "", m.matches) != nil {
			err = w.contradicts("became " + state.String())
		}
		errs = errors.Join(errs, err)
	}
	return errs
}

// verify returns nil when r is as wanted, and else the transaction's error or, if it claimed success, what is still
// different. After an error, what came along must be in order, too, and a transaction that was cut off has not
// succeeded, whatever it has reached.
func (t packageType) verify(ctx context.Context, s *Session, r resource.Resource, transaction error) error {
	differences, err := t.Check(ctx, s, r)
	switch {
	case err != nil:
		return errors.Join(transaction, err)
	case len(differences) == 0 && transaction == nil:
		return nil
	case len(differences) == 0 && ctx.Err() == nil:
		return t.verifyCompanions(ctx, s, r, transaction)
	case transaction != nil:
		return transaction
	}
	d := differences[0]
	return fmt.Errorf("the package manager reported success, yet it is %s, not %s", d.Is, d.Should)
}

// widen forgets the companions that an undo was about to take away: they stay.
func (packageType) widen(
	_ context.Context, _ *Session, r resource.Resource, b *packageBefore,
) error { //nolint:unparam // a widener
	b.Leaving = nil
	b.marks(r)
	return nil
}

// marks notes which mark r gives.
func (b *packageBefore) marks(r resource.Resource) {
	switch r.Parameters.String("mark") {
	case "":
	case markManual:
		b.Manual = true
	default:
		b.Marked = true
	}
}

// release returns whether the package was held, or there only for others.
func (packageType) release(
	_ context.Context, _ *Session, r resource.Resource, b *packageBefore,
) (resource.Parameters, error) { //nolint:unparam // a releaser
	if r.Parameters.Has("mark") || !wantPackage(r).install() {
		return nil, nil
	}
	switch marked, manual := b.Marked, b.Manual; {
	case marked:
		b.Marked = false
		return resource.Parameters{"mark": packageState{held: b.Present && b.Held}.mark("")}, nil
	case manual:
		if b.Manual = false; b.Present && b.Auto {
			return resource.Parameters{"mark": markedAuto}, nil
		}
	}
	return nil, nil
}

// Resume completes the transaction that was cut off: the package itself may be in order, and those that came along are
// not.
func (packageType) Resume(
	ctx context.Context, s *Session, before json.RawMessage, undo bool,
) ([]Difference, error) {
	b, err := decode[*packageBefore](before)
	if err != nil {
		return nil, err
	}
	w := packageWant{name: b.Name}
	m, _, err := findManager(s, b.Provider)
	if err != nil {
		return nil, packageError(w, err)
	}
	var was string
	if r, ok := m.(restorer); ok && !undo {
		was, err = r.restore(ctx, s, *b)
	} else {
		was, err = m.finish(ctx, s)
	}
	if err == nil {
		err = companionsInOrder(ctx, s, m, *b)
	}
	if err != nil {
		return nil, packageError(w, err)
	}
	if was == "" {
		return nil, nil
	}
	return []Difference{{Parameter: "ensure", Is: "cut off: " + was, Should: "completed"}}, nil
}

// verifyCompanions returns the transaction's error when a package that it brought along is not in order.
func (packageType) verifyCompanions(ctx context.Context, s *Session, r resource.Resource, transaction error) error {
	m, _, err := managerOf(s, r)
	if err != nil || s.Ledger == nil {
		return err
	}
	e := s.Ledger.Entry(s.Site, r.ID())
	if e == nil {
		return nil
	}
	b, err := decode[*packageBefore](e.Before)
	if err != nil {
		return err
	}
	if err := companionsInOrder(ctx, s, m, *b); err != nil {
		return fmt.Errorf("%w: %w", err, transaction)
	}
	return nil
}

// companionsInOrder returns an error that names a package that came along with another one and is not completely
// installed. What came with others of the same transaction, and this one does not need, does not count.
func companionsInOrder(ctx context.Context, s *Session, m packageManager, b packageBefore) error {
	came := b.Came
	if _, is := m.(apt); is {
		db, err := readDpkg(s)
		if err != nil {
			return err
		}
		needed := db.needs(db.keyOf(b.Name))
		came = slices.DeleteFunc(slices.Clone(came), func(key string) bool { return !needed[key] })
	}
	for _, name := range came {
		state, err := m.state(ctx, s, name)
		if err != nil {
			return err
		}
		if state.trouble != "" {
			return fmt.Errorf("%s, which came along with it, is %s", name, state)
		}
	}
	return nil
}

func (packageType) there(ctx context.Context, s *Session, _ string, b *packageBefore) (bool, error) {
	m, _, err := findManager(s, b.Provider)
	if err != nil {
		return false, err
	}
	state, err := m.state(ctx, s, b.Name)
	return state.there(), err
}

// undo purges what slipway installed, with what came along and nothing else needs now. A package that was there before
// stays, in the version that it has by now; one that was there and was taken away comes back, in its former version if
// that can still be had.
func (packageType) undo(ctx context.Context, s *Session, _ string, b *packageBefore) error {
	w := packageWant{name: b.Name}
	m, _, err := findManager(s, b.Provider)
	if err != nil {
		return packageError(w, err)
	}
	if !b.Install && !b.Present && len(b.Went) == 0 {
		return nil // it was to be absent, and was
	}
	cutOff := finishOthers(ctx, s, m)
	if err := m.undo(ctx, s, *b); err != nil {
		return packageError(w, errors.Join(err, cutOff))
	}
	return nil
}

// packageFolders hold the configuration of the package managers: which repositories there are, and what is trusted.
var packageFolders = []string{"/etc/apt/", "/usr/share/keyrings/", "/etc/yum", "/etc/dnf/", "/etc/pki/", "/etc/apk/"}

// Overtakes reports whether installing a package cannot depend on another resource: all but plain files, settings and
// services may make the users, directories or repositories that the package finds.
func (packageType) Overtakes(other resource.Resource) bool {
	at := other.Parameters.String("path")
	switch other.Type {
	case "cron", "service", "sysctl":
		return true
	case "file":
		if at = schema.FilePath(other); schema.FileEnsure(other) != fileFile {
			return false
		}
	case "file_line", "ini_setting":
	default:
		return false
	}
	return !slices.ContainsFunc(packageFolders, func(folder string) bool { return strings.HasPrefix(at+"/", folder) })
}
