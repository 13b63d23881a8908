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
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// vcsType manages a clone of a git repository.
type vcsType struct {
	recorded[vcsType, *vcsBefore]
}

func (vcsType) Schema() resource.Schema { return schema.Vcsrepo() }

// What can be at the path of a clone, besides what fileType knows.
const (
	vcsPresent    = "present" // a clone with a work tree
	vcsBare       = "bare"
	vcsIncomplete = "incomplete" // a clone that was cut off
	vcsEmpty      = "empty directory"
)

// vcsState is what is at the path of a clone.
type vcsState struct {
	Kind   string `json:"kind"`
	Source string `json:"source,omitempty"`
	Branch string `json:"branch,omitempty"` // empty where none is checked out
	Commit string `json:"commit,omitempty"`
}

// vcsBefore is what was at the path before slipway touched it.
type vcsBefore struct {
	Path string `json:"path"`
	User string `json:"user,omitempty"` // as whom git runs
	vcsState
	Dir *fileBefore `json:"dir,omitempty"` // who owned the clone that was there
}

// check is called by decode.
func (b vcsBefore) check() error {
	if b.Dir != nil {
		return errors.Join(schema.CheckAbsolute(b.Path), b.Dir.check())
	}
	return schema.CheckAbsolute(b.Path)
}

// cloned reports whether there was a clone before slipway.
func (b *vcsBefore) cloned() bool { return b.Kind == vcsPresent || b.Kind == vcsBare }

// vcsOwned is the clone as a directory of which owner and group are managed; ok is false when they are not.
func vcsOwned(r resource.Resource) (dir resource.Resource, ok bool) {
	p := resource.Parameters{"ensure": fileDirectory, "recurse": true}
	if user := schema.VcsrepoUser(r); user != "" {
		p["owner"] = user
	}
	if r.Parameters.Has("group") {
		p["group"] = r.Parameters["group"]
	}
	return resource.Resource{Type: "file", Title: schema.FilePath(r), Parameters: p}, len(p) > 2
}

// repository is a clone, or the place of one, as git sees it.
type repository struct {
	*Session
	git, at, user string
	local         bool // its source is on the node
	uid           int  // of user
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
	return system.Command{
		Argv: append([]string{g.git, "-C", g.at}, args...), User: g.user, Timeout: packageTimeout,
		Env: []string{
			"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=" + protocols,
			"GIT_CEILING_DIRECTORIES=" + path.Dir(g.at),
		},
	}
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

func (t vcsType) Check(ctx context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	c, p, at := comparison{resource: r}, r.Parameters, schema.FilePath(r)
	should := p.StringOr("ensure", vcsPresent)
	if should == fileAbsent {
		kind, _, err := look(s, at)
		c.state(kind, should)
		return c.found, err
	}
	g, missing, err := openRepository(s, at, schema.VcsrepoUser(r), p.String("source"))
	if err != nil {
		return nil, err
	}
	if missing != nil {
		if s.Applying {
			return nil, missing
		}
		c.state("unknown", should) // another resource may bring it
		return c.found, nil
	}
	st, err := g.state(ctx)
	if err != nil {
		return nil, err
	}
	if made := st.Kind == vcsPresent && should != vcsBare || st.Kind == should; !made {
		c.state(st.Kind, should)
		return c.found, nil
	}
	c.text("source", st.Source, p.String("source"))
	if err := g.compareRevision(ctx, &c, st); err != nil {
		return nil, err
	}
	if should != vcsBare {
		if err := g.compareTree(ctx, &c); err != nil {
			return nil, err
		}
	}
	if dir, owned := vcsOwned(r); owned {
		found, err := fileType{}.Check(ctx, s, dir)
		if err != nil {
			return nil, err
		}
		c.found = append(c.found, found...)
	}
	return c.found, nil
}

// compareRevision notes another branch, tag or commit than is wanted.
func (g repository) compareRevision(ctx context.Context, c *comparison, st vcsState) error {
	p := c.resource.Parameters
	revision := p.String("revision")
	if p.String("ensure") == "latest" {
		ref, commit, err := g.remote(ctx, p.String("source"), revision)
		if err != nil || ref != "" {
			branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
			switch {
			case err != nil:
			case isBranch && st.Branch != branch:
				c.text("revision", st.short(), branch)
			default:
				c.text("revision", shortCommit(st.Commit), shortCommit(commit))
			}
			return err
		}
	}
	if revision == "" || st.Branch == revision || st.Branch == "" && isCommit(revision) &&
		strings.HasPrefix(st.Commit, revision) {
		return nil
	}
	commit, ok, err := g.ask(ctx, "rev-parse", "--quiet", "--verify", "refs/tags/"+revision+"^{commit}")
	if err == nil && (!ok || commit != st.Commit || st.Branch != "") {
		c.text("revision", st.short(), revision)
	}
	return err
}

// compareTree notes what differs in the work tree.
func (g repository) compareTree(ctx context.Context, c *comparison) error {
	if !c.resource.Parameters.Bool("keep_local_changes") {
		names, err := g.changes(ctx)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			c.text("changes", listed(names), "none")
		}
	}
	names, err := g.submodules(ctx, c.resource)
	if len(names) > 0 {
		c.text("submodules", "not as recorded: "+listed(names), "as recorded")
	}
	return err
}

func listed(names []string) string {
	shown := names[:min(len(names), namesShown)]
	return strings.Join(shown, ", ") + andMore(len(names)-len(shown))
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

func (t vcsType) capture(ctx context.Context, s *Session, r resource.Resource) (*vcsBefore, error) {
	b := &vcsBefore{Path: schema.FilePath(r), User: schema.VcsrepoUser(r)}
	if schema.WantsAbsent(r) {
		var err error
		b.Kind, _, err = look(s, b.Path)
		return b, err
	}
	g, missing, err := openRepository(s, b.Path, b.User, r.Parameters.String("source"))
	if err = errors.Join(missing, err); err != nil {
		return b, err
	}
	if b.vcsState, err = g.state(ctx); err != nil {
		return b, err
	}
	return b, t.widen(ctx, s, r, b)
}

// widen takes down who owns a clone that was there, when r says something of that for the first time.
func (vcsType) widen(ctx context.Context, s *Session, r resource.Resource, b *vcsBefore) (err error) {
	b.User = schema.VcsrepoUser(r)
	dir, owned := vcsOwned(r)
	switch {
	case !owned || !b.cloned():
	case b.Dir == nil:
		b.Dir, err = fileType{}.capture(ctx, s, dir)
	default:
		err = fileType{}.widen(ctx, s, dir, b.Dir)
	}
	return err
}

func (b *vcsBefore) locate(r resource.Resource) { b.Path = schema.FilePath(r) }

// Resolve follows the links in the directory of the path.
func (vcsType) Resolve(s *Session, object string) string { return fileType{}.Resolve(s, object) }

func (t vcsType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	p, at := r.Parameters, schema.FilePath(r)
	if schema.WantsAbsent(r) {
		if !p.Bool("force") {
			return fmt.Errorf("%s is not slipway's; set force = true to remove it, with everything in it", at)
		}
		return s.RemoveAll(at)
	}
	if s.Ledger == nil || s.Ledger.Entry(s.Site, r.ID()) == nil {
		return errors.New("internal error: what was there before is not recorded; please report it")
	}
	b, err := decode[*vcsBefore](s.Ledger.Entry(s.Site, r.ID()).Before)
	if err != nil {
		return err
	}
	g, missing, err := openRepository(s, at, schema.VcsrepoUser(r), p.String("source"))
	if err = errors.Join(missing, err); err != nil {
		return err
	}
	if err := g.clone(ctx, r, b); err != nil {
		return err
	}
	if p.String("ensure") != vcsBare {
		if err := g.checkout(ctx, r, b); err != nil {
			return err
		}
	}
	if dir, owned := vcsOwned(r); owned {
		return fileType{}.Apply(ctx, s, dir)
	}
	return nil
}

// clone clones the source where there is no clone, and makes it the source of one that is there.
func (g repository) clone(ctx context.Context, r resource.Resource, b *vcsBefore) error {
	p := r.Parameters
	bare := p.String("ensure") == vcsBare
	st, err := g.state(ctx)
	if err != nil {
		return err
	}
	switch {
	case st.Kind == vcsIncomplete && !b.cloned():
		if err := g.RemoveAll(g.at + "/.git"); err != nil {
			return err
		}
		if names, err := g.ReadDir(g.at); err != nil || len(names) == 0 {
			st.Kind = vcsEmpty
		}
	case st.Kind == vcsPresent && !bare || st.Kind == vcsBare && bare:
		if st.Source == "" {
			return g.run(ctx, "remote", "add", "--", "origin", p.String("source"))
		}
		if st.Source != p.String("source") {
			return g.run(ctx, "remote", "set-url", "--", "origin", p.String("source"))
		}
		return nil
	}
	if st.Kind != fileAbsent && st.Kind != vcsEmpty {
		if !p.Bool("force") {
			return fmt.Errorf("%s is there (%s) and no clone of %s; set force = true to remove it, with everything in it", g.at,
				st.Kind, p.String("source"))
		}
		if err := g.RemoveAll(g.at); err != nil {
			return err
		}
		st.Kind = fileAbsent
	}
	if st.Kind == fileAbsent {
		if err := g.makeDirectory(); err != nil {
			return err
		}
	}
	args := []string{"clone", "--quiet", "--no-hardlinks"}
	source := p.String("source")
	if p.Has("depth") {
		if args = append(args, fmt.Sprintf("--depth=%d", p.IntOr("depth", 1))); g.local {
			source = "file://" + source // git takes the whole history from a path
		}
	}
	if bare {
		args = append(args, "--bare")
	} else if p.Has("revision") {
		args = append(args, "--no-checkout")
	}
	err = g.run(ctx, append(args, "--", source, g.at)...)
	if err == nil && source != p.String("source") {
		err = g.run(ctx, "remote", "set-url", "--", "origin", p.String("source"))
	}
	if err != nil && st.Kind == fileAbsent {
		if names, readErr := g.ReadDir(g.at); readErr == nil && len(names) == 0 {
			err = errors.Join(err, g.Remove(g.at))
		}
	}
	return err
}

// makeDirectory makes the directory of the clone, which belongs to the user as whom git runs.
func (g repository) makeDirectory() error {
	if err := parentThere(g.Session, g.at); err != nil {
		return err
	}
	var a system.Attributes
	if g.user != "" {
		users, err := g.Users()
		if err != nil {
			return err
		}
		user := users[g.user]
		a.UID, a.GID = &user.UID, &user.GID
	}
	return g.Mkdir(g.at, a)
}

// checkout brings the work tree to the revision that is wanted.
func (g repository) checkout(ctx context.Context, r resource.Resource, b *vcsBefore) error {
	p := r.Parameters
	drop := !p.Bool("keep_local_changes")
	if drop && b.cloned() && !p.Bool("force") {
		if names, err := g.changes(ctx); err != nil {
			return err
		} else if len(names) > 0 {
			return fmt.Errorf("%s was there before slipway, and has changes (%s); set force = true to drop them, or "+
				"keep_local_changes = true to leave them", g.at, listed(names))
		}
	}
	st, err := g.state(ctx)
	if err != nil {
		return err
	}
	c := comparison{resource: r}
	if st.Kind == vcsPresent {
		if err := g.compareRevision(ctx, &c, st); err != nil {
			return err
		}
	}
	if st.Kind != vcsPresent || len(c.found) > 0 {
		args, err := g.target(ctx, r)
		if err != nil {
			return err
		}
		if drop || st.Kind != vcsPresent {
			args = append([]string{"--force"}, args...)
		}
		if err := g.run(ctx, append([]string{"checkout", "--quiet"}, args...)...); err != nil {
			return err
		}
	} else if drop {
		if err := g.run(ctx, "reset", "--quiet", "--hard", "HEAD"); err != nil {
			return err
		}
	}
	some, err := g.Exists(g.at + "/.gitmodules")
	if err != nil || !some || !p.BoolOr("submodules", true) {
		return err
	}
	args := []string{"submodule", "update", "--quiet", "--init", "--recursive"}
	if drop {
		args = append(args, "--force")
	}
	return g.run(ctx, args...)
}

// target fetches the revision that is wanted, unless the clone has it, and returns what checkout gets.
func (g repository) target(ctx context.Context, r resource.Resource) ([]string, error) {
	p := r.Parameters
	revision, latest := p.String("revision"), p.String("ensure") == "latest"
	has := func(name string) bool {
		_, ok, err := g.ask(ctx, "rev-parse", "--quiet", "--verify", name+"^{commit}")
		return ok && err == nil
	}
	switch {
	case revision == "" && !latest:
		return []string{"HEAD", "--"}, nil
	case latest:
	case has("refs/heads/" + revision):
		return []string{revision, "--"}, nil
	case has("refs/tags/" + revision):
		return []string{"--detach", "refs/tags/" + revision, "--"}, nil
	case isCommit(revision) && has(revision):
		return []string{"--detach", revision, "--"}, nil
	}
	ref, _, err := g.remote(ctx, p.String("source"), revision)
	if err != nil {
		return nil, err
	}
	fetch := []string{"fetch", "--quiet"}
	if p.Has("depth") {
		fetch = append(fetch, fmt.Sprintf("--depth=%d", p.IntOr("depth", 1)))
	}
	fetch = append(fetch, "--", "origin")
	if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		at := "refs/remotes/origin/" + branch
		return []string{"-B", branch, at, "--"}, g.run(ctx, append(fetch, "+"+ref+":"+at)...)
	}
	if ref != "" {
		return []string{"--detach", ref, "--"}, g.run(ctx, append(fetch, "+"+ref+":"+ref)...)
	}
	if isCommit(revision) {
		if err := g.run(ctx, fetch...); err != nil {
			return nil, err
		}
		if !has(revision) { // it may be on no branch; servers give only whole commits
			err = g.run(ctx, append(fetch, revision)...)
		}
		if err == nil {
			return []string{"--detach", revision, "--"}, nil
		}
	}
	none := fmt.Errorf("revision %q: %s has neither a branch, a tag nor a commit of that name", revision,
		p.String("source"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", none, err)
	}
	return nil, none
}

func (vcsType) there(_ context.Context, s *Session, _ string, b *vcsBefore) (bool, error) {
	return s.Exists(b.Path)
}

func (vcsType) undo(ctx context.Context, s *Session, title string, b *vcsBefore) error {
	kind, _, err := look(s, b.Path)
	if err != nil || kind != fileDirectory {
		return err // others have taken it away, or put something in its place
	}
	g, missing, err := openRepository(s, b.Path, b.User, "/")
	if err != nil {
		return err
	}
	if missing != nil {
		return gone{fmt.Sprintf("%s stays as it is: %v", b.Path, missing)}
	}
	if b.cloned() {
		return g.restore(ctx, title, b)
	}
	st, err := g.state(ctx)
	if err != nil {
		return err
	}
	return g.remove(ctx, st, b)
}

// remove removes a clone that slipway made. Files that the repository does not have stay.
func (g repository) remove(ctx context.Context, st vcsState, b *vcsBefore) error {
	switch st.Kind {
	case fileDirectory:
		return nil // of others
	case vcsPresent:
		if some, err := g.Exists(g.at + "/.gitmodules"); err != nil {
			return err
		} else if some {
			if err := g.run(ctx, "submodule", "--quiet", "deinit", "--all", "--force"); err != nil {
				return err
			}
		}
		if err := g.run(ctx, "rm", "-r", "--force", "--quiet", "--ignore-unmatch", "--", "."); err != nil {
			return err
		}
	case vcsBare:
		if err := g.RemoveAll(g.at); err != nil {
			return err
		}
		if b.Kind == vcsEmpty {
			return g.makeDirectory()
		}
		return b.forced()
	}
	if err := g.RemoveAll(g.at + "/.git"); err != nil {
		return err
	}
	names, err := g.ReadDir(g.at)
	if err != nil || b.Kind == vcsEmpty {
		return err
	}
	if len(names) > 0 {
		return g.leaveDirectory(g.at, names)
	}
	if err := g.Remove(g.at); err != nil {
		return err
	}
	return b.forced()
}

// forced reports that what gave way to a clone does not come back.
func (b *vcsBefore) forced() error {
	if b.Kind == fileAbsent || b.Kind == vcsEmpty || b.cloned() {
		return nil
	}
	return gone{fmt.Sprintf("%s gave way because of force, so what was there does not come back", b.Path)}
}

// restore brings a clone that was there before back to its source, branch and commit. Changes of its files stay.
func (g repository) restore(ctx context.Context, title string, b *vcsBefore) error {
	st, err := g.state(ctx)
	if err != nil || st.Kind != b.Kind {
		return err // others have put something else there
	}
	switch b.Source {
	case st.Source:
	case "":
		err = g.run(ctx, "remote", "remove", "origin")
	default:
		err = g.run(ctx, "remote", "set-url", "--", "origin", b.Source)
	}
	if err != nil {
		return err
	}
	var left error
	if b.Kind == vcsPresent && (st.Commit != b.Commit || st.Branch != b.Branch) {
		args := []string{"checkout", "--quiet", "--detach", b.Commit, "--"}
		if b.Branch != "" {
			args = []string{"checkout", "--quiet", "-B", b.Branch, b.Commit, "--"}
		}
		if err := g.run(ctx, args...); err != nil {
			left = gone{fmt.Sprintf("%s stays at %s: %v", g.at, st.short(), err)}
		}
	}
	if b.Dir != nil {
		left = alsoGone(left, fileType{}.undo(ctx, g.Session, title, b.Dir))
	}
	return left
}
