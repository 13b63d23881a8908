package types

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// language is the package manager of a programming language: gem, pip or npm. It installs for all users of the node,
// beside the node's own packages. What comes along with a package stays when that goes.
type language struct {
	selfReliant
	provider string
	paths    []string // where its program is; the first that is there counts
	brings   string   // the package of the node that has the program
	list     []string
	parse    func(printed []byte) (map[string][]string, error) // versions by name
	latest   func(name string) []string                        // asks for the newest version
	newestOf func(name, printed string) string
	add      []string // installs
	argument func(name, version string) []string
	upgrade  []string // what add needs besides for a newer version than the one that is there
	remove   []string
	env      []string
}

// languages is the table of these package managers.
var languages = []*language{
	{
		provider: "gem", paths: []string{"/usr/bin/gem", "/usr/local/bin/gem"}, brings: "ruby",
		list: []string{"list", "--local"}, parse: parseGems,
		latest: func(name string) []string { return []string{"list", "--remote", "--exact", name} },
		newestOf: func(name, printed string) string {
			gems, _ := parseGems([]byte(printed))
			if len(gems[name]) == 0 {
				return ""
			}
			return gems[name][len(gems[name])-1]
		},
		add: []string{"install", "--no-document"}, remove: []string{"uninstall", "--all", "--executables"},
		argument: func(name, version string) []string {
			if version != "" {
				return []string{"--version", version, name}
			}
			return []string{name}
		},
	},
	{
		provider: "pip", paths: []string{"/usr/bin/pip3", "/usr/local/bin/pip3", "/usr/bin/pip", "/usr/local/bin/pip"},
		brings: "python3-pip",
		list:   []string{"list", "--format=json", "--disable-pip-version-check"}, parse: parsePips,
		latest: func(name string) []string { return []string{"index", "versions", "--disable-pip-version-check", name} },
		newestOf: func(_, printed string) string { // `name (version)` comes first
			_, rest, _ := strings.Cut(printed, " (")
			version, _, _ := strings.Cut(rest, ")")
			return version
		},
		add: []string{"install", "--quiet", "--disable-pip-version-check"}, upgrade: []string{"--upgrade"},
		remove: []string{"uninstall", "--yes", "--quiet", "--disable-pip-version-check"},
		argument: func(name, version string) []string {
			if version != "" {
				return []string{name + "==" + version}
			}
			return []string{name}
		},
		// What pip installed it may remove, also where the node's own packages include some of Python's.
		env: []string{"PIP_BREAK_SYSTEM_PACKAGES=1"},
	},
	{
		provider: "npm", paths: []string{"/usr/bin/npm", "/usr/local/bin/npm"}, brings: "npm",
		list: []string{"list", "--global", "--depth=0", "--json"}, parse: parseNPM,
		latest:   func(name string) []string { return []string{"view", name, "version"} },
		newestOf: func(_, printed string) string { return strings.TrimSpace(printed) },
		add:      []string{"install", "--global", "--no-fund", "--no-audit"}, remove: []string{"uninstall", "--global"},
		argument: func(name, version string) []string {
			if version == "" {
				version = "latest"
			}
			return []string{name + "@" + version}
		},
	},
}

// parseGems reads lines of `name (1.2.0, default: 1.1.0)`, in which the newest version comes first. It returns it last.
func parseGems(printed []byte) (map[string][]string, error) {
	gems := map[string][]string{}
	for line := range strings.Lines(string(printed)) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), " (")
		if !ok {
			continue
		}
		for v := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ", ") {
			v, _, _ = strings.Cut(strings.TrimPrefix(v, "default: "), " ") // a platform may follow
			gems[name] = slices.Insert(gems[name], 0, v)
		}
	}
	return gems, nil
}

func parsePips(printed []byte) (map[string][]string, error) {
	var list []struct{ Name, Version string }
	err := json.Unmarshal(printed, &list)
	pips := map[string][]string{}
	for _, p := range list {
		pips[pipName(p.Name)] = []string{p.Version}
	}
	return pips, err
}

// pipName is the one form of a name: pip knows no case, and no difference between -, _ and a dot.
func pipName(name string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
}

func parseNPM(printed []byte) (map[string][]string, error) {
	var tree struct {
		Dependencies map[string]struct{ Version string }
	}
	err := json.Unmarshal(printed, &tree)
	out := map[string][]string{}
	for name, d := range tree.Dependencies {
		if d.Version != "" { // else it is missing, and something needs it
			out[name] = []string{d.Version}
		}
	}
	return out, err
}

// command returns a command of the manager's program, and an error where the node does not have it.
func (l *language) command(s *Session, args ...string) (system.Command, error) {
	program, err := s.FirstThere(l.paths...)
	if err == nil && program == "" {
		err = fmt.Errorf("the node does not have %s; install it first (package[%s]) and require that", l.provider, l.brings)
	}
	return system.Command{Argv: append([]string{program}, args...), Env: l.env, Timeout: packageTimeout}, err
}

// installed lists what is there. Without its program nothing is.
func (l *language) installed(ctx context.Context, s *Session) (map[string][]string, error) {
	return system.Remember(s.System, "package.list."+l.provider, func() (map[string][]string, error) {
		if program, err := s.FirstThere(l.paths...); err != nil || program == "" {
			return nil, err
		}
		c, err := l.command(s, l.list...)
		if err != nil {
			return nil, err
		}
		out, err := ask(ctx, s, c)
		if err != nil {
			return nil, err
		}
		// npm also ends with another status when a package lacks one that it needs.
		list, err := l.parse(out.Stdout)
		if err != nil || out.Status != 0 && len(list) == 0 {
			return nil, toolError(c, out)
		}
		return list, nil
	})
}

func (l *language) state(ctx context.Context, s *Session, name string) (packageState, error) {
	list, err := l.installed(ctx, s)
	if l.provider == "pip" {
		name = pipName(name)
	}
	if len(list[name]) == 0 {
		return packageState{}, err
	}
	return packageState{condition: conditionInstalled, versions: list[name]}, err
}

// known reports that the program is missing.
func (l *language) known(_ context.Context, s *Session, wants []packageWant) []error {
	errs := make([]error, len(wants))
	for i, w := range wants {
		if w.install() {
			_, errs[i] = l.command(s)
		}
	}
	return errs
}

func (*language) matches(is, should string) bool { return is == should }

func (l *language) newest(
	ctx context.Context, s *Session, names []string, options ...string,
) (map[string]string, error) {
	newest := map[string]string{}
	for _, name := range names {
		c, err := l.command(s, append(l.latest(name), options...)...)
		if err != nil {
			return nil, err
		}
		out, err := ask(ctx, s, c)
		if err != nil {
			return nil, err
		}
		if out.Status != 0 {
			return nil, toolError(c, out)
		}
		if v := l.newestOf(name, string(out.Stdout)); v != "" {
			newest[name] = v
		}
	}
	return newest, nil
}

func (l *language) transact(ctx context.Context, s *Session, wants []packageWant) error {
	var errs []error
	for _, w := range wants {
		args := append(append([]string{}, l.add...), w.installOptions()...)
		if w.ensure == "latest" {
			args = append(args, l.upgrade...)
		}
		args = append(args, l.argument(w.name, w.version())...)
		if !w.install() {
			args = append(append([]string{}, l.remove...), w.name)
		}
		errs = append(errs, l.run(ctx, s, !w.install(), args...))
	}
	return errors.Join(errs...)
}

// run runs a command that changes what is installed. Only what removes has the manager's own environment.
func (l *language) run(ctx context.Context, s *Session, removes bool, args ...string) error {
	c, err := l.command(s, args...)
	if err != nil {
		return err
	}
	if !removes {
		c.Env = nil
	}
	return mustRun(ctx, s, c)
}

// finish has nothing to do: a manager of a language installs again what it has half installed.
func (*language) finish(context.Context, *Session) (was string, err error) { return "", nil }

func (l *language) undo(ctx context.Context, s *Session, b packageBefore) error {
	state, err := l.state(ctx, s, b.Name)
	if err != nil {
		return err
	}
	switch {
	case b.Present && !b.Install && !state.there():
		return l.run(ctx, s, false, append(append([]string{}, l.add...), l.argument(b.Name, b.Version)...)...)
	case b.Present || !b.Install || !state.there():
		return nil
	}
	return l.run(ctx, s, true, append(append([]string{}, l.remove...), b.Name)...)
}
