package types

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// apt is the package manager of Debian and its kin. What is installed is read from dpkg's own database.
type apt struct{}

// aptGet is a transaction without questions: configuration files that were changed by hand stay, and another
// transaction on the node is waited for.
func aptGet(args ...string) system.Command {
	return system.Command{
		Argv: append([]string{"apt-get", "-y", "-q", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Use-Pty=0",
			"-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"}, args...),
		Env:     []string{"DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none"},
		Timeout: packageTimeout,
	}
}

func (apt) state(_ context.Context, s *Session, name string) (packageState, error) {
	db, err := readDpkg(s)
	if err != nil {
		return packageState{}, err
	}
	return db.state(name), nil
}

func (apt) matches(is, should string) bool { return is == should }

func (apt) newest(
	ctx context.Context, s *Session, names []string, options ...string,
) (map[string]string, error) {
	policies, err := aptPolicies(ctx, s, names, aptReleases(options)...)
	if err != nil {
		return nil, err
	}
	newest := map[string]string{}
	for name, p := range policies {
		if p.candidate != "" {
			newest[name] = p.candidate
		}
	}
	return newest, nil
}

// aptReleases returns the install options that apt-cache knows, too: those that say which version is the candidate.
func aptReleases(options []string) (out []string) {
	for i := 0; i < len(options); i++ {
		switch name, _, whole := strings.Cut(options[i], "="); name {
		case "-t", "--target-release", "--default-release", "-o", "--option":
			if out = append(out, options[i]); !whole && i+1 < len(options) {
				i++
				out = append(out, options[i])
			}
		}
	}
	return out
}

// aptPolicy is what the index has of one package.
type aptPolicy struct {
	candidate string // empty when there is none, as for a virtual package
	versions  []string
}

// aptPolicies asks `apt-cache policy`; a name that the index does not know is left out.
func aptPolicies(
	ctx context.Context, s *Session, names []string, options ...string,
) (map[string]aptPolicy, error) {
	c := system.Command{Argv: slices.Concat([]string{"apt-cache", "policy"}, options, []string{"--"}, names)}
	out, err := ask(ctx, s, c)
	if err != nil {
		return nil, err
	}
	if out.Status != 0 {
		return nil, toolError(c, out)
	}
	db, err := readDpkg(s)
	if err != nil {
		return nil, err
	}
	parsed := parseAptPolicy(string(out.Stdout))
	policies := map[string]aptPolicy{}
	for _, name := range names {
		// apt leaves the node's own architecture out.
		bare, arch, _ := strings.Cut(name, ":")
		for _, key := range []string{name, db.key(bare, arch)} {
			if p, ok := parsed[key]; ok {
				policies[name] = p
			}
		}
	}
	return policies, nil
}

func parseAptPolicy(text string) map[string]aptPolicy {
	policies := map[string]aptPolicy{}
	name, inTable := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		p := policies[name]
		switch {
		case line == "":
			continue
		case line[0] != ' ':
			name, inTable = strings.TrimSuffix(trimmed, ":"), false
			p = aptPolicy{}
		case strings.HasPrefix(trimmed, "Candidate: "):
			if p.candidate = strings.TrimPrefix(trimmed, "Candidate: "); p.candidate == "(none)" {
				p.candidate = ""
			}
		case trimmed == "Version table:":
			inTable = true
		case inTable && (strings.HasPrefix(line, " *** ") || strings.HasPrefix(line, "     ") && line[5] != ' '):
			p.versions = append(p.versions, strings.Fields(line[5:])[0])
		}
		policies[name] = p
	}
	return policies
}

// able returns the arguments of apt of the packages that a simulation was able to install, until something changes the
// node.
func able(s *Session) (map[string]bool, error) {
	return system.Remember(s.System, "apt.able", func() (map[string]bool, error) { return map[string]bool{}, nil })
}

// known asks the index, and refreshes it when it lacks something, once until something changes the node: a repository
// added in between needs another look.
func (apt) known(ctx context.Context, s *Session, wants []packageWant) []error {
	fail := func(err error) []error { return slices.Repeat([]error{err}, len(wants)) }
	fresh, err := system.Remember(s.System, "apt.fresh", func() (*bool, error) { return new(bool), nil })
	if err != nil {
		return fail(err)
	}
	for {
		errs, err := aptMissing(ctx, s, wants, *fresh)
		if err != nil {
			return fail(err)
		}
		if *fresh || !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
			return errs
		}
		if err := aptUpdate(ctx, s); err != nil {
			return fail(err)
		}
		*fresh = true
	}
}

// aptMissing returns the wants that the index cannot fulfil. A package that is to go, or is there in the version
// wanted, needs no index.
func aptMissing(ctx context.Context, s *Session, wants []packageWant, fresh bool) ([]error, error) {
	errs := make([]error, len(wants))
	db, err := readDpkg(s)
	if err != nil {
		return nil, err
	}
	sure, err := able(s)
	if err != nil {
		return nil, err
	}
	var ask []string
	for _, w := range wants {
		if w.install() && !sure[w.argument()] {
			ask = append(ask, w.name)
		}
	}
	if len(ask) == 0 {
		return errs, nil
	}
	question := fmt.Sprintf("apt.policies %t %s", fresh, strings.Join(ask, " "))
	policies, err := system.Remember(s.System, question, func() (map[string]aptPolicy, error) {
		return aptPolicies(ctx, s, ask)
	})
	if err != nil {
		return nil, err
	}
	for i, w := range wants {
		p := policies[w.name]
		switch {
		case !w.install() || sure[w.argument()]:
		case p.candidate == "" && db.state(w.name).condition != conditionInstalled:
			errs[i] = errors.New("the node's package index has no such package; " +
				"check the name and the node's repositories (a virtual package cannot be asked for: name one that provides it)")
		case w.version() != "" && !slices.Contains(p.versions, w.version()):
			errs[i] = fmt.Errorf("the node's package index has no version %s, but %s",
				w.version(), strings.Join(p.versions, ", "))
		}
	}
	return errs, nil
}

// aptUpdate refreshes the index, with options. Its lock is the one that apt does not wait for by itself.
func aptUpdate(ctx context.Context, s *Session, options ...string) error {
	return runUnlocked(ctx, s, aptGet(append([]string{"update"}, options...)...), "Could not get lock")
}

// runUnlocked runs a command that does not wait for a lock by itself, for up to two minutes again while it prints that
// another process has the lock.
func runUnlocked(ctx context.Context, s *Session, c system.Command, locked string) error {
	started := time.Now()
	for {
		out, err := s.Run(ctx, c)
		if err == nil && out.Status == 0 {
			return nil
		}
		if err == nil {
			err = toolError(c, out)
			if strings.Contains(out.Combined, locked) && time.Since(started) <= 120*time.Second {
				if err = pause(ctx, 2*time.Second); err == nil {
					continue
				}
			}
		}
		return lockError(s, err, out, started)
	}
}

// pause waits, or returns the error of ctx when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a apt) transact(ctx context.Context, s *Session, wants []packageWant) error {
	if _, err := a.finish(ctx, s); err != nil {
		return err
	}
	db, err := readDpkg(s)
	if err != nil {
		return err
	}
	var held, both, purge []string
	pinned := false
	for _, w := range wants {
		if key, p := db.find(w.name); p.held {
			held = append(held, key)
		}
		switch w.ensure {
		case "purged":
			purge = append(purge, w.name)
		case "absent":
			both = append(both, w.name+"-") // apt: remove it in the same transaction
		default:
			both = append(both, w.argument())
			pinned = pinned || w.version() != ""
		}
	}
	if len(held) > 0 {
		if err := mustRun(ctx, s, system.Command{Argv: append([]string{"apt-mark", "unhold", "--"}, held...)}); err != nil {
			return err
		}
	}
	// A purge that fails must not keep the others from being tried, nor the other way round.
	var errInstall, errPurge error
	if len(both) > 0 {
		args := []string{"install"}
		if pinned {
			args = append(args, "--allow-downgrades")
		}
		args = append(args, wants[0].installOptions()...)
		errInstall = mustRun(ctx, s, aptGet(append(append(args, "--"), both...)...))
	}
	if len(purge) > 0 {
		errPurge = aptPurge(ctx, s, purge)
	}
	return errors.Join(errInstall, errPurge)
}

func (apt) auto(s *Session, name string) (bool, error) {
	db, err := readDpkg(s)
	if err != nil {
		return false, err
	}
	auto, err := readAuto(s, db)
	key, p := db.find(name)
	return auto[key] && p.condition == conditionInstalled, err
}

func (apt) mark(ctx context.Context, s *Session, wants []packageWant) error {
	db, err := readDpkg(s)
	if err != nil {
		return err
	}
	var auto map[string]bool
	if slices.ContainsFunc(wants, func(w packageWant) bool { return w.mark == markManual || w.mark == markedAuto }) {
		if auto, err = readAuto(s, db); err != nil {
			return err
		}
	}
	var errs []error
	for _, m := range []struct{ mark, is, verb string }{
		{"none", "hold", "unhold"}, {"hold", "none", "hold"}, {markManual, markedAuto, "manual"}, {markedAuto, markManual, "auto"},
	} {
		var keys []string
		for _, w := range wants {
			key, p := db.find(w.name)
			state := packageState{held: p.held, auto: auto[key]}
			if w.mark == m.mark && p.condition == conditionInstalled && state.mark(w.mark) == m.is {
				keys = append(keys, key)
			}
		}
		if len(keys) > 0 {
			errs = append(errs, mustRun(ctx, s, system.Command{Argv: append([]string{"apt-mark", m.verb, "--"}, keys...)}))
		}
	}
	return errors.Join(errs...)
}

// aptPurge purges packages, and once more those of which apt leaves the configuration files: they were half removed.
func aptPurge(ctx context.Context, s *Session, names []string) error {
	for range 2 {
		if err := mustRun(ctx, s, aptGet(append([]string{"purge", "--"}, names...)...)); err != nil {
			return err
		}
		db, err := readDpkg(s)
		if err != nil {
			return err
		}
		left := func(name string) bool { return db.state(name).condition == conditionConffiles }
		if names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !left(n) }); len(names) == 0 {
			break
		}
	}
	return nil
}

// finish configures what an interrupted dpkg left, and runs the triggers: apt refuses to work before, or takes no
// notice.
func (apt) finish(ctx context.Context, s *Session) (was string, err error) {
	db, err := readDpkg(s)
	if err != nil {
		return "", err
	}
	pending, err := pendingUpdates(s)
	if err != nil {
		return "", err
	}
	was = strings.Join(db.unfinished(), ", ")
	if was == "" && len(pending) > 0 {
		was = "dpkg's own records"
	}
	if was == "" {
		return "", nil
	}
	c := aptGet()
	c.Argv = []string{"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"}
	failure := runUnlocked(ctx, s, c, "locked by another process")
	s.Forget()
	if pending, err = pendingUpdates(s); err != nil || len(pending) > 0 || ctx.Err() != nil {
		return "", errors.Join(failure, err)
	}
	return was, nil
}

// simulate asks apt what it would do; nothing is changed. Holds do not count: transact lifts them first.
func simulate(ctx context.Context, s *Session, args ...string) (aptPlan, error) {
	c := aptGet(append([]string{"-s", "--allow-change-held-packages"}, args...)...)
	out, err := ask(ctx, s, c)
	if err != nil {
		return aptPlan{}, err
	}
	if out.Status != 0 {
		return aptPlan{}, toolError(c, out)
	}
	return parseAptPlan(string(out.Stdout)), nil
}
