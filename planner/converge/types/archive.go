package types

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// archiveType fetches an archive and extracts it, or puts it at its path. What it extracted is recorded, so that Check
// needs no archive, and a later archive removes what is in it no longer.
type archiveType struct {
	recorded[archiveType, *archiveBefore]
}

func (archiveType) Schema() resource.Schema { return schema.Archive() }

// archiveBefore is what an archive brought, and what was there before.
type archiveBefore struct {
	Path    string `json:"path"`              // the directory that it is extracted into, else that of the archive itself
	Version string `json:"version,omitempty"` // the checksum of what it brings, with its type; empty when that is nothing
	// Brings and Former are the kept lists of what it brings, and of what an earlier archive brought and this one does
	// not: that goes.
	Brings string `json:"brings,omitempty"`
	Former string `json:"former,omitempty"`
	// Files are the files and links that were there before in the place of what it brings.
	Files []fileBefore `json:"files,omitempty"`
	Made  []string     `json:"made,omitempty"` // the directory, and those above it, that were not there
	Kept  *fileBefore  `json:"kept,omitempty"` // what was at the path of the archive itself
}

// check is called by decode.
func (b archiveBefore) check() error {
	errs := []error{schema.CheckAbsolute(b.Path)}
	for _, f := range b.Files {
		errs = append(errs, f.check())
	}
	if b.Kept != nil {
		errs = append(errs, b.Kept.check())
	}
	return errors.Join(errs...)
}

// archivePaths returns what an entry of the ledger says that an archive brought, other than directories.
func archivePaths(s *Session, e *ledger.Entry) (paths []string) {
	if e.Type != "archive" {
		return nil
	}
	b, err := decode[*archiveBefore](e.Before)
	if err != nil {
		return nil // its own undo reports that
	}
	brings, err := b.list(s, b.Brings)
	if err != nil {
		return nil // as above
	}
	for _, x := range brings {
		if x.Kind != fileDirectory {
			paths = append(paths, b.at(x))
		}
	}
	return paths
}

func (b *archiveBefore) at(x extracted) string { return path.Join(b.Path, string(x.Path)) }

// look returns what is there of something that the archive brings.
func (b *archiveBefore) look(s *Session, x extracted) (kind string, info system.Info, err error) {
	kind, info, err = look(s, b.at(x))
	if errors.Is(err, syscall.ENOTDIR) { // others have put something in the place of its directory
		return fileAbsent, system.Info{}, nil
	}
	return kind, info, err
}

// list returns a kept list.
func (b *archiveBefore) list(s *Session, name string) (list []extracted, err error) {
	if name == "" {
		return nil, nil
	}
	content, err := s.kept(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, gone{fmt.Sprintf("the list of what was extracted into %s is gone from %s, so that stays", b.Path,
			system.BackupPath)}
	}
	if err == nil {
		err = json.Unmarshal(content, &list)
	}
	for _, x := range list {
		if p := string(x.Path); p == "" || path.IsAbs(p) || path.Clean("/"+p) != "/"+p {
			return nil, fmt.Errorf("the list of what was extracted into %s is damaged", b.Path)
		}
	}
	return list, err
}

// keepList keeps a list, under a name of its own.
func keepList(s *Session, list []extracted) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	return s.keepText("list "+resource.SHA256(text), string(text))
}

// archiveFile is the archive itself, at its path, as a resource of the type file.
func archiveFile(r resource.Resource) resource.Resource {
	f := resource.Resource{Type: "file", Title: schema.FilePath(r), Parameters: resource.Parameters{
		"ensure": fileFile, "content": "", // whatever it is: its content is the archive's
	}}
	if schema.WantsAbsent(r) {
		f.Parameters = resource.Parameters{"ensure": fileAbsent}
		return f
	}
	for parameter, of := range map[string]string{"owner": "user", "group": "group"} {
		if r.Parameters.Has(of) {
			f.Parameters[parameter] = r.Parameters[of]
		}
	}
	return f
}

// archiveAttributes returns the owner and group of all that comes from an archive.
func archiveAttributes(s *Session, r resource.Resource) (system.Attributes, error) {
	uid, gid := os.Geteuid(), os.Getegid()
	a, err := wantedAttributes(s, r)
	return a.Or(system.Attributes{UID: &uid, GID: &gid}), err
}

// satisfied reports whether what the archive creates is there.
func (archiveType) satisfied(s *Session, r resource.Resource) (bool, error) {
	creates := r.Parameters.String("creates")
	if creates == "" {
		return false, nil
	}
	return s.Exists(creates)
}

func (t archiveType) Check(ctx context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	c := comparison{resource: r}
	if schema.WantsAbsent(r) {
		if !schema.ArchiveKept(r) {
			return nil, nil // what was extracted is undone, because the aim is another one
		}
		return fileType{}.Check(ctx, s, archiveFile(r))
	}
	if schema.ArchiveFetched(r) && !s.Machine() {
		return nil, fmt.Errorf("source is a URL, which a program of the node fetches: %w", system.ErrSandbox)
	}
	version, err := archiveVersion(s, r)
	if err != nil {
		return nil, err
	}
	if schema.ArchiveKept(r) {
		if err := compareKept(&c, s, version); err != nil {
			return nil, err
		}
	}
	if !r.Parameters.Bool("extract") {
		return c.found, nil
	}
	b := &archiveBefore{}
	if s.Ledger != nil {
		if e := s.Ledger.Entry(s.Site, r.ID()); e != nil {
			if b, err = decode[*archiveBefore](e.Before); err != nil {
				return nil, err
			}
		}
	}
	there, err := t.satisfied(s, r)
	switch {
	case err != nil:
		return nil, err
	case b.Brings == "":
		if !there {
			c.found = append(c.found, ensureDifference(false))
		}
		return c.found, nil
	case version != "" && version != b.Version:
		c.text("checksum", shortVersion(b.Version), shortVersion(version))
		return c.found, nil
	case there:
		return c.found, nil
	}
	return c.found, b.compare(ctx, &c, s)
}

// shortVersion stands for an archive in a difference, in Puppet's form.
func shortVersion(version string) string {
	if typ, sum, ok := strings.Cut(version, "}"); ok && len(sum) > 8 {
		return typ + "}" + sum[:8]
	}
	return version
}

// compareKept notes how the file at the path of the archive differs from it.
func compareKept(c *comparison, s *Session, version string) error {
	r := c.resource
	at := schema.FilePath(r)
	kind, info, err := look(s, at)
	if err != nil {
		return err
	}
	if c.state(kind, fileFile); kind != fileFile {
		return nil
	}
	sum, err := digestOfFile(s, at, newHash(r))
	if is := "{" + schema.ArchiveChecksumType(r) + "}" + sum; err == nil && version != "" && is != version {
		c.text("checksum", shortVersion(is), shortVersion(version))
	}
	if err != nil {
		return err
	}
	for _, o := range owners(s, r.Type) {
		if err := o.compare(c, o.of(info)); err != nil {
			return err
		}
	}
	return nil
}

// deviation collects what deviates in one way from what an archive brought.
type deviation struct {
	is, should string // of the first one
	more       int
}

// compare notes how the node differs from what the archive brought.
func (b *archiveBefore) compare(ctx context.Context, c *comparison, s *Session) error {
	brings, err := b.list(s, b.Brings)
	if err != nil {
		return errors.New("the list of what was extracted is gone or damaged; remove the resource from the site, then add " +
			"it again")
	}
	former, err := b.list(s, b.Former)
	if err != nil {
		former = nil // what is not known cannot go
	}
	a, unknown := archiveAttributes(s, c.resource)
	found := map[string]*deviation{}
	note := func(parameter, is, should string, x extracted) {
		if d := found[parameter]; d != nil {
			d.more++
			return
		}
		found[parameter] = &deviation{is: is + " (" + string(x.Path) + ")", should: should}
	}
	managed := s.managed()
	for _, x := range brings {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if managed[s.ResolveLinks(b.at(x), false)] {
			continue // it has a resource of its own
		}
		if err := b.compareOne(s, x, a, note); err != nil {
			return err
		}
	}
	for _, x := range former {
		if managed[s.ResolveLinks(b.at(x), false)] {
			continue
		}
		if there, err := b.formerThere(s, x); err != nil {
			return err
		} else if there {
			note("former", "present", fileAbsent, x)
		}
	}
	if unknown != nil { // an account that another resource may make
		c.text("user", "not known", c.resource.Parameters.StringOr("user", c.resource.Parameters.String("group")))
	}
	for _, parameter := range []string{"ensure", "content", "target", "mode", "user", "group", "former"} {
		if d := found[parameter]; d != nil {
			c.text(parameter, d.is+andMore(d.more), d.should)
		}
	}
	return nil
}

// formerThere reports whether a file or link that an earlier archive brought is still there, and what was there before
// it is not back.
func (b *archiveBefore) formerThere(s *Session, x extracted) (bool, error) {
	kind, info, err := b.look(s, x)
	f := b.before(b.at(x))
	if err != nil || f == nil || kind != x.Kind || kind == fileDirectory {
		return err == nil && kind != fileAbsent && f == nil && x.Kind != fileDirectory, err
	}
	if kind == fileLink {
		return info.Target == string(x.Target) && f.Target != x.Target, nil
	}
	same, _, err := b.same(s, x, info)
	if err != nil || !same {
		return false, err
	}
	content, err := s.kept(f.Kept)
	return err == nil && resource.SHA256(content) != x.Digest, nil //nolint:nilerr // without its copy nothing comes back
}

// compareOne notes how one thing differs from what the archive brought.
func (b *archiveBefore) compareOne(
	s *Session, x extracted, a system.Attributes, note func(parameter, is, should string, x extracted),
) error {
	kind, info, err := b.look(s, x)
	if err != nil {
		return err
	}
	switch {
	case kind != x.Kind:
		note("ensure", kind, x.Kind, x)
		return nil
	case kind == fileLink && info.Target != string(x.Target):
		note("target", info.Target, string(x.Target), x)
	case kind == fileFile:
		same, sum, err := b.same(s, x, info)
		if err != nil {
			return err
		}
		if !same {
			note("content", "{sha256}"+sum[:8], "{sha256}"+x.Digest[:8], x)
		}
	}
	if is := system.ChmodBits(info.Mode); kind != fileLink && is != x.Mode {
		note("mode", fmt.Sprintf("%04o", is), fmt.Sprintf("%04o", x.Mode), x)
	}
	for _, o := range owners(s, "archive") {
		if id := *o.in(&a); id != nil && *id != o.of(info) {
			is, err := o.name(o.of(info))
			if err != nil {
				return err
			}
			should, err := o.name(*id)
			if err != nil {
				return err
			}
			note(o.parameter, is, should, x)
		}
	}
	return nil
}

// same reports whether a file has the content that the archive brings, and its digest otherwise.
func (b *archiveBefore) same(s *Session, x extracted, info system.Info) (same bool, sum string, err error) {
	sum, err = digestOfFile(s, b.at(x), newHash(resource.Resource{}))
	if err == nil && sum == "" {
		err = fmt.Errorf("%s: %w", b.at(x), fs.ErrNotExist)
	}
	return info.Size == x.Size && sum == x.Digest, sum, err
}

func (archiveType) capture(ctx context.Context, s *Session, r resource.Resource) (*archiveBefore, error) {
	b := &archiveBefore{Path: schema.FilePath(r)}
	if schema.WantsAbsent(r) && !schema.ArchiveKept(r) {
		return b, schema.CheckAbsolute(b.Path)
	}
	if schema.ArchiveKept(r) {
		var err error
		if b.Kept, err = (fileType{}).capture(ctx, s, archiveFile(r)); err != nil || !r.Parameters.Bool("extract") {
			return b, err
		}
	}
	b.Path = r.Parameters.String("extract_path")
	return b, b.widen(ctx, s, r)
}

func (archiveType) widen(ctx context.Context, s *Session, r resource.Resource, b *archiveBefore) error {
	if schema.WantsAbsent(r) {
		return nil
	}
	if schema.ArchiveKept(r) && b.Kept != nil {
		if err := (fileType{}).widen(ctx, s, archiveFile(r), b.Kept); err != nil {
			return err
		}
	}
	if !r.Parameters.Bool("extract") {
		return nil
	}
	return b.widen(ctx, s, r)
}

// widen takes down what the archive brings and what is there in its place, unless that is known or it is not extracted.
func (b *archiveBefore) widen(ctx context.Context, s *Session, r resource.Resource) error {
	if there, err := (archiveType{}).satisfied(s, r); err != nil || there && b.Brings == "" {
		return err
	}
	version, err := archiveVersion(s, r)
	if err != nil || b.Version != "" && (version == "" || version == b.Version) {
		return err // without a file on the node, there is nothing else to extract
	}
	o, err := openedArchive(ctx, s, r)
	if err != nil {
		return err
	}
	was, err := b.list(s, b.Brings)
	if err != nil {
		return err
	}
	former, err := b.list(s, b.Former)
	if err != nil {
		return err
	}
	former = append(was, former...)
	slices.SortFunc(former, byPath)
	brings, err := b.takeDown(s, o.brings, former)
	if err != nil {
		return err
	}
	if b.Former, err = keepList(s, without(former, brings)); err != nil {
		return err
	}
	b.Version = o.version
	b.Brings, err = keepList(s, brings)
	return err
}

// without returns what is in a list and not in another one.
func without(list, other []extracted) []extracted {
	paths := pathsOf(other)
	return slices.DeleteFunc(list, func(x extracted) bool { return paths[x.Path] })
}

func byPath(x, y extracted) int { return strings.Compare(string(x.Path), string(y.Path)) }

func pathsOf(list []extracted) map[octets]bool {
	paths := map[octets]bool{}
	for _, x := range list {
		paths[x.Path] = true
	}
	return paths
}

func (t archiveType) Apply(ctx context.Context, s *Session, r resource.Resource) (err error) {
	if schema.WantsAbsent(r) {
		return fileType{}.Apply(ctx, s, archiveFile(r))
	}
	o, err := openedArchive(ctx, s, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeArchive(s)) }()
	a, err := archiveAttributes(s, r)
	if err != nil {
		return err
	}
	if schema.ArchiveKept(r) {
		if err := o.put(s, r, a); err != nil {
			return err
		}
	}
	if !r.Parameters.Bool("extract") {
		return nil
	}
	if s.Ledger == nil || s.Ledger.Entry(s.Site, r.ID()) == nil {
		return errors.New("internal error: what the archive brings is not recorded; please report it")
	}
	b, err := decode[*archiveBefore](s.Ledger.Entry(s.Site, r.ID()).Before)
	if err != nil || b.Brings == "" { // what it creates is there
		return err
	}
	return b.extract(ctx, s, o, a)
}

// Resolve follows the links in the directory of the path.
func (archiveType) Resolve(s *Session, object string) string { return fileType{}.Resolve(s, object) }
