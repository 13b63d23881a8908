package types

import (
	"context"
	"fmt"
)

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
