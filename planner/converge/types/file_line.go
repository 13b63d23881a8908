package types

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// lineType looks after one line of a text file (the module puppetlabs-stdlib).
type lineType struct {
	recorded[lineType, *lineBefore]
	inFile
}

func (lineType) Schema() resource.Schema { return schema.FileLine() }

// lineBefore is what was there of a line before slipway touched it, and how to find it: Undo does not see the
// parameters, and the ledger must not have a line that is secret.
type lineBefore struct {
	entries
	Digest string `json:"digest,omitempty"` // of the line
	MAC    string `json:"mac,omitempty"`    // of a sensitive line, in place of Digest
	Match  string `json:"match,omitempty"`  // matches the lines that it takes the place of
	// Unended is the digest of the file's last line when that had no end.
	Unended string `json:"unended,omitempty"`

	line string // where the resource says it
	mac  func(text string) string
}

func lineBeforeOf(r resource.Resource) lineBefore {
	b := lineBefore{Match: r.Parameters.String("match")}
	if !r.Parameters.Bool("match_for_absence") {
		b.line = r.Parameters.String("line")
	}
	return b
}

// identify notes how the line is found by those who do not know it.
func (b *lineBefore) identify(s *Session, secret bool) (err error) {
	switch {
	case b.line == "":
	case secret:
		b.MAC, err = s.MAC("line", b.line)
	default:
		b.Digest = resource.SHA256(b.line)[:16]
	}
	return err
}

// open prepares a record of the ledger for find.
func (b *lineBefore) open(s *Session) error {
	if b.MAC == "" {
		return nil
	}
	_, err := s.MAC("line", "") // the key can be read
	b.mac = func(text string) string {
		mac, _ := s.MAC("line", text)
		return mac
	}
	return err
}

// find finds the lines that equal the line or, where none does, those that match.
func (b lineBefore) find(l lines) []span {
	if found := b.findLine(l); len(found) > 0 || b.Match == "" {
		return found
	}
	return l.matching(b.Match)
}

func (b lineBefore) findLine(l lines) []span {
	return l.having(func(text string) bool {
		return b.line != "" && text == b.line || b.Digest != "" && resource.SHA256(text)[:16] == b.Digest ||
			b.mac != nil && b.mac(text) == b.MAC
	})
}

// having returns the lines of which a function is true.
func (l lines) having(is func(text string) bool) (found []span) {
	for i, x := range l {
		if is(x.text) {
			found = append(found, span{i, i + 1})
		}
	}
	return found
}

// matching returns the lines that a regular expression, which its schema has checked, matches.
func (l lines) matching(expression string) []span {
	return l.having(regexp.MustCompile(expression).MatchString)
}

// Resolve follows the links in the path: a line is written into the file that a link leads to.
func (lineType) Resolve(s *Session, object string) string {
	file, rest, _ := strings.Cut(object, " ")
	return s.ResolveLinks(file, true) + " " + rest
}

func (lineType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	f, err := s.readText(r.Parameters.String("path"))
	if err != nil {
		return nil, err
	}
	c, should := comparison{resource: r}, r.Parameters.String("line")
	found := lineBeforeOf(r).find(f.lines)
	if c.present(len(found) > 0) && f.lines[found[0].from].text != should {
		c.text("line", f.lines[found[0].from].text, should)
	}
	return c.found, nil
}

func (lineType) capture(_ context.Context, s *Session, r resource.Resource) (*lineBefore, error) {
	b := lineBeforeOf(r)
	if err := b.identify(s, r.Sensitive()); err != nil {
		return &b, err
	}
	return captureLine(s, r.Sensitive(), r.Parameters.String("path"), b)
}

func (b *lineBefore) locate(r resource.Resource) { b.In = r.Parameters.String("path") }

func (lineType) now(_ context.Context, s *Session, _ string, b *lineBefore) (*lineBefore, error) {
	if err := b.open(s); err != nil {
		return nil, err
	}
	n, err := captureLine(s, true, b.In, *b)
	n.Image = true
	return n, err
}

func captureLine(s *Session, secret bool, path string, b lineBefore) (*lineBefore, error) {
	f, err := s.readText(path)
	if err != nil {
		return &b, err
	}
	b.Unended = unended(f.lines)
	b.entries, err = s.remember(secret, path, b.find)
	b.Made = nil // a missing directory is an error of Apply: slipway makes none here, so it removes none either
	return &b, err
}

func (lineType) Apply(_ context.Context, s *Session, r resource.Resource) error {
	p := r.Parameters
	f, err := s.readText(p.String("path"))
	if err != nil {
		return err
	}
	if f.lines, err = setLine(f.lines, r); err != nil {
		return err
	}
	var a system.Attributes
	if !f.there && r.Sensitive() {
		private := fs.FileMode(0o600)
		a.Mode = &private
	}
	err = f.write(s, a)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; make the directory %s first, and require it", err, path.Dir(f.path))
	}
	return err
}

// setLine returns the lines with the line of r, or without it.
func setLine(l lines, r resource.Resource) (lines, error) {
	p := r.Parameters
	found, line := lineBeforeOf(r).find(l), p.String("line")
	absent := schema.WantsAbsent(r)
	if err := severalOf(r, "match", found); err != nil && p.Has("match") && (absent || l[found[0].from].text != line) {
		return nil, err
	}
	if len(found) > 0 || absent {
		for _, x := range slices.Backward(found) {
			if absent {
				l = l.remove(x)
			} else {
				l = l.replace(x, line)
			}
		}
		return l, nil
	}
	places := []span{}
	if p.Has("after") {
		places = l.matching(p.String("after"))
	}
	if err := severalOf(r, "after", places); err != nil {
		return nil, err
	}
	l = l.close()
	if len(places) == 0 {
		return l.insert(len(l), line), nil
	}
	for _, x := range slices.Backward(places) {
		l = l.insert(x.to, line)
	}
	return l, nil
}

// severalOf is the error of an expression that matches more lines than the resource permits.
func severalOf(r resource.Resource, parameter string, found []span) error {
	if len(found) < 2 || r.Parameters.Bool("multiple") {
		return nil
	}
	return fmt.Errorf("%s: matches %d lines of %s, the first of them line %d; make it match one, or set multiple = true",
		parameter, len(found), r.Parameters.String("path"), found[0].from+1)
}

func (lineType) there(_ context.Context, s *Session, _ string, b *lineBefore) (bool, error) {
	if err := b.open(s); err != nil {
		return false, err
	}
	return s.findsIn(b.In, b.find)
}

func (lineType) undo(_ context.Context, s *Session, _ string, b *lineBefore) error {
	if err := b.open(s); err != nil {
		return err
	}
	return b.undo(s, b.find, system.Attributes{}, func(l lines, found []span, former []block) lines {
		l = l.restore(found, former, len(b.findLine(l))) // lines that only match are somebody else's
		if last := len(l) - 1; b.Unended != "" && l.digest(last) == b.Unended {
			l = slices.Clone(l)
			l[last].end = ""
		}
		return l
	})
}
