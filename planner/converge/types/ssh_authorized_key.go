package types

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// authorizedKeyType looks after one line of an authorized_keys, which is known by its comment.
type authorizedKeyType struct {
	recorded[authorizedKeyType, *authorizedKeyBefore]
}

func (authorizedKeyType) Schema() resource.Schema { return schema.SSHAuthorizedKey() }

// authorizedKeyBefore is what was there of a key before slipway touched it.
type authorizedKeyBefore struct {
	entries
	Name string `json:"name"`
}

var authorizedKeys = table{
	parts: []string{"key", "type", "options"}, fresh: row{}, alone: true, separator: ",", parse: parseKey,
	format: func(e row) string {
		text := e["type"] + " " + e["key"] + " " + e["name"]
		if e["options"] != "" {
			text = e["options"] + " " + text
		}
		return text
	},
}

// parseKey reads a line of authorized_keys: options with blanks in quotes only, where they are given, type, key and
// comment.
func parseKey(text string) (row, bool) {
	text = strings.TrimSpace(text)
	isType := func(word string) bool {
		return strings.HasPrefix(word, "ssh-") || strings.HasPrefix(word, "ecdsa-") || strings.HasPrefix(word, "sk-")
	}
	options, rest, quoted := "", text, false
	if first, _ := cutField(text); !isType(first) {
		end := strings.IndexFunc(text, func(c rune) bool {
			quoted = quoted != (c == '"')
			return !quoted && (c == ' ' || c == '\t')
		})
		if end < 0 {
			return nil, false
		}
		options, rest = text[:end], text[end:]
	}
	kind, rest := cutField(rest)
	key, name := cutField(rest)
	return row{"options": options, "type": kind, "key": key, "name": strings.TrimSpace(name)},
		isType(kind) && key != "" && !strings.HasPrefix(text, "#")
}

// named finds the lines with a comment.
func (authorizedKeyType) named(name string) finder {
	return authorizedKeys.find(func(e row) bool { return e["name"] == name })
}

// Resolve follows the links in the path, and takes a user's authorized_keys by its path.
func (authorizedKeyType) Resolve(s *Session, object string) string {
	file, rest, _ := strings.Cut(object, " ")
	if user, home := strings.CutPrefix(file, "~"); home {
		users, err := s.Users()
		if err != nil || users[user].Home == "" {
			return object
		}
		file = users[user].Home + schema.KeysBelowHome
	}
	return s.ResolveLinks(file, true) + " " + rest
}

var errNoUser = errors.New("no such user on the node; create it first, and require it")

// fileOf returns the file with the key, and the attributes of a new one and of its directory.
func (authorizedKeyType) fileOf(s *Session, r resource.Resource) (string, system.Attributes, error) {
	mode := fs.FileMode(0o600)
	a, file, name := system.Attributes{Mode: &mode}, r.Parameters.String("target"), r.Parameters.String("user")
	if name == "" || file != "" && !s.Machine() { // users mean nothing in a sandbox
		return file, a, nil
	}
	users, err := s.Users()
	if err != nil {
		return file, a, err
	}
	user, there := users[name]
	if !there {
		return "", a, fmt.Errorf("user %q: %w", name, errNoUser)
	}
	if s.Machine() {
		a.UID, a.GID = &user.UID, &user.GID
	}
	if file == "" {
		file = user.Home + schema.KeysBelowHome
	}
	return file, a, nil
}

func (t authorizedKeyType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	c := comparison{resource: r}
	file, _, err := t.fileOf(s, r)
	if errors.Is(err, errNoUser) { // at plan time the user may not be there yet
		c.present(false)
		return c.found, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := s.readText(file)
	if err != nil {
		return nil, err
	}
	if found := t.named(schema.KeyName(r))(f.lines); c.present(len(found) > 0) {
		authorizedKeys.compare(&c, f.lines, found)
	}
	return c.found, nil
}

func (t authorizedKeyType) capture(
	_ context.Context, s *Session, r resource.Resource,
) (*authorizedKeyBefore, error) {
	b := authorizedKeyBefore{Name: schema.KeyName(r)}
	file, _, err := t.fileOf(s, r)
	if errors.Is(err, errNoUser) && schema.WantsAbsent(r) {
		return &b, nil
	}
	if err != nil {
		return &b, err
	}
	b.entries, err = s.remember(r.Sensitive(), file, t.named(b.Name))
	authorizedKeys.widen(&b.entries, r, nil, nil)
	return &b, err
}

func (t authorizedKeyType) now(
	_ context.Context, s *Session, _ string, b *authorizedKeyBefore,
) (*authorizedKeyBefore, error) {
	n := authorizedKeyBefore{Name: b.Name}
	if b.In == "" {
		return &n, nil
	}
	var err error
	n.entries, err = s.remember(true, b.In, t.named(b.Name))
	n.Fields, n.Image = b.Fields, true
	return &n, err
}

func (t authorizedKeyType) widen(ctx context.Context, s *Session, r resource.Resource, b *authorizedKeyBefore) error {
	if b.In == "" { // there was no such user
		now, err := t.capture(ctx, s, r)
		*b = *now
		return err
	}
	f, err := s.readText(b.In)
	if err == nil {
		authorizedKeys.widen(&b.entries, r, f.lines, t.named(b.Name)(f.lines))
	}
	return err
}

// release returns the options of the line that was there; one that slipway made has none.
func (t authorizedKeyType) release(
	_ context.Context, s *Session, r resource.Resource, b *authorizedKeyBefore,
) (resource.Parameters, error) {
	return authorizedKeys.release(s, &b.entries, r, t.named(b.Name))
}

func (t authorizedKeyType) Apply(_ context.Context, s *Session, r resource.Resource) error {
	file, a, err := t.fileOf(s, r)
	if err != nil {
		return err
	}
	f, err := s.readText(file)
	if err != nil {
		return err
	}
	f.lines = authorizedKeys.set(f.lines, t.named(schema.KeyName(r))(f.lines), r)
	if f.there || len(f.lines) == 0 {
		return f.write(s, system.Attributes{})
	}
	if dir := path.Dir(file); !r.Parameters.Has("target") {
		private := fs.FileMode(0o700)
		there, err := s.Exists(dir)
		if err == nil && !there {
			err = s.Mkdir(dir, system.Attributes{Mode: &private, UID: a.UID, GID: a.GID})
		}
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w; make the home directory first, and require it", err)
		}
		if err != nil {
			return err
		}
	}
	if err := f.write(s, a); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; make the directory %s first, and require it", err, path.Dir(file))
	} else if err != nil {
		return err
	}
	return nil
}

func (t authorizedKeyType) there(_ context.Context, s *Session, _ string, b *authorizedKeyBefore) (bool, error) {
	return s.findsIn(b.In, t.named(b.Name))
}

func (t authorizedKeyType) undo(_ context.Context, s *Session, _ string, b *authorizedKeyBefore) error {
	if b.In == "" {
		return nil
	}
	return b.undo(s, t.named(b.Name), system.Attributes{}, func(l lines, found []span, former []block) lines {
		return authorizedKeys.undo(l, found, former, b.Fields)
	})
}
