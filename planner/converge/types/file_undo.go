package types

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// fileBefore is what was at a path before slipway touched it. Only what the resource says something of is brought back:
// a file whose mode alone is slipway's keeps its content, whoever has changed that since.
type fileBefore struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	Target octets `json:"target,omitempty"` // of a link
	Kept   string `json:"kept,omitempty"`   // name of the copy of a file
	Mode   uint32 `json:"mode,omitempty"`   // of a file or directory, as in chmod
	UID    int    `json:"uid,omitempty"`
	GID    int    `json:"gid,omitempty"`
	// Extended holds the access lists, the label, the capabilities, and what users attached, of a file or directory
	// that may be made anew.
	Extended system.Extended `json:"extended,omitempty"`
	Stays    bool            `json:"stays,omitempty"` // it was not to be kept, so Undo leaves what is there
	Gone     bool            `json:"gone,omitempty"`  // since then it has been another thing: what is there is a new one
	// Said lists what the resource has said something of so far: content (or that it is another thing than it was),
	// target, mode, owner, group. As long as it is attributes only, Kind is what was there when slipway last changed them.
	Said []string `json:"said,omitempty"`
	// Wrote is the digest of what slipway last meant to write into a file that it made, so that it is known from what
	// others have written; of something sensitive an HMAC.
	Wrote string `json:"wrote,omitempty"`
	// Below is what was below the directory and that slipway removed, or gave other attributes: what is in a directory
	// comes after it.
	Below []fileBefore `json:"below,omitempty"`
	// Beside is what was where the copies are that backup asked for, and slipway made, so far.
	Beside []fileBefore `json:"beside,omitempty"`
	// Shared is what the resource wants of a file that has other names, too.
	Shared *Shared `json:"shared,omitempty"`
}

const saidContent = "content"

// said returns what r says something of, where kind is what is there now.
func (fileType) said(r resource.Resource, kind string) []string {
	var out []string
	if schema.FileHasContent(r) || wantedKind(r, kind) != kind {
		out = append(out, saidContent)
	}
	for _, name := range []string{"target", "mode", "owner", "group"} {
		if r.Parameters.Has(name) {
			out = append(out, name)
		}
	}
	return out
}

func (b fileBefore) says(name string) bool { return slices.Contains(b.Said, name) }

func (t fileType) capture(ctx context.Context, s *Session, r resource.Resource) (*fileBefore, error) {
	b := fileBefore{Path: schema.FilePath(r)}
	kind, info, err := look(s, b.Path)
	if err != nil {
		return &b, err
	}
	b.is(kind, info)
	b.Said = t.said(r, kind)
	if err := b.writes(s, r); err != nil {
		return &b, err
	}
	b.share(t, s, r)
	if err := b.keep(s, r.Parameters.BoolOr("backup", true)); err != nil {
		return &b, err
	}
	if err := b.keepBeside(s, r); err != nil {
		return &b, err
	}
	return &b, b.keepBelow(ctx, s, r)
}

// is takes down what is there.
func (b *fileBefore) is(kind string, info system.Info) {
	b.Kind, b.Target, b.Mode, b.UID, b.GID = kind, octets(info.Target), system.ChmodBits(info.Mode), info.UID, info.GID
}

// writes notes what r writes into a file that was not there before. An unknown content is an error of Apply.
func (b *fileBefore) writes(s *Session, r resource.Resource) (err error) {
	if b.Kind != fileAbsent {
		return nil
	}
	if want, unknown := wantedContent(s, r, b.Kind); unknown == nil && want != nil {
		b.Wrote, err = s.wrote(want.sum, r.Sensitive())
	}
	return err
}

// wrote returns what the ledger has of a content with a SHA-256.
func (s *Session) wrote(sum string, secret bool) (string, error) {
	if secret {
		return s.MAC("wrote", sum)
	}
	return shortSum(sum), nil
}

func (b *fileBefore) locate(r resource.Resource) { b.Path = schema.FilePath(r) }

// widen takes down what r says something of for the first time.
func (t fileType) widen(ctx context.Context, s *Session, r resource.Resource, b *fileBefore) error {
	kind, info, err := look(s, b.Path)
	if err != nil {
		return err
	}
	if b.Kind == fileAbsent && !b.says(saidContent) { // others have put there what is there now
		b.is(kind, info)
	}
	if err := b.writes(s, r); err != nil {
		return err
	}
	b.share(t, s, r)
	b.Gone = b.Gone || b.says(saidContent) && kind != b.Kind
	for _, name := range t.said(r, kind) {
		if b.says(name) {
			continue
		}
		b.Said = append(b.Said, name)
		switch {
		case name == saidContent && b.Kind == fileFile:
			if kind != fileFile { // it was replaced by hand
				b.is(kind, info)
			}
			if err := b.keep(s, r.Parameters.BoolOr("backup", true)); err != nil {
				return err
			}
		case b.Kind != kind:
			// It was another thing, which had no such thing to bring back, or is gone.
		case name == "target":
			b.Target = octets(info.Target)
		case name == "mode":
			b.Mode = system.ChmodBits(info.Mode)
		case name == "owner":
			b.UID = info.UID
		case name == "group":
			b.GID = info.GID
		}
	}
	if err := b.keepBeside(s, r); err != nil {
		return err
	}
	return b.keepBelow(ctx, s, r)
}

// now takes down what is at the path, and at those below it that slipway has changed.
func (fileType) now(_ context.Context, s *Session, _ string, b *fileBefore) (*fileBefore, error) {
	return b.now(s)
}

// now returns an image of the same paths. A copy is kept in any case: it is needed as long as the run may be taken
// back.
func (b *fileBefore) now(s *Session) (*fileBefore, error) {
	kind, info, err := look(s, b.Path)
	if err != nil {
		return b, err
	}
	n := fileBefore{Path: b.Path, Said: b.Said}
	n.is(kind, info)
	for _, of := range []struct{ was, is *[]fileBefore }{{&b.Below, &n.Below}, {&b.Beside, &n.Beside}} {
		for _, known := range *of.was {
			now, err := known.now(s)
			if err != nil {
				return b, err
			}
			*of.is = append(*of.is, *now)
		}
	}
	return &n, n.keep(s, true)
}

// keep keeps a copy of a file whose content may change, and what else it or a directory needs to be made anew. Of
// attributes that slipway has changed the copy has those of before.
func (b *fileBefore) keep(s *Session, backup bool) (err error) {
	if !b.says(saidContent) || b.Kind != fileFile && b.Kind != fileDirectory {
		return nil
	}
	if b.Extended, err = s.Extended(b.Path); err != nil || b.Kind == fileDirectory {
		return err
	}
	if !backup {
		b.Stays = true
		return nil
	}
	content, info, err := s.Open(b.Path)
	if err != nil {
		return err
	}
	defer content.Close()
	mode := fs.FileMode(system.ChmodBits(info.Mode))
	a := b.attributes().Or(system.Attributes{Mode: &mode, UID: &info.UID, GID: &info.GID})
	b.Kept, err = s.keep(b.Path, content, uint32(*a.Mode), *a.UID, *a.GID)
	return err
}

// Resolve follows the links in the path's directory: /var/run/x is /run/x.
func (fileType) Resolve(s *Session, object string) string { return s.ResolveLinks(object, false) }

// check is called by decode.
func (b fileBefore) check() error {
	if err := schema.CheckAbsolute(b.Path); err != nil {
		return fmt.Errorf("it is damaged: path %w", err)
	}
	for _, other := range slices.Concat(b.Below, b.Beside) {
		if err := other.check(); err != nil {
			return err
		}
	}
	return nil
}

func (fileType) there(_ context.Context, s *Session, _ string, b *fileBefore) (bool, error) {
	kind, _, err := look(s, b.Path)
	if errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil && kind != fileAbsent, err
}

func (t fileType) undo(ctx context.Context, s *Session, title string, b *fileBefore) error {
	if len(b.Below) == 0 {
		return alsoGone(t.undoOne(s, b), t.undoBeside(s, b))
	}
	// What is below a directory that slipway made returns first: then the directory stays.
	kind, _, err := look(s, b.Path)
	first := kind == fileDirectory && (b.Kind == fileDirectory || b.Kind == fileAbsent)
	if err != nil {
		return err
	}
	if first {
		err = t.undoBelow(ctx, s, title, b)
	}
	err = alsoGone(err, t.undoOne(s, b))
	if !first && b.Kind == fileDirectory {
		err = alsoGone(err, t.undoBelow(ctx, s, title, b))
	}
	return alsoGone(err, t.undoBeside(s, b))
}

func (fileType) undoOne(s *Session, b *fileBefore) error {
	if err := s.directoryGone(b.Path, fmt.Sprintf("the %s %s that was there before", b.Kind, b.Path)); err != nil {
		if _, other := AsGone(err); other == nil && b.Kind == fileAbsent {
			return nil
		}
		return err
	}
	kind, info, err := look(s, b.Path)
	if err != nil {
		return err
	}
	if kind != b.Kind && (kind == fileOther || !b.says(saidContent)) {
		return nil // others have put it there, or taken it away
	}
	if kind == fileDirectory && b.Kind != fileDirectory && !b.Stays {
		names, err := s.ReadDir(b.Path)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			if b.Kind == fileAbsent {
				return s.leaveDirectory(b.Path, names)
			}
			return fmt.Errorf("%s is a directory that is not empty, and a %s was there before; empty it first", b.Path, b.Kind)
		}
		err = s.Remove(b.Path)
		if errors.Is(err, syscall.EBUSY) && b.Kind == fileAbsent {
			if s.leaveUsed(b.Path) {
				return nil
			}
			return gone{b.Path + " is a mount point, so it stays"}
		}
		if err != nil {
			return err
		}
		kind = fileAbsent
	}
	switch b.Kind {
	case fileAbsent:
		if taken, err := transferFile(s, b.Path); taken || err != nil {
			return err // a setting in it stays
		}
		return s.Remove(b.Path)
	case fileFile:
		return b.undoFile(s, kind)
	case fileLink:
		return b.undoLink(s, kind, info)
	case fileOther:
		return s.SetAttributes(b.Path, b.attributes())
	case fileDirectory:
		return b.undoDirectory(s, kind)
	}
	return fmt.Errorf("what the ledger says of the file is damaged: it was %q", b.Kind)
}

// undoFile brings a file back that was there. kind is what is there now.
func (b fileBefore) undoFile(s *Session, kind string) error {
	switch {
	case b.Kept == "" && kind == fileFile:
		return s.SetAttributes(b.Path, b.attributes())
	case b.Kept == "":
		return nil // it was not to be kept
	}
	content, kept, err := s.openKept(b.Kept)
	if err != nil {
		return copyGone(err, b.Path)
	}
	defer content.Close()
	a := b.attributes()
	x, err := b.extended(s, kind)
	if err != nil {
		return err
	}
	a.Extended = &x
	if kind != fileFile || b.Gone { // else those that slipway did not change stay as others left them
		a = a.Or(kept)
	}
	return s.ReplaceFrom(b.Path, content, a)
}

// extended returns the extended attributes of what comes back, where kind is what is there now. Those that slipway did
// not change stay as others left them; the capabilities come with the content.
func (b fileBefore) extended(s *Session, kind string) (system.Extended, error) {
	if kind != b.Kind || b.Gone || b.says("owner") { // a new file, or one that lost its access list to another owner
		return b.Extended, nil
	}
	x, err := s.Extended(b.Path)
	if delete(x, system.Capability); err != nil || b.Extended[system.Capability] == nil {
		return x, err
	}
	if x == nil {
		x = system.Extended{}
	}
	x[system.Capability] = b.Extended[system.Capability]
	return x, nil
}

// undoLink brings a link back that was there. kind and info are what is there now.
func (b fileBefore) undoLink(s *Session, kind string, info system.Info) error {
	a := b.attributes()
	a.Mode = nil
	if kind != fileLink || b.Gone || info.Target != string(b.Target) && b.says("target") {
		if err := s.Symlink(b.Path, string(b.Target)); err != nil {
			return err
		}
		a = a.Or(system.Attributes{UID: &b.UID, GID: &b.GID})
	}
	return s.SetAttributes(b.Path, a)
}

func (b fileBefore) undoDirectory(s *Session, kind string) error {
	mode := fs.FileMode(b.Mode)
	all := system.Attributes{Mode: &mode, UID: &b.UID, GID: &b.GID, Extended: &b.Extended}
	switch {
	case kind == fileDirectory && b.Gone:
		return s.SetAttributes(b.Path, all)
	case kind == fileDirectory:
		return s.SetAttributes(b.Path, b.attributes())
	}
	if err := s.Remove(b.Path); err != nil {
		return err
	}
	return s.Mkdir(b.Path, all)
}

// attributes returns those that slipway has changed, as they were.
func (b fileBefore) attributes() system.Attributes {
	return b.saidOf(fs.FileMode(b.Mode), b.UID, b.GID)
}

// saidOf returns those of the attributes that the resource has said something of.
func (b fileBefore) saidOf(mode fs.FileMode, uid, gid int) (a system.Attributes) {
	if b.says("mode") {
		a.Mode = &mode
	}
	if b.says("owner") {
		a.UID = &uid
	}
	if b.says("group") {
		a.GID = &gid
	}
	return a
}

// Unmade reports of a file that was not there before that it is not there now.
func Unmade(s *Session, before json.RawMessage) bool {
	b, err := decode[*fileBefore](before)
	if err != nil || b.Kind != fileAbsent {
		return false
	}
	there, err := s.Exists(b.Path)
	return err == nil && !there
}
