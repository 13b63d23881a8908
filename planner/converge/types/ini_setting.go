package types

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// iniType looks after one setting of an ini file (the module puppetlabs-inifile). It changes the value in its line, and
// keeps everything else byte for byte.
type iniType struct {
	recorded[iniType, *iniBefore]
	inFile
}

func (iniType) Schema() resource.Schema { return schema.IniSetting() }

// placeOf returns the place of r in a file.
func placeOf(r resource.Resource) iniPlace { return iniPlace{schema.IniPlaceOf(r)} }

// iniBefore is what was there of a setting before slipway touched it, and where that is: Undo does not see the
// parameters.
type iniBefore struct {
	entries
	iniPlace
	SectionThere bool `json:"section_there"`
	Blank        bool `json:"blank,omitempty"` // a section that slipway makes gets a blank line before it
	// Unended is the digest of the file's last line when that had no end.
	Unended string `json:"unended,omitempty"`
}

// Resolve follows the links in the path: a setting is written into the file that a link leads to.
func (iniType) Resolve(s *Session, object string) string {
	file, rest, _ := strings.Cut(object, " [")
	return s.ResolveLinks(file, true) + " [" + rest
}

// Aim takes how the lines are found, which an earlier slipway did not say, from the first form of the setting.
func (iniType) Aim(_ *Session, _, recorded string, before json.RawMessage) (string, error) {
	b, err := decode[*iniBefore](before)
	if err != nil || recorded != "" {
		return recorded, err
	}
	return b.Aim(), nil
}

func (iniType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	p := placeOf(r)
	f, err := s.readText(p.Path)
	if err != nil {
		return nil, err
	}
	c := comparison{resource: r}
	values := p.values(f.lines)
	if !c.present(len(values) > 0) {
		return c.found, nil
	}
	should := r.Parameters.String("value")
	if i := slices.IndexFunc(values, func(is string) bool { return is != should }); i >= 0 {
		c.text("value", values[i], should)
	}
	if len(values) > 1 {
		c.oneLine("setting", len(values))
	}
	return c.found, nil
}

func (iniType) capture(_ context.Context, s *Session, r resource.Resource) (*iniBefore, error) {
	return captureIni(s, r.Sensitive(), placeOf(r))
}

func (b *iniBefore) locate(r resource.Resource) {
	b.Path = placeOf(r).Path
	b.In = b.Path
}

func (iniType) now(_ context.Context, s *Session, _ string, b *iniBefore) (*iniBefore, error) {
	n, err := captureIni(s, true, b.iniPlace)
	n.Blank, n.Image = b.Blank, true
	return n, err
}

func captureIni(s *Session, secret bool, p iniPlace) (*iniBefore, error) {
	var b iniBefore
	e, err := s.remember(secret, p.Path, p.find)
	if err != nil {
		return &b, err
	}
	f, err := s.readText(p.Path)
	if err != nil {
		return &b, err
	}
	// A missing directory is an error of Apply: slipway makes none here, so it removes none either.
	e.Made = nil
	b = iniBefore{
		entries: e, iniPlace: p, SectionThere: p.Section == "" || len(p.sections(f.lines)) > 0,
		Blank: p.wantsBlank(f.lines), Unended: unended(f.lines),
	}
	return &b, b.inherit(s)
}

// inherit corrects b for a section, and for an end of the last line, that are there only because slipway made them for
// another setting.
func (b *iniBefore) inherit(s *Session) error {
	_, err := othersIn(s, b.In, func(e *ledger.Entry, _ entries) (bool, error) {
		if e.Type != "ini_setting" {
			return false, nil
		}
		other, err := decode[*iniBefore](e.Before)
		b.Unended = cmp.Or(b.Unended, other.Unended)
		if b.SectionThere && !other.SectionThere && other.Section == b.Section &&
			other.Prefix == b.Prefix && other.Suffix == b.Suffix {
			b.SectionThere, b.Blank = false, other.Blank
		}
		return false, err
	})
	return err
}

func (iniType) Apply(_ context.Context, s *Session, r resource.Resource) error {
	p := placeOf(r)
	f, err := s.readText(p.Path)
	if err != nil {
		return err
	}
	was := f.lines
	if schema.WantsAbsent(r) {
		f.lines = p.unset(f.lines)
		b, err := ownIni(s)
		if err != nil {
			return err
		}
		if b != nil && !b.SectionThere && b.Section == p.Section {
			f.lines = b.removeSection(f.lines, b.Blank)
		}
	} else {
		f.lines = p.set(f.lines, r.Parameters.String("value"))
	}
	if !slices.Equal(was, f.lines) {
		f.lines = f.lines.close()
	}
	var a system.Attributes
	if !f.there && r.Sensitive() {
		private := fs.FileMode(0o600)
		a.Mode = &private
	}
	err = f.write(s, a)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; make the directory %s first, and require it", err, path.Dir(p.Path))
	}
	return err
}

// ownIni returns what the ledger has of the resource at work, nil when it has nothing.
func ownIni(s *Session) (*iniBefore, error) {
	if s.Ledger == nil {
		return nil, nil
	}
	e := s.Ledger.Entry(s.Site, s.ID)
	if e == nil || len(e.Before) == 0 {
		return nil, nil
	}
	return decode[*iniBefore](e.Before)
}

func (iniType) there(_ context.Context, s *Session, _ string, b *iniBefore) (bool, error) {
	return s.findsIn(b.Path, b.find)
}

// undo brings the setting's former lines back. All lines that it has now count as slipway's, because set wrote them
// all.
func (iniType) undo(_ context.Context, s *Session, _ string, b *iniBefore) error {
	f, err := s.readText(b.In)
	if err != nil {
		return err
	}
	find := b.find
	if len(b.sections(f.lines)) == 0 {
		find = b.findWithHeader // where a copy of the whole file is kept, the header comes back, too
	}
	return b.undo(s, find, system.Attributes{}, b.restored)
}

// findWithHeader finds the lines of the setting, the header of its section, and the blank line that slipway made before
// that.
func (b iniBefore) findWithHeader(l lines) []span {
	found := b.find(l)
	if s := b.sections(l); len(s) > 0 && s[0].header >= 0 {
		from := s[0].header
		if b.Blank && from > 0 && l[from-1].text == "" {
			from--
		}
		found = append([]span{{from, s[0].header + 1}}, found...)
	}
	return found
}

func (b iniBefore) restored(l lines, found []span, former []block) lines {
	l = l.restore(found, former, len(found))
	if !b.SectionThere {
		l = b.removeSection(l, b.Blank)
	}
	if last := len(l) - 1; b.Unended != "" && l.digest(last) == b.Unended {
		l = slices.Clone(l)
		l[last].end = ""
	}
	return l
}

// unended returns the digest of a last line without an end, nothing when it has one.
func unended(l lines) string {
	if l.ended() {
		return ""
	}
	return l.digest(len(l) - 1)
}
