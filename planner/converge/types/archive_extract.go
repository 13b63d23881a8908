package types

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// put puts the archive itself at its path.
func (o *openArchive) put(s *Session, r resource.Resource, a system.Attributes) error {
	c, at := comparison{resource: r}, schema.FilePath(r)
	if err := compareKept(&c, s, o.version); err != nil || len(c.found) == 0 {
		return err
	}
	if err := parentThere(s, at); err != nil {
		return err
	}
	if first := c.found[0].Parameter; first != "ensure" && first != "checksum" {
		return s.SetAttributes(at, a)
	}
	f, _, err := s.Open(archiveAt)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := s.ReplaceUnsynced(at, f, a); err != nil {
		return err
	}
	return s.Sync(path.Dir(at))
}

// extract brings the directory into the state that is recorded: what a former archive brought goes first, links and the
// modes of directories come last.
func (b *archiveBefore) extract(ctx context.Context, s *Session, o *openArchive, a system.Attributes) error {
	brings, err := b.list(s, b.Brings)
	if err != nil {
		return err
	}
	former, err := b.list(s, b.Former)
	if err != nil {
		return err
	}
	if err := b.remove(ctx, s, former); err != nil {
		if _, other := AsGone(err); other != nil {
			return err
		}
	}
	if err := s.MakeAbove(b.Path); err != nil {
		return err
	}
	if kind, _, err := look(s, b.Path); err != nil {
		return err
	} else if kind == fileAbsent {
		if err := s.Mkdir(b.Path, a); err != nil {
			return err
		}
	}
	managed := s.managed()
	brings = slices.DeleteFunc(brings, func(x extracted) bool { return managed[s.ResolveLinks(b.at(x), false)] })
	todo := map[octets]extracted{}
	for _, x := range brings {
		todo[x.Path] = x
		if x.Kind == fileDirectory {
			if err := b.makeDirectory(s, x, a); err != nil {
				return err
			}
		}
	}
	err = o.read(func(e entry, content io.Reader) error {
		x, ours := todo[e.Path]
		if !ours || x.Kind != fileFile {
			return nil
		}
		return b.write(s, x, e, content, a)
	})
	if err != nil {
		return err
	}
	for _, x := range slices.Backward(brings) {
		mode := fs.FileMode(x.Mode)
		owned := a
		switch x.Kind {
		case fileFile:
			continue
		case fileDirectory:
			owned.Mode = &mode
		case fileLink:
			if err := b.link(s, x); err != nil {
				return err
			}
		}
		if err := s.SetAttributes(b.at(x), owned); err != nil {
			return err
		}
	}
	return s.Sync(b.Path)
}

// clear removes what is in the place of something else that the archive brings, and returns what is there then.
func (b *archiveBefore) clear(s *Session, x extracted) (kind string, info system.Info, err error) {
	kind, info, err = b.look(s, x)
	if err != nil || kind == x.Kind || kind == fileAbsent {
		return kind, info, err
	}
	if kind == fileOther {
		return kind, info, errFileOther(b.at(x))
	}
	if err := s.Remove(b.at(x)); err != nil {
		return kind, info, fmt.Errorf("the archive has a %s there: %w", x.Kind, err)
	}
	return fileAbsent, system.Info{}, nil
}

func (b *archiveBefore) makeDirectory(s *Session, x extracted, a system.Attributes) error {
	kind, _, err := b.clear(s, x)
	if err != nil || kind == fileDirectory {
		return err
	}
	private := fs.FileMode(0o700) // until all is in it
	a.Mode = &private
	return s.Mkdir(b.at(x), a)
}

func (b *archiveBefore) link(s *Session, x extracted) error {
	kind, info, err := b.clear(s, x)
	if err != nil || kind == fileLink && info.Target == string(x.Target) {
		return err
	}
	return s.Symlink(b.at(x), string(x.Target))
}

// write writes a file of the archive, or sets its attributes where its content is there.
func (b *archiveBefore) write(s *Session, x extracted, e entry, content io.Reader, a system.Attributes) error {
	kind, info, err := b.clear(s, x)
	if err != nil {
		return err
	}
	mode := fs.FileMode(x.Mode)
	a.Mode = &mode
	if kind == fileFile {
		same, _, err := b.same(s, x, info)
		if err != nil {
			return err
		}
		if same {
			return s.SetAttributes(b.at(x), a)
		}
	}
	if e.copied != "" {
		f, _, err := s.Open(path.Join(b.Path, e.copied))
		if err != nil {
			return err
		}
		defer f.Close()
		content = f
	}
	return s.ReplaceUnsynced(b.at(x), content, a)
}
