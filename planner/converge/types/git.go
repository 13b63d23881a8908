package types

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// repository is a clone, or the place of one, as git sees it.
type repository struct {
	*Session
	git, at, user string
	local         bool // its source is on the node
	uid           int  // of user
	login         *login
}

// login is what git answers to the server of a source that asks who it is.
type login struct{ server, username, password string }

// loginOf returns what r says of that, nil where that is nothing.
func loginOf(r resource.Resource) *login {
	p := r.Parameters
	if !p.Has("basic_auth_password") {
		return nil
	}
	scheme, rest, _ := strings.Cut(p.String("source"), "://")
	host, _, _ := strings.Cut(rest, "/")
	return &login{scheme + "://" + host, p.String("basic_auth_username"), p.String("basic_auth_password")}
}

// The variables of a git that logs in: its arguments have their names only.
const (
	loginName     = "SLIPWAY_GIT_USERNAME"
	loginPassword = "SLIPWAY_GIT_PASSWORD"
)

// arguments has git ask its environment, and nothing else, for the name and password for the server.
func (l *login) arguments() []string {
	helper := "credential." + l.server + ".helper="
	return []string{"-c", helper, "-c", helper + `!f() { test "$1" = get || return 0; ` +
		`printf 'username=%s\n' "$` + loginName + `"; printf 'password=%s\n' "$` + loginPassword + `"; }; f`}
}

// openRepository finds git and the user as whom it runs. missing says which of the two the node does not have.
func openRepository(s *Session, at, user, source string) (g repository, missing, err error) {
	g = repository{Session: s, at: at, user: user, local: path.IsAbs(source), uid: os.Geteuid()}
	if g.git, err = s.Program("git"); err != nil {
		return g, nil, err
	}
	if g.git == "" {
		return g, errors.New("the node does not have git; install it first (package[git]), and require that"), nil
	}
	if user == "" {
		return g, nil, nil
	}
	id, known, err := s.LookupUser(user)
	if err == nil && !known {
		missing = fmt.Errorf("user %q: no such user on the node; make it first, with require", user)
	}
	g.uid = id
	return g, missing, err
}

// command returns a command of git. It asks nothing, looks at no repository above the path, and takes no protocol that
// runs programs.
func (g repository) command(args ...string) system.Command {
	protocols := "https:http:ssh:git"
	if g.local {
		protocols += ":file"
	}
	c := system.Command{
		Argv: []string{g.git, "-C", g.at}, User: g.user, Timeout: packageTimeout,
		Env: []string{
			"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=" + protocols,
			"GIT_CEILING_DIRECTORIES=" + path.Dir(g.at),
		},
	}
	if g.login != nil {
		c.Argv = append(c.Argv, g.login.arguments()...)
		c.Env = append(c.Env, loginName+"="+g.login.username, loginPassword+"="+g.login.password)
	}
	c.Argv = append(c.Argv, args...)
	return c
}

// run runs git.
func (g repository) run(ctx context.Context, args ...string) error {
	c := g.command(args...)
	out, err := g.Run(ctx, c)
	if err == nil && out.Status != 0 {
		err = gitError(args, out)
	}
	return err
}

// ask runs git for its answer; ok is false when it ends with another status than 0.
func (g repository) ask(ctx context.Context, args ...string) (answer string, ok bool, err error) {
	out, err := ask(ctx, g.Session, g.command(args...))
	return strings.TrimRight(string(out.Stdout), "\n"), err == nil && out.Status == 0, err
}

// must is ask where another status is an error.
func (g repository) must(ctx context.Context, args ...string) (string, error) {
	c := g.command(args...)
	out, err := ask(ctx, g.Session, c)
	if err == nil && out.Status != 0 {
		err = gitError(args, out)
	}
	return string(out.Stdout), err
}

// gitError describes a git that failed by the first reason that it gave.
func gitError(args []string, out system.Output) error {
	last, reason := "it printed nothing", ""
	for line := range strings.Lines(system.Overwritten.Replace(out.Combined)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if reason == "" && (strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ")) {
			if reason = line; last != "it printed nothing" && strings.Contains(line, "Could not read from remote") {
				reason = last + "; " + line // ssh said why
			}
		}
		last = line
	}
	if reason == "" {
		reason = last
	}
	return fmt.Errorf("git %s ended with status %d: %s", args[0], out.Status, reason)
}

// state returns what is at the path.
func (g repository) state(ctx context.Context) (vcsState, error) {
	kind, info, err := look(g.Session, g.at)
	if err != nil || kind == fileAbsent {
		return vcsState{Kind: kind}, err
	}
	if kind != fileDirectory {
		return vcsState{Kind: kind}, nil
	}
	names, err := g.ReadDir(g.at)
	has := func(name string) bool { return slices.Contains(names, name) }
	st := vcsState{Kind: vcsPresent}
	switch {
	case err != nil:
		return st, err
	case len(names) == 0:
		return vcsState{Kind: vcsEmpty}, nil
	case has(".git"):
	case has("HEAD") && has("objects") && has("refs"):
		st.Kind = vcsBare
	default:
		return vcsState{Kind: kind}, nil
	}
	if info.UID != g.uid {
		users, err := g.Users()
		owner := namesOf(users, func(u system.User) int { return u.UID })[info.UID]
		return st, errors.Join(err, fmt.Errorf("%s is a clone that belongs to %q (%d), and git would run as another user; "+
			"give owner = %q, or remove the clone", g.at, owner, info.UID, owner))
	}
	commit, ok, err := g.ask(ctx, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	if err != nil {
		return st, err
	}
	index := true
	if kind, _, err := look(g.Session, g.at+"/.git"); err != nil {
		return st, err
	} else if kind == fileDirectory { // a file is of others, who have it elsewhere
		if index, err = g.Exists(g.at + "/.git/index"); err != nil {
			return st, err
		}
	}
	if !ok || !index {
		return vcsState{Kind: vcsIncomplete}, nil
	}
	st.Commit = commit
	if st.Branch, _, err = g.ask(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); err != nil {
		return st, err
	}
	st.Source, _, err = g.ask(ctx, "config", "--get", "remote.origin.url")
	return st, err
}

// changes lists the files that differ from what the clone has.
func (g repository) changes(ctx context.Context) (names []string, err error) {
	out, err := g.must(ctx, "status", "--porcelain", "-z", "--untracked-files=no")
	fields := strings.Split(out, "\x00")
	for i := 0; i < len(fields); i++ {
		if len(fields[i]) < 4 {
			continue
		}
		names = append(names, fields[i][3:])
		if fields[i][0] == 'R' || fields[i][0] == 'C' {
			i++ // the name it had
		}
	}
	return names, err
}

// short returns a branch, or else the start of a commit.
func (st vcsState) short() string {
	if st.Branch != "" {
		return st.Branch
	}
	return shortCommit(st.Commit)
}

func shortCommit(commit string) string { return commit[:min(12, len(commit))] }

// isCommit reports whether a revision may be a commit, or the start of one.
func isCommit(revision string) bool {
	return len(revision) >= 7 && strings.Trim(revision, "0123456789abcdef") == ""
}

// remote returns the commit that a revision is at the source, and its name there; empty when it has neither a branch
// nor a tag of that name. Without a revision it is the branch that HEAD is.
func (g repository) remote(ctx context.Context, source, revision string) (ref, commit string, err error) {
	if revision == "" {
		out, err := g.must(ctx, "ls-remote", "--symref", "--", source, "HEAD")
		if err != nil {
			return "", "", err
		}
		head, _, _ := strings.Cut(strings.TrimPrefix(out, "ref: "), "\t")
		if !strings.HasPrefix(head, "refs/heads/") {
			return "", "", fmt.Errorf("HEAD of %s is no branch; give revision", source)
		}
		revision = strings.TrimPrefix(head, "refs/heads/")
	}
	out, err := g.must(ctx, "ls-remote", "--", source, "refs/heads/"+revision, "refs/tags/"+revision,
		"refs/tags/"+revision+"^{}")
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		refs[name] = id
	}
	branch, tag := "refs/heads/"+revision, "refs/tags/"+revision
	switch {
	case refs[branch] != "":
		return branch, refs[branch], err
	case refs[tag+"^{}"] != "":
		return tag, refs[tag+"^{}"], err
	case refs[tag] != "":
		return tag, refs[tag], err
	}
	return "", "", err
}

// submodules lists the submodules that are missing or at another commit than the clone says.
func (g repository) submodules(ctx context.Context, r resource.Resource) (names []string, err error) {
	some, err := g.Exists(g.at + "/.gitmodules")
	if err != nil || !some || !r.Parameters.BoolOr("submodules", true) {
		return nil, err
	}
	out, err := g.must(ctx, "submodule", "status", "--recursive")
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); line[0] != ' ' && len(fields) > 1 &&
			(line[0] == '-' || !r.Parameters.Bool("keep_local_changes")) {
			names = append(names, fields[1])
		}
	}
	return names, err
}
