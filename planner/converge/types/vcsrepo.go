package types

import (
	"context"
	"errors"
	"fmt"
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
	g.login = loginOf(r)
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
	if p.String("ensure") == "latest" && len(p.Secrets()) == 0 { // else a refresh could not log in
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
	g.login = loginOf(r)
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
