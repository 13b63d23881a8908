package types

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// apk is Alpine's package manager. What is installed is read from its own database.
type apk struct{ selfReliant }

// apkDatabases are the places of the database: newer systems keep it below /usr.
var apkDatabases = []string{"/lib/apk/db/installed", "/usr/lib/apk/db/installed"}

// apkPackage is what the database says of one package.
type apkPackage struct {
	version string
	trouble string // why it does not count as installed
}

func readAPK(s *Session) (map[string]apkPackage, error) {
	return system.Remember(s.System, "apk", func() (map[string]apkPackage, error) {
		path, err := s.FirstThere(apkDatabases...)
		if err != nil {
			return nil, err
		}
		if path == "" {
			return nil, fmt.Errorf("%s: %w", apkDatabases[0], fs.ErrNotExist)
		}
		text, err := s.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return parseAPK(string(text)), nil
	})
}

// parseAPK reads the versions (`V:`) and marks (`f:`) of the packages (`P:`); an empty line ends a package.
func parseAPK(text string) map[string]apkPackage {
	all := map[string]apkPackage{}
	for block := range strings.SplitSeq(text, "\n\n") {
		name, p := "", apkPackage{}
		for line := range strings.SplitSeq(block, "\n") {
			switch key, value, _ := strings.Cut(line, ":"); key {
			case "P":
				name = value
			case "V":
				p.version = value
			case "f":
				if strings.Contains(value, "f") {
					p.trouble = "its files are incomplete"
				} else if strings.Contains(value, "s") {
					p.trouble = "its scripts failed"
				}
			}
		}
		if name != "" {
			all[name] = p
		}
	}
	return all
}

func (apk) state(_ context.Context, s *Session, name string) (packageState, error) {
	all, err := readAPK(s)
	if err != nil {
		return packageState{}, err
	}
	p, ok := all[name]
	switch {
	case !ok:
		return packageState{}, nil
	case p.trouble != "":
		return packageState{condition: conditionBroken, versions: []string{p.version}, trouble: p.trouble}, nil
	}
	return packageState{condition: conditionInstalled, versions: []string{p.version}}, nil
}

// matches takes a version with or without the revision of its package: `1.2` for `1.2-r3`.
func (apk) matches(is, should string) bool {
	return is == should || strings.HasPrefix(is, should+"-r")
}

func apkCommand(args ...string) system.Command {
	return system.Command{Argv: append([]string{"apk", "--no-progress", "--wait", "120"}, args...), Timeout: packageTimeout}
}

func (apk) newest(ctx context.Context, s *Session, names []string, _ ...string) (map[string]string, error) {
	c := apkCommand(append([]string{"version", "-l", "<", "--"}, names...)...)
	out, err := ask(ctx, s, c)
	if err != nil {
		return nil, err
	}
	if out.Status != 0 {
		return nil, toolError(c, out)
	}
	return parseAPKVersion(string(out.Stdout), names), nil
}

// parseAPKVersion reads lines of `name-1.0-r0 < 1.1-r0`. A package without such a line is at its newest.
func parseAPKVersion(text string, names []string) map[string]string {
	newest := map[string]string{}
	for line := range strings.Lines(text) {
		is, available, ok := strings.Cut(line, " < ")
		available, _, _ = strings.Cut(strings.TrimSpace(available), " ")
		parts := strings.Split(strings.TrimSpace(is), "-") // name, version, revision
		if !ok || available == "" || len(parts) < 3 {
			continue
		}
		if name := strings.Join(parts[:len(parts)-2], "-"); slices.Contains(names, name) {
			newest[name] = available
		}
	}
	return newest
}

func (a apk) transact(ctx context.Context, s *Session, wants []packageWant) error {
	var add, upgrade, del, fix []string
	for _, w := range wants {
		state, err := a.state(ctx, s, w.name)
		if err != nil {
			return err
		}
		switch {
		case !w.install():
			del = append(del, w.name)
		case state.trouble != "" && w.ensure == "installed":
			fix = append(fix, w.name) // add takes what is there for done
		case w.ensure == "latest":
			upgrade = append(upgrade, w.name)
		case w.version() != "" && !strings.Contains(w.version(), "-r"):
			add = append(add, w.name+"~"+w.version())
		case w.version() != "":
			add = append(add, w.name+"="+w.version())
		default:
			add = append(add, w.name)
		}
	}
	run := func(packages []string, verb ...string) error {
		if len(packages) == 0 {
			return nil
		}
		if verb[0] == "add" {
			return a.add(ctx, s, slices.Concat(verb, wants[0].installOptions(), []string{"--"}, packages))
		}
		return mustRun(ctx, s, apkCommand(slices.Concat(verb, []string{"--"}, packages)...))
	}
	return errors.Join(run(del, "del", "--purge"), run(fix, "fix"), run(add, "add"), run(upgrade, "add", "--upgrade"))
}

// add runs a command that installs, and once more after a refresh of the index when that lacks something.
func (apk) add(ctx context.Context, s *Session, args []string) error {
	c := apkCommand(args...)
	started := time.Now()
	out, err := s.Run(ctx, c)
	s.Forget()
	if err != nil {
		return lockError(s, err, out, started)
	}
	if out.Status == 0 {
		return nil
	}
	lacks := func(text string) bool { return strings.Contains(out.Combined, text) }
	if !lacks("unable to select packages") && !lacks("unsatisfiable constraints") {
		return lockError(s, toolError(c, out), out, started)
	}
	fresh, err := system.Remember(s.System, "apk.fresh", func() (*bool, error) { return new(bool), nil })
	if err != nil {
		return err
	}
	if *fresh {
		return toolError(c, out)
	}
	if err := mustRun(ctx, s, apkCommand("update")); err != nil {
		return err
	}
	if fresh, err = system.Remember(s.System, "apk.fresh", func() (*bool, error) { return new(bool), nil }); err != nil {
		return err
	}
	*fresh = true
	return mustRun(ctx, s, c)
}

// finish repairs the packages that apk has marked as broken. It writes its database at the end of a transaction only,
// so one that was cut off has left nothing else: what it was to bring is not there, and what it was to remove is.
func (a apk) finish(ctx context.Context, s *Session) (was string, err error) {
	all, err := readAPK(s)
	if err != nil {
		return "", err
	}
	var broken []string
	for name, p := range all {
		if p.trouble != "" {
			broken = append(broken, name)
		}
	}
	if len(broken) == 0 {
		return "", nil
	}
	slices.Sort(broken)
	return strings.Join(broken, ", "), mustRun(ctx, s, apkCommand(append([]string{"fix", "--"}, broken...)...))
}

// undo relies on apk's own rule: `del` withdraws the request for a package, and what nothing asks for any more goes,
// companions included. What others need stays.
func (a apk) undo(ctx context.Context, s *Session, b packageBefore) error {
	state, err := a.state(ctx, s, b.Name)
	if err != nil {
		return err
	}
	switch {
	case b.Present && !b.Install && !state.there():
		if b.Version != "" && mustRun(ctx, s, apkCommand("add", "--", b.Name+"="+b.Version)) == nil {
			// The request keeps the package, not its version.
			return mustRun(ctx, s, apkCommand("add", "--", b.Name))
		}
		return a.add(ctx, s, []string{"add", "--", b.Name})
	case b.Present || !b.Install || !state.there():
		return nil
	}
	return mustRun(ctx, s, apkCommand("del", "--purge", "--", b.Name))
}
