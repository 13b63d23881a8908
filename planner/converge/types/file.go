package types

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// fileType manages files, directories and links.
type fileType struct {
	recorded[fileType, *fileBefore]
}

func (fileType) Schema() resource.Schema { return schema.File() }

// What a file can be.
const (
	fileFile      = "file"
	filePresent   = "present"
	fileDirectory = "directory"
	fileLink      = "link"
	fileAbsent    = "absent"
	fileOther     = "other" // a device, a pipe, a socket: found, never wanted
)

// kindOf returns what is at a path.
func kindOf(info system.Info) string {
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

// look returns what is at a path; absent is no error.
func look(s *Session, path string) (kind string, info system.Info, err error) {
	info, err = s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fileAbsent, system.Info{}, nil
	}
	if err != nil {
		return "", system.Info{}, err
	}
	return kindOf(info), info, nil
}

// wantedKind returns what is to be at the path, where kind is what is there now: the same, absent included, for a
// resource that gives attributes only. Present is anything, but only a file has content.
func wantedKind(r resource.Resource, kind string) string {
	switch ensure := schema.FileEnsure(r); {
	case ensure == "":
		return kind
	case ensure != filePresent:
		return ensure
	case kind == fileAbsent || hasContent(r):
		return fileFile
	}
	return kind
}

func (fileType) Check(ctx context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	p, at := r.Parameters, schema.FilePath(r)
	kind, info, err := look(s, at)
	if err != nil {
		return nil, err
	}
	if kind == fileOther && schema.FileEnsure(r) != "" {
		return nil, errFileOther(at)
	}
	c, ensure := comparison{resource: r}, wantedKind(r, kind)
	if c.state(kind, ensure); kind != ensure || ensure == fileAbsent {
		return c.found, nil
	}
	if kind == fileLink && p.Has("target") {
		c.text("target", info.Target, p.String("target"))
	}
	if want, err := wantedContent(s, r, kind); err != nil {
		return nil, err
	} else if want != nil && kind == fileFile {
		is, _, err := s.sum(at)
		if err != nil {
			return nil, err
		}
		switch {
		case is == want.sum:
		case s.hasSecret(at):
			c.found = append(c.found, Difference{"content", Hidden, Hidden})
		default:
			c.text("content", shortSum(is), shortSum(want.sum))
		}
	}
	switch {
	case p.Has("mode") && kind == fileLink:
		s.note(at + " is a link, and links have no mode of their own; mode is ignored")
	case p.Has("mode"):
		mode, err := wantedMode(p.String("mode"), ensure, system.ChmodBits(info.Mode))
		if err != nil {
			return nil, err
		}
		c.text("mode", fmt.Sprintf("%04o", system.ChmodBits(info.Mode)), fmt.Sprintf("%04o", uint32(mode)))
	}
	for _, o := range owners(s, r.Type) {
		if err := o.compare(&c, o.of(info)); err != nil {
			return nil, err
		}
	}
	err = compareBelow(ctx, s, &c)
	return c.found, err
}

// errFileOther refuses to replace or remove a device, pipe or socket.
func errFileOther(at string) error {
	return fmt.Errorf("%s is a device, pipe or socket; slipway changes nothing but its attributes, remove it by hand", at)
}

// owner is one of the two parameters that say whose a file is.
type owner struct {
	parameter, what string // owner, user; of an archive both are user
	lookup          func(name string) (id int, known bool, err error)
	names           func() (map[int]string, error)
	of              func(info system.Info) int
	in              func(a *system.Attributes) **int
}

// owners returns the owner and the group as a type has them.
func owners(s *Session, typ string) []owner {
	user := "owner"
	if typ == "archive" {
		user = "user"
	}
	return []owner{
		{
			user, "user", s.LookupUser, func() (map[int]string, error) {
				users, err := s.Users()
				return namesOf(users, func(u system.User) int { return u.UID }), err
			},
			func(info system.Info) int { return info.UID }, func(a *system.Attributes) **int { return &a.UID },
		},
		{
			"group", "group", s.LookupGroup, func() (map[int]string, error) {
				groups, err := s.Groups()
				return namesOf(groups, func(g system.Group) int { return g.GID }), err
			},
			func(info system.Info) int { return info.GID }, func(a *system.Attributes) **int { return &a.GID },
		},
	}
}

// namesOf returns the names of accounts by id; of several, the first by name.
func namesOf[T any](accounts map[string]T, id func(T) int) map[int]string {
	out := make(map[int]string, len(accounts))
	for name, account := range accounts {
		if other, twice := out[id(account)]; !twice || name < other {
			out[id(account)] = name
		}
	}
	return out
}

// name returns the name of an id, or the number.
func (o owner) name(id int) (string, error) {
	names, err := o.names()
	return cmp.Or(names[id], strconv.Itoa(id)), err
}

// compare notes another owner. A name that the node does not know yet is a difference: its user may be made by another
// resource.
func (o owner) compare(c *comparison, is int) error {
	if !c.resource.Parameters.Has(o.parameter) {
		return nil
	}
	should := c.resource.Parameters.String(o.parameter)
	id, ok, err := o.lookup(should)
	if err != nil || ok && id == is {
		return err
	}
	name, err := o.name(is)
	c.text(o.parameter, name, should)
	return err
}

func (t fileType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	at := schema.FilePath(r)
	kind, info, err := look(s, at)
	if err != nil {
		return err
	}
	ensure := wantedKind(r, kind)
	if kind == fileOther && ensure != kind {
		return errFileOther(at)
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
	if x, returns := r.Parameters[returningExtended].(system.Extended); returns {
		a.Extended = &x
	}
	is := system.ChmodBits(info.Mode)
	if kind != ensure {
		mode := newMode(r, ensure)
		if is = uint32(mode); ensure == fileFile { // a directory has the group bit of the one that it is in
			a.Mode = &mode
		}
	}
	if p := r.Parameters; p.Has("mode") && ensure != fileLink {
		mode, err := wantedMode(p.String("mode"), ensure, is)
		if err != nil {
			return err
		}
		a.Mode = &mode
	}
	want, err := wantedContent(s, r, kind)
	if err != nil {
		return err
	}
	if kind == fileFile && ensure != fileFile {
		if err := copyBeside(s, r); err != nil {
			return err
		}
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
		if target := r.Parameters.String("target"); target != "" && (kind != fileLink || target != info.Target) {
			if err := s.Symlink(at, target); err != nil {
				return err
			}
		}
		return s.SetAttributes(at, a)
	case fileOther:
		return s.SetAttributes(at, a)
	case fileDirectory:
		if err := applyDirectory(s, at, kind, a); err != nil {
			return err
		}
		return applyBelow(ctx, s, r, a)
	}
	if want == nil && kind == fileFile {
		return s.SetAttributes(at, a)
	}
	if want == nil {
		want = contentOf(nil)
	}
	replace := func(content io.Reader) error {
		if kind == fileFile {
			is, _, err := s.sum(at)
			if err == nil && is != want.sum {
				err = copyBeside(s, r)
			}
			if err != nil {
				return err
			}
		}
		return s.ReplaceFrom(at, content, a)
	}
	if r.Parameters.Has("validate_cmd") {
		return validated(ctx, s, r, at, want, replace)
	}
	return want.read(ctx, replace)
}

// validated runs the command that says whether a content is valid, on a file beside the one at a path, and calls
// replace with the content when it is.
func validated(ctx context.Context, s *Session, r resource.Resource, at string, want *content,
	replace func(io.Reader) error) (err error) {
	words := r.Parameters.Strings("validate_cmd")
	candidate := path.Join(path.Dir(at), "."+path.Base(at)+".slipway-check")
	special := func(c rune) bool {
		return c < utf8.RuneSelf && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/._-+@:,=", c)
	}
	if len(words) == 1 && strings.ContainsFunc(candidate, special) {
		return fmt.Errorf("validate_cmd: a shell would read some characters of %q; write the command as a list", at)
	}
	argv := make([]string, len(words))
	for i, w := range words {
		argv[i] = strings.ReplaceAll(w, "%", candidate)
	}
	if len(argv) == 1 {
		argv = []string{"/bin/sh", "-c", argv[0]}
	}
	private := fs.FileMode(0o600)
	write := func(content io.Reader) error {
		return s.ReplaceFrom(candidate, content, system.Attributes{Mode: &private})
	}
	if err := want.read(ctx, write); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Remove(candidate)) }()
	out, err := s.Run(ctx, system.Command{Argv: argv, EndsWithSession: true})
	if err == nil && out.Status != 0 {
		err = fmt.Errorf("it ended with status %d, so the file was left as it is", out.Status)
	}
	if err = commandError(r, strings.Join(words, " "), out, err); err != nil {
		return fmt.Errorf("validate_cmd: %w", err)
	}
	if want.sent { // it is not sent twice
		written, err := s.contentAt(candidate)
		if err == nil && written.sum != want.sum {
			err = fmt.Errorf("validate_cmd: it has changed the file that it was to check")
		}
		if err != nil {
			return err
		}
		want = written
	}
	return want.read(ctx, replace)
}

// applyDirectory makes a directory, where kind is what is there now, or sets its attributes.
func applyDirectory(s *Session, at, kind string, a system.Attributes) error {
	if kind == fileDirectory {
		return s.SetAttributes(at, a)
	}
	if err := s.Remove(at); err != nil {
		return err
	}
	return s.Mkdir(at, a)
}

// parentThere returns a clear error when the directory is missing: slipway makes none that nobody asked for.
func parentThere(s *Session, at string) error {
	parent := path.Dir(at)
	_, err := s.Lstat(parent + "/.")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the directory %s is not there; "+
			"make it first, as a file resource with ensure = \"directory\", or name what makes it in require", parent)
	}
	return err
}

// clearDirectory removes a directory that is to give way, when the resource says that it may.
func clearDirectory(s *Session, at string, r resource.Resource) error {
	if !r.Parameters.Bool("force") {
		return fmt.Errorf("%s is a directory; set force = true to remove it, with everything in it", at)
	}
	return s.RemoveAll(at)
}

// wantedAttributes returns the owner and group that a resource wants.
func wantedAttributes(s *Session, r resource.Resource) (system.Attributes, error) {
	var a system.Attributes
	for _, o := range owners(s, r.Type) {
		if !r.Parameters.Has(o.parameter) {
			continue
		}
		name := r.Parameters.String(o.parameter)
		id, ok, err := o.lookup(name)
		if err == nil && !ok {
			err = fmt.Errorf("%s %q: no such %s on the node; make it first, with require", o.parameter, name, o.what)
		}
		if err != nil {
			return a, err
		}
		*o.in(&a) = &id
	}
	return a, nil
}

// wantedMode returns the mode that a resource wants of a file or directory, as kind says. is has the mode of what is
// there, or of a new one.
func wantedMode(text, kind string, is uint32) (fs.FileMode, error) {
	m, err := schema.ParseMode(text)
	return fs.FileMode(m.Of(is, kind == fileDirectory)), err
}

// newMode returns the mode of a new file or directory whose resource gives none: what is sensitive is for nobody else.
func newMode(r resource.Resource, kind string) fs.FileMode {
	switch {
	case kind == fileDirectory:
		return 0o755
	case r.Sensitive():
		return 0o600
	}
	return 0o644
}
