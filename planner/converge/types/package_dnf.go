package types

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// dnf is the package manager of Fedora and its kin. What is installed is read through rpm.
type dnf struct{ selfReliant }

// rpmPackage is one package that rpm knows.
type rpmPackage struct {
	name, epoch, version, release, arch string
}

// String is the version as Puppet writes it: epoch only where there is one.
func (p rpmPackage) String() string {
	v := p.version + "-" + p.release
	if p.epoch != "" && p.epoch != "0" {
		v = p.epoch + ":" + v
	}
	return v
}

const rpmFormat = `%{NAME}\t%|EPOCH?{%{EPOCH}}:{0}|\t%{VERSION}\t%{RELEASE}\t%{ARCH}\n`

// readRPM lists what is installed by name and by name.arch.
func readRPM(ctx context.Context, s *Session) (map[string][]rpmPackage, error) {
	return system.Remember(s.System, "rpm", func() (map[string][]rpmPackage, error) {
		c := system.Command{Argv: []string{"rpm", "-qa", "--queryformat", rpmFormat}}
		out, err := ask(ctx, s, c)
		if err != nil {
			return nil, err
		}
		if out.Status != 0 {
			return nil, toolError(c, out)
		}
		if len(out.Stdout) > 0 && out.Stdout[len(out.Stdout)-1] != '\n' {
			return nil, errors.New("rpm -qa printed more than can be read")
		}
		return parseRPM(string(out.Stdout)), nil
	})
}

func parseRPM(text string) map[string][]rpmPackage {
	all := map[string][]rpmPackage{}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 5 {
			continue
		}
		p := rpmPackage{f[0], f[1], f[2], f[3], f[4]}
		all[p.name] = append(all[p.name], p)
		all[p.name+"."+p.arch] = append(all[p.name+"."+p.arch], p)
	}
	return all
}

func (dnf) state(ctx context.Context, s *Session, name string) (packageState, error) {
	all, err := readRPM(ctx, s)
	if err != nil {
		return packageState{}, err
	}
	var state packageState
	for _, p := range all[name] {
		state.condition = conditionInstalled
		if v := p.String(); !slices.Contains(state.versions, v) {
			state.versions = append(state.versions, v)
		}
	}
	slices.Sort(state.versions)
	return state, nil
}

// matches takes a version with or without its epoch and its release, as Puppet does.
func (dnf) matches(is, should string) bool {
	epoch, rest, ok := strings.Cut(is, ":")
	if !ok {
		epoch, rest = "0", is
	}
	wantEpoch, wantRest, ok := strings.Cut(should, ":")
	if !ok {
		wantEpoch, wantRest = epoch, should
	}
	version := rest[:max(strings.LastIndexByte(rest, '-'), 0)]
	return epoch == wantEpoch && (rest == wantRest || version == wantRest)
}

// newest asks for updates: status 100 says that there are some. A package without one is at its newest.
func (dnf) newest(
	ctx context.Context, s *Session, names []string, options ...string,
) (map[string]string, error) {
	c := system.Command{Argv: slices.Concat([]string{"dnf", "-q", "check-update"}, options, []string{"--"}, names)}
	out, err := ask(ctx, s, c)
	if err != nil {
		return nil, err
	}
	if out.Status != 0 && out.Status != 100 {
		return nil, toolError(c, out)
	}
	all := parseCheckUpdate(string(out.Stdout))
	newest := map[string]string{}
	for _, name := range names {
		if v, ok := all[name]; ok {
			newest[name] = v
		}
	}
	return newest, nil
}

// parseCheckUpdate reads lines of `name.arch version repository`, up to the list of what is obsoleted.
func parseCheckUpdate(text string) map[string]string {
	newest := map[string]string{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Obsoleting") {
			break
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		dot := strings.LastIndexByte(f[0], '.')
		if dot <= 0 {
			continue
		}
		version := strings.TrimPrefix(f[1], "0:")
		newest[f[0]], newest[f[0][:dot]] = version, version
	}
	return newest
}

func dnfCommand(args ...string) system.Command {
	return system.Command{Argv: append([]string{"dnf", "-y", "-q"}, args...), Timeout: packageTimeout}
}

func (d dnf) transact(ctx context.Context, s *Session, wants []packageWant) error {
	var install, upgrade, remove, pinned []string
	for _, w := range wants {
		state, err := d.state(ctx, s, w.name)
		if err != nil {
			return err
		}
		switch {
		case !w.install():
			remove = append(remove, w.name)
		case w.version() != "":
			pinned = append(pinned, w.name+"-"+w.version())
		case w.ensure == "latest" && state.there():
			upgrade = append(upgrade, w.name)
		default:
			install = append(install, w.name)
		}
	}
	run := func(verb string, packages []string) error {
		if len(packages) == 0 {
			return nil
		}
		args := []string{verb}
		if verb != "remove" {
			args = append(args, wants[0].installOptions()...)
		}
		return d.run(ctx, s, args, packages)
	}
	removed, installed := run("remove", remove), run("install", append(install, pinned...))
	errs := []error{removed, installed, run("upgrade", upgrade)}
	if installed != nil {
		return errors.Join(errs...)
	}
	// install does not go back to an older version everywhere.
	for _, w := range wants {
		state, err := d.state(ctx, s, w.name)
		if err != nil {
			return err
		}
		is := func(v string) bool { return d.matches(v, w.version()) }
		if w.version() != "" && state.there() && !slices.ContainsFunc(state.versions, is) {
			errs = append(errs, run("downgrade", []string{w.name + "-" + w.version()}))
		}
	}
	return errors.Join(errs...)
}

// staleIndex lists what dnf prints when its index, which it keeps for two days, does not have what is wanted, or has
// what is no longer in the repository.
var staleIndex = []string{"Unable to find a match", "No match for argument", "Error downloading packages",
	"incorrect checksum"}

// run changes packages, and tries it once more with a new index where the old one may be the reason of the failure.
func (dnf) run(ctx context.Context, s *Session, args, packages []string) error {
	command := func(more ...string) system.Command {
		return dnfCommand(slices.Concat(args, more, []string{"--"}, packages)...)
	}
	err := mustRun(ctx, s, command())
	stale := func(text string) bool { return strings.Contains(err.Error(), text) }
	if err != nil && ctx.Err() == nil && slices.ContainsFunc(staleIndex, stale) {
		err = mustRun(ctx, s, command("--refresh"))
	}
	return err
}

// finish repeats the last transaction when that was cut off: dnf then does what was not done. Of the packages that are
// there already it has forgotten why, so those that came along are marked as such.
func (d dnf) finish(ctx context.Context, s *Session) (was string, err error) {
	info, err := ask(ctx, s, dnfCommand("history", "info", "last"))
	if err != nil {
		return "", err
	}
	if info.Status != 0 || !cutOff(string(info.Stdout)) { // there is no history yet
		return "", nil
	}
	err = mustRun(ctx, s, dnfCommand("history", "redo", "last"))
	if along := cameAlong(s, string(info.Stdout)); err == nil && len(along) > 0 {
		err = mustRun(ctx, s, dnfCommand(append([]string{"mark", "remove", "--"}, along...)...))
	}
	return "the last transaction of dnf", err
}

// cutOff reports whether a transaction was started and did not end: dnf 4 does not know what was installed at its end,
// dnf 5 says so.
func cutOff(info string) bool {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "End rpmdb":
			return strings.Trim(value, "* \n") == ""
		case "Status":
			return strings.TrimSpace(value) == "Started"
		}
	}
	return false
}

// cameAlong lists the packages that a transaction of dnf 4 installed and no resource in the ledger installs. It prints
// lines of `** Install name-epoch:version-release.arch repository`.
func cameAlong(s *Session, info string) (names []string) {
	if s.Ledger == nil {
		return nil
	}
	wanted := map[string]bool{}
	for _, e := range s.Ledger.Entries {
		if b, err := decode[*packageBefore](e.Before); e.Type == "package" && err == nil && b.Install {
			wanted[b.Name] = true
		}
	}
	for line := range strings.Lines(info) {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "**"))
		if len(f) != 3 || f[0] != "Install" {
			continue
		}
		parts := strings.Split(f[1], "-")
		name := strings.Join(parts[:max(len(parts)-2, 0)], "-")
		if arch := f[1][strings.LastIndexByte(f[1], '.')+1:]; name != "" && !wanted[name] && !wanted[name+"."+arch] {
			names = append(names, name+"."+arch)
		}
	}
	return names
}

func (d dnf) undo(ctx context.Context, s *Session, b packageBefore) error {
	state, err := d.state(ctx, s, b.Name)
	if err != nil {
		return err
	}
	switch {
	case b.Present && !b.Install && !state.there():
		// The former version, or if the repositories do not have it any more, the one that they have.
		if d.run(ctx, s, []string{"install"}, []string{b.Name + "-" + b.Version}) == nil {
			return nil
		}
		return d.run(ctx, s, []string{"install"}, []string{b.Name})
	case b.Present || !b.Install || !state.there():
		return nil
	}
	// What others by now depend on stays.
	out, err := ask(ctx, s, system.Command{Argv: []string{"rpm", "--erase", "--test", "--", b.Name}})
	if err != nil {
		return err
	}
	if out.Status != 0 && strings.Contains(out.Combined, "is needed by") {
		return nil
	}
	if err := mustRun(ctx, s, dnfCommand("remove", "--", b.Name)); err != nil {
		return err
	}
	if state, err = d.state(ctx, s, b.Name); err == nil && state.there() {
		err = fmt.Errorf("dnf reported success, yet it is still there in version %s", state)
	}
	return err
}
