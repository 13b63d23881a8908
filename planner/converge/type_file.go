package converge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// fileType manages files, directories and links.
type fileType struct{}

// What a file can be.
const (
	fileFile      = "file"
	filePresent   = "present"
	fileDirectory = "directory"
	fileLink      = "link"
	fileAbsent    = "absent"
	fileOther     = "other" // a device, a pipe, a socket: found, never wanted
)

// kindOf tells what is at a path.
func kindOf(info Info) string {
	switch {
	case info.IsRegular():
		return fileFile
	case info.IsDir():
		return fileDirectory
	case info.IsLink():
		return fileLink
	}
	return fileOther
}

// look tells what is at a path; absent is no error.
func look(s *System, path string) (kind string, info Info, err error) {
	info, err = s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fileAbsent, Info{}, nil
	}
	if err != nil {
		return "", Info{}, err
	}
	return kindOf(info), info, nil
}

func (fileType) Check(_ context.Context, s *System, r resource.Resource) ([]Difference, error) {
	p, at, ensure := r.Parameters, pathOf(r), ensureOf(r)
	kind, info, err := look(s, at)
	if err != nil {
		return nil, err
	}
	if kind == fileOther {
		return nil, fmt.Errorf("%s is a device, pipe or socket; slipway does not touch it, remove it by hand", at)
	}
	c := comparison{resource: r}
	if ensure == filePresent {
		if ensure = kind; kind == fileAbsent {
			ensure = fileFile
		}
	}
	if c.state(kind, ensure); kind != ensure || ensure == fileAbsent {
		return c.found, nil
	}
	if kind == fileLink {
		if p.Has("target") {
			c.text("target", info.Target, p.String("target"))
		}
		return c.found, nil
	}
	if want, given, err := wantedContent(s, r); err != nil {
		return nil, err
	} else if given && kind == fileFile {
		is, err := s.ReadFile(at)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(is, want) {
			c.text("content", contentDigest(is), contentDigest(want))
		}
	}
	if p.Has("mode") {
		mode, err := parseMode(p.String("mode"))
		if err != nil {
			return nil, err
		}
		c.text("mode", fmt.Sprintf("%04o", chmodBits(info.Mode)), fmt.Sprintf("%04o", uint32(mode)))
	}
	if err := compareAccount(&c, "owner", info.UID, s.LookupUser, func() (map[int]string, error) { return userNames(s) }); err != nil {
		return nil, err
	}
	if err := compareAccount(&c, "group", info.GID, s.LookupGroup, func() (map[int]string, error) { return groupNames(s) }); err != nil {
		return nil, err
	}
	return c.found, nil
}

// compareAccount compares an owner. A name that the node does not know yet is a difference: its user may be made by another resource.
func compareAccount(c *comparison, parameter string, is int, lookup func(string) (int, bool, error), names func() (map[int]string, error)) error {
	if !c.resource.Parameters.Has(parameter) {
		return nil
	}
	should := c.resource.Parameters.String(parameter)
	id, ok, err := lookup(should)
	if err != nil || ok && id == is {
		return err
	}
	known, err := names()
	if err != nil {
		return err
	}
	name, found := known[is]
	if !found {
		name = strconv.Itoa(is)
	}
	c.text(parameter, name, should)
	return nil
}

func userNames(s *System) (map[int]string, error) {
	users, err := s.Users()
	out := make(map[int]string, len(users))
	for name, u := range users {
		if other, twice := out[u.UID]; !twice || name < other {
			out[u.UID] = name
		}
	}
	return out, err
}

func groupNames(s *System) (map[int]string, error) {
	groups, err := s.Groups()
	out := make(map[int]string, len(groups))
	for name, g := range groups {
		if other, twice := out[g.GID]; !twice || name < other {
			out[g.GID] = name
		}
	}
	return out, err
}

// wantedContent returns the content that a file should have; given is false when any will do.
func wantedContent(s *System, r resource.Resource) (content []byte, given bool, err error) {
	switch {
	case r.Parameters.Has("content"):
		return []byte(r.Parameters.String("content")), true, nil
	case r.Parameters.Has("source"):
		content, err := s.ReadFile(r.Parameters.String("source"))
		if err != nil {
			return nil, false, fmt.Errorf("source: %w", err)
		}
		return content, true, nil
	}
	return nil, false, nil
}

// contentDigest stands for a content in a difference, in Puppet's form.
func contentDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return "{sha256}" + hex.EncodeToString(sum[:4])
}

func (t fileType) Apply(_ context.Context, s *System, r resource.Resource) error {
	at, ensure := pathOf(r), ensureOf(r)
	kind, _, err := look(s, at)
	if err != nil {
		return err
	}
	if ensure == filePresent {
		if ensure = kind; kind == fileAbsent {
			ensure = fileFile
		}
	}
	if kind == fileOther {
		return fmt.Errorf("%s is a device, pipe or socket; slipway does not touch it, remove it by hand", at)
	}
	if ensure != fileAbsent {
		if err := parentThere(s, at); err != nil {
			return err
		}
	}
	a, err := wantedAttributes(s, r)
	if err != nil {
		return err
	}
	want, given, err := wantedContent(s, r)
	if err != nil {
		return err
	}
	if kind == fileDirectory && ensure != fileDirectory {
		if err := clearDirectory(s, at, r); err != nil {
			return err
		}
	}
	switch ensure {
	case fileAbsent:
		return s.Remove(at)
	case fileLink:
		if target := r.Parameters.String("target"); target != "" {
			return s.Symlink(at, target)
		}
		return nil
	case fileDirectory:
		if kind == fileDirectory {
			return s.SetAttributes(at, a)
		}
		if err := s.Remove(at); err != nil {
			return err
		}
		return s.Mkdir(at, a)
	}
	if kind == fileFile && !given {
		return s.SetAttributes(at, a)
	}
	return s.ReplaceFile(at, want, a)
}

// parentThere tells clearly when the directory is missing: slipway makes none that nobody asked for.
func parentThere(s *System, at string) error {
	parent := path.Dir(at)
	_, err := s.Lstat(parent + "/.")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the directory %s is not there; make it first, as a file resource with ensure = \"directory\"", parent)
	}
	return err
}

// clearDirectory removes a directory that is to give way, when the resource says that it may.
func clearDirectory(s *System, at string, r resource.Resource) error {
	names, err := s.ReadDir(at)
	if err != nil {
		return err
	}
	switch {
	case !r.Parameters.Bool("force"):
		return fmt.Errorf("%s is a directory; set force = true to remove it", at)
	case len(names) == 0:
		return s.Remove(at)
	case !r.Parameters.Bool("recurse"):
		return fmt.Errorf("%s is a directory that is not empty; set recurse = true to remove it with everything in it", at)
	}
	return s.RemoveAll(at)
}

func wantedAttributes(s *System, r resource.Resource) (Attributes, error) {
	var a Attributes
	p := r.Parameters
	if p.Has("mode") {
		mode, err := parseMode(p.String("mode"))
		if err != nil {
			return a, err
		}
		a.Mode = &mode
	}
	if p.Has("owner") {
		uid, ok, err := s.LookupUser(p.String("owner"))
		if err != nil {
			return a, err
		}
		if !ok {
			return a, fmt.Errorf("owner %q: no such user on the node; make it first, with require", p.String("owner"))
		}
		a.UID = &uid
	}
	if p.Has("group") {
		gid, ok, err := s.LookupGroup(p.String("group"))
		if err != nil {
			return a, err
		}
		if !ok {
			return a, fmt.Errorf("group %q: no such group on the node; make it first, with require", p.String("group"))
		}
		a.GID = &gid
	}
	return a, nil
}

// fileBefore is what was at a path before slipway touched it.
type fileBefore struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"` // of a link
	Kept   string `json:"kept,omitempty"`   // name of the copy of a file
	Mode   uint32 `json:"mode,omitempty"`   // of a file or directory, as in chmod
	UID    int    `json:"uid,omitempty"`
	GID    int    `json:"gid,omitempty"`
	Stays  bool   `json:"stays,omitempty"` // it was not to be kept, so Undo leaves what is there
}

func (fileType) Capture(_ context.Context, s *System, r resource.Resource) (json.RawMessage, error) {
	b := fileBefore{Path: pathOf(r)}
	kind, info, err := look(s, b.Path)
	if err != nil {
		return nil, err
	}
	b.Kind, b.Target, b.Mode, b.UID, b.GID = kind, info.Target, chmodBits(info.Mode), info.UID, info.GID
	if kind == fileFile {
		if r.Parameters.BoolOr("backup", true) {
			if b.Kept, err = s.Keep(b.Path); err != nil {
				return nil, err
			}
		} else {
			b.Stays = true
		}
	}
	return json.Marshal(b)
}

// Moved reports whether the resource is at another path now.
func (fileType) Moved(before json.RawMessage, r resource.Resource) (bool, error) {
	b, err := parseFileBefore(before)
	return err == nil && b.Path != pathOf(r), err
}

func parseFileBefore(before json.RawMessage) (fileBefore, error) {
	var b fileBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return b, fmt.Errorf("what the ledger tells of the file is damaged: %w", err)
	}
	if err := checkAbsolute(b.Path); err != nil {
		return b, fmt.Errorf("what the ledger tells of the file is damaged: path %w", err)
	}
	return b, nil
}

func (fileType) Undo(_ context.Context, s *System, _ string, before json.RawMessage) error {
	b, err := parseFileBefore(before)
	if err != nil {
		return err
	}
	kind, info, err := look(s, b.Path)
	if err != nil {
		return err
	}
	if b.Stays {
		return nil
	}
	if kind == fileDirectory && b.Kind != fileDirectory {
		names, err := s.ReadDir(b.Path)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			if b.Kind == fileAbsent {
				return nil // others keep files in it now: it is not slipway's alone any more
			}
			return fmt.Errorf("%s is a directory that is not empty, and a %s was there before; empty it first", b.Path, b.Kind)
		}
		if err := s.Remove(b.Path); err != nil {
			return err
		}
	}
	mode := fs.FileMode(b.Mode)
	a := Attributes{Mode: &mode, UID: &b.UID, GID: &b.GID}
	switch b.Kind {
	case fileAbsent:
		if kind == fileDirectory {
			return nil
		}
		return s.Remove(b.Path)
	case fileFile:
		return s.Restore(b.Kept, b.Path)
	case fileLink:
		if kind == fileLink && info.Target == b.Target {
			return nil
		}
		return s.Symlink(b.Path, b.Target)
	case fileDirectory:
		if kind == fileDirectory {
			return s.SetAttributes(b.Path, a)
		}
		if err := s.Remove(b.Path); err != nil {
			return err
		}
		return s.Mkdir(b.Path, a)
	}
	return fmt.Errorf("what the ledger tells of the file is damaged: it was %q", b.Kind)
}
