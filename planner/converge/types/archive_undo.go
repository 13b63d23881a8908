package types

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// takeDown keeps what is there in the place of what an archive brings, and returns that without the directories that
// were there. known is what an earlier archive brought.
func (b *archiveBefore) takeDown(s *Session, list, known []extracted) ([]extracted, error) {
	made, err := s.MissingAbove(b.Path + "/x")
	if err != nil {
		return nil, err
	}
	for _, dir := range made {
		if !slices.Contains(b.Made, dir) {
			b.Made = append(b.Made, dir)
		}
	}
	if kind, _, err := look(s, s.ResolveLinks(b.Path, true)); err != nil || kind != fileAbsent && kind != fileDirectory {
		return nil, errors.Join(err, fmt.Errorf("extract_path: %s is a %s, not a directory; remove it", b.Path, kind))
	}
	others, managed, paths := b.others(s), s.managed(), pathsOf(known)
	size := int64(0)
	var own []extracted
	for _, x := range list {
		at := b.at(x)
		if at == system.Home || strings.HasPrefix(at, system.Home+"/") {
			return nil, entryError(string(x.Path), "is in slipway's own directory "+system.Home)
		}
		if other := others[at]; other != "" && x.Kind != fileDirectory {
			return nil, fmt.Errorf("%s is in %s, too; give one of them another extract_path", at, other)
		}
		if paths[x.Path] {
			own = append(own, x)
			continue
		}
		kind, info, err := b.look(s, x)
		switch {
		case err != nil:
			return nil, err
		case kind == fileAbsent:
		case kind == fileDirectory && x.Kind == fileDirectory:
			continue // it stays as it is
		case managed[s.ResolveLinks(at, false)]:
		case kind == fileDirectory || kind == fileOther || x.Kind == fileDirectory:
			return nil, fmt.Errorf("%s is a %s, and the archive has a %s there; remove it, or give another extract_path", at,
				kind, x.Kind)
		default:
			if size += info.Size; len(b.Files) >= mostKept || size > mostKeptBytes {
				return nil, fmt.Errorf("it would replace more below %s than can be kept for undo (%d files, %d MiB); clear the "+
					"directory by hand first, or give another extract_path", b.Path, mostKept, mostKeptBytes>>20)
			}
			f := fileBefore{Path: at, Said: []string{saidContent, "target", "mode", "owner", "group"}}
			f.is(kind, info)
			if err := f.keep(s, true); err != nil {
				return nil, err
			}
			b.Files = append(b.Files, f)
		}
		own = append(own, x)
	}
	return own, nil
}

// others returns what other archives brought into the directory or below it, with the resource of each.
func (b *archiveBefore) others(s *Session) map[string]resource.ID {
	out := map[string]resource.ID{}
	if s.Ledger == nil {
		return out
	}
	for _, e := range s.Ledger.Entries {
		if e.ID == s.ID {
			continue
		}
		for _, at := range archivePaths(s, e) {
			if strings.HasPrefix(at, b.Path+"/") {
				out[at] = e.ID
			}
		}
	}
	return out
}

// before returns the record that was there before at a path, nil where nothing was.
func (b *archiveBefore) before(at string) *fileBefore {
	for i := range b.Files {
		if b.Files[i].Path == at {
			return &b.Files[i]
		}
	}
	return nil
}

// remove removes what an archive brought, but for what has a resource of its own by now, and puts back what was there
// before. Directories in which others have something stay. One of the archive that has a resource of its own goes when
// that does, or at once where that is to be no directory.
func (b *archiveBefore) remove(ctx context.Context, s *Session, list []extracted) error {
	managed, replaced := s.managed(), s.wantedInstead()
	var left error
	stays := map[string]bool{}
	for _, x := range slices.Backward(list) {
		at := b.at(x)
		kind, _, err := b.look(s, x)
		if err != nil {
			return err
		}
		directory := kind == fileDirectory && x.Kind == fileDirectory
		if resolved := s.ResolveLinks(at, false); managed[resolved] && (!directory || !replaced[resolved]) {
			if stays[at] = true; directory {
				s.leave(at)
			}
			continue
		}
		if f := b.before(at); f != nil {
			err := fileType{}.undo(ctx, s, "", f)
			if _, other := AsGone(err); other != nil {
				return err
			}
			left, stays[at] = alsoGone(left, err), true
			continue
		}
		if !directory {
			if kind == fileFile || kind == fileLink {
				err = s.Remove(at)
			}
			if err != nil {
				return err
			}
			continue
		}
		names, err := s.ReadDir(at)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			if err := s.Remove(at); err != nil {
				return err
			}
			continue
		}
		stays[at] = true
		if slices.ContainsFunc(names, func(name string) bool { return !stays[path.Join(at, name)] }) {
			left = alsoGone(left, s.leaveDirectory(at, names))
		} else {
			s.leave(at)
		}
	}
	return left
}

// wantedInstead returns the paths at which the resources of the session want a file or link.
func (s *Session) wantedInstead() map[string]bool {
	paths := map[string]bool{}
	for _, r := range s.Wanted {
		if r.Type == "file" && wantedKind(r, fileDirectory) != fileDirectory {
			paths[s.ResolveLinks(schema.FilePath(r), false)] = true
		}
	}
	return paths
}

// release forgets what an earlier archive brought, once it is gone. No parameter returns by it: who owns what is
// compared in any case.
func (archiveType) release(
	_ context.Context, s *Session, _ resource.Resource, b *archiveBefore,
) (resource.Parameters, error) { //nolint:unparam // a releaser
	if b.Former == "" {
		return nil, nil
	}
	former, err := b.list(s, b.Former)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, x := range former {
		gone[b.at(x)] = true
	}
	b.Former = ""
	b.Files = slices.DeleteFunc(b.Files, func(f fileBefore) bool { return gone[f.Path] })
	return nil, nil
}

func (archiveType) there(ctx context.Context, s *Session, title string, b *archiveBefore) (bool, error) {
	if b.Brings == "" && b.Kept != nil {
		return fileType{}.there(ctx, s, title, b.Kept)
	}
	brings, err := b.list(s, b.Brings)
	if err != nil || len(brings) == 0 {
		return true, nil //nolint:nilerr // it is not known; undo reports that
	}
	for _, x := range brings {
		if kind, _, err := b.look(s, x); err == nil && kind == x.Kind {
			return true, nil
		}
	}
	return false, nil
}

func (archiveType) undo(ctx context.Context, s *Session, title string, b *archiveBefore) error {
	var left error
	for _, name := range []string{b.Former, b.Brings} {
		list, err := b.list(s, name)
		if err == nil {
			err = b.remove(ctx, s, list)
		}
		if _, other := AsGone(err); other != nil {
			return err
		}
		left = alsoGone(left, err)
	}
	err := s.removeMade(b.Made)
	if _, other := AsGone(err); other != nil {
		return err
	}
	left = alsoGone(left, err)
	if b.Kept != nil {
		left = alsoGone(left, fileType{}.undo(ctx, s, title, b.Kept))
	}
	return left
}
