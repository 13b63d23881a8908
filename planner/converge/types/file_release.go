package types

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// returningExtended is a parameter that only release gives: extended attributes. No configuration can name it.
const returningExtended = "\x00extended"

// release returns attributes, the content, and the kind, of what was there before. A file or link that slipway made
// goes, or becomes a new file, unless others have written into it.
func (fileType) release(
	_ context.Context, s *Session, r resource.Resource, rest *fileBefore,
) (resource.Parameters, error) {
	returning, b := resource.Parameters{}, *rest
	kind, _, err := look(s, b.Path)
	if err != nil {
		return nil, err
	}
	rest.Said = slices.DeleteFunc(slices.Clone(b.Said), func(name string) bool {
		return !r.Parameters.Has(name) && name != saidContent
	})
	given := schema.FileHasContent(r)
	if !given {
		rest.Wrote = ""
	}
	a, ensure := b.attributes(), schema.FileEnsure(r)
	switch {
	case !b.says(saidContent):
	case b.Kind != fileAbsent && !b.Stays && !given &&
		(ensure == "" || ensure == filePresent || ensure == fileFile && b.Kind == fileFile):
		rest.Said = slices.DeleteFunc(rest.Said, func(name string) bool { return name == saidContent })
		if a, err = b.former(s, kind, returning); err != nil {
			return nil, err
		}
		if !r.Parameters.Has("owner") { // another user's access list must not open it
			if returning[returningExtended], err = b.extended(s, kind); err != nil {
				return nil, err
			}
		}
		rest.Kept, kind = "", b.Kind
	case b.Kind == fileAbsent && kind == fileAbsent && ensure == "": // it has gone
		rest.Said = slices.DeleteFunc(rest.Said, func(name string) bool { return name == saidContent })
	case b.made(s, r, kind) && ensure == "":
		returning["ensure"], a, kind = fileAbsent, system.Attributes{}, fileAbsent
	case b.made(s, r, kind):
		returning["ensure"], returning["content"], kind = fileFile, "", fileFile
		if a, err = b.attributesOfNew(s, r, kind); err != nil {
			return nil, err
		}
	case kind != b.Kind: // it is slipway's own
		if kind = wantedKind(r, kind); kind == b.Kind {
			break // what comes in its place is what was there before
		}
		if a, err = b.attributesOfNew(s, r, kind); err != nil {
			return nil, err
		}
	}
	if b.Kind == fileLink && kind == fileLink && (ensure == "" || ensure == filePresent) &&
		(b.says("target") || returning["ensure"] == fileLink) {
		returning["ensure"], returning["target"] = fileLink, string(b.Target)
	}
	return returning, addAttributes(s, returning, a, r, kind)
}

// former adds what was there before, where kind is what is there now, to the parameters that return, and returns its
// attributes.
func (b fileBefore) former(s *Session, kind string, returning resource.Parameters) (system.Attributes, error) {
	returning["ensure"] = b.Kind
	if b.Kind == fileFile {
		content, kept, err := s.openKept(b.Kept)
		if err == nil {
			err = content.Close()
		}
		if err != nil {
			return system.Attributes{}, fmt.Errorf("what was in %s before: %w", b.Path, err)
		}
		if returning[returningKept] = b.Kept; kind != fileFile || b.Gone {
			return kept, nil
		}
	} else if kind != b.Kind || b.Gone {
		mode := fs.FileMode(b.Mode)
		return system.Attributes{Mode: &mode, UID: &b.UID, GID: &b.GID}, nil
	}
	return b.attributes(), nil
}

// made reports whether what is there is a file or link that slipway made, as it made it, of which r gives no more than
// attributes or that it is there.
func (b fileBefore) made(s *Session, r resource.Resource, kind string) bool {
	ensure := schema.FileEnsure(r)
	if b.Kind != fileAbsent || schema.FileHasContent(r) ||
		ensure != "" && ensure != filePresent && ensure != fileFile {
		return false
	}
	if kind == fileLink {
		return b.says("target")
	}
	if kind != fileFile || b.Wrote == "" {
		return false
	}
	sum, _, err := s.sum(b.Path)
	if err != nil {
		return false
	}
	secret := !strings.HasPrefix(b.Wrote, shortSumPrefix) // an older slipway wrote a digest also of what is sensitive
	is, err := s.wrote(sum, secret)
	return err == nil && is == b.Wrote
}

// attributesOfNew returns those of b.attributes as a new file or directory gets them.
func (b fileBefore) attributesOfNew(s *Session, r resource.Resource, kind string) (system.Attributes, error) {
	mode, uid, gid := newMode(r, kind), os.Geteuid(), os.Getegid()
	if info, err := s.Lstat(path.Dir(b.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return system.Attributes{}, err
	} else if system.ChmodBits(info.Mode)&0o2000 != 0 {
		gid = info.GID // the directory gives its group to what is made in it
	}
	return b.saidOf(mode, uid, gid), nil
}

// addAttributes adds attributes to the parameters of what is a kind, but for those that r gives.
func addAttributes(s *Session, p resource.Parameters, a system.Attributes, r resource.Resource, kind string) error {
	if a.Mode != nil && kind != fileLink && !r.Parameters.Has("mode") {
		p["mode"] = fmt.Sprintf("%04o", system.ChmodBits(*a.Mode))
	}
	for _, o := range owners(s, r.Type) {
		if id := *o.in(&a); id != nil && !r.Parameters.Has(o.parameter) {
			name, err := o.name(*id)
			if err != nil {
				return err
			}
			p[o.parameter] = name
		}
	}
	return nil
}
