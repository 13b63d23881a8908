package types

import (
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
type iniType struct{}

func (iniType) Declared() schema.Type { return schema.IniSetting{} }

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

func (iniType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	p := placeOf(r)
	f, err := s.readText(p.Path)
	if err != nil {
		return nil, err
	}
	c := comparison{resource: r}
	values := p.values(f.lines)
	switch {
	case schema.WantsAbsent(r) && len(values) > 0:
		c.state("present", "absent")
	case !schema.WantsAbsent(r) && len(values) == 0:
		c.state("absent", "present")
	case !schema.WantsAbsent(r):
		should := r.Parameters.String("value")
		for _, is := range values {
			if is != should {
				c.text("value", is, should)
				break
			}
		}
		if len(values) > 1 {
			c.found = append(c.found, Difference{"setting", fmt.Sprintf("on %d lines", len(values)), "on one line"})
		}
	}
	return c.found, nil
}

func (iniType) Capture(_ context.Context, s *Session, r resource.Resource) (json.RawMessage, error) {
	p := placeOf(r)
	e, err := s.remember(r, p.Path, p.find)
	if err != nil {
		return nil, err
	}
	f, err := s.readText(p.Path)
	if err != nil {
		return nil, err
	}
	// A missing directory is an error of Apply: slipway makes none here, so it removes none either.
	e.Made = nil
	b := iniBefore{
		entries: e, iniPlace: p, SectionThere: p.Section == "" || len(p.sections(f.lines)) > 0,
		Blank: p.wantsBlank(f.lines), Unended: unended(f.lines),
	}
	if p.Section != "" && b.SectionThere {
		if err := b.inheritSection(s); err != nil {
			return nil, err
		}
	}
	if err := b.inheritEnd(s); err != nil {
		return nil, err
	}
	return json.Marshal(b)
}

// inheritEnd corrects b for a last line that has an end only because slipway gave it one for another setting.
func (b *iniBefore) inheritEnd(s *Session) error {
	_, err := othersIn(s, b.In, func(e *ledger.Entry, _ entries) (bool, error) {
		var other iniBefore
		if e.Type != "ini_setting" || b.Unended != "" {
			return false, nil
		}
		if err := json.Unmarshal(e.Before, &other); err != nil {
			return false, err
		}
		b.Unended = other.Unended
		return b.Unended != "", nil
	})
	return err
}

// inheritSection corrects b for a section that is there only because slipway made it for another setting.
func (b *iniBefore) inheritSection(s *Session) error {
	_, err := othersIn(s, b.In, func(e *ledger.Entry, _ entries) (bool, error) {
		var other iniBefore
		if e.Type != "ini_setting" {
			return false, nil
		}
		if err := json.Unmarshal(e.Before, &other); err != nil {
			return false, err
		}
		made := !other.SectionThere && other.Section == b.Section && other.Prefix == b.Prefix && other.Suffix == b.Suffix
		if made {
			b.SectionThere, b.Blank = false, other.Blank
		}
		return made, nil
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

// ownIni returns what the ledger holds of the resource at work, nil when it holds nothing.
func ownIni(s *Session) (*iniBefore, error) {
	if s.Ledger == nil {
		return nil, nil
	}
	e := s.Ledger.Entry(s.Site, s.ID)
	if e == nil || len(e.Before) == 0 {
		return nil, nil
	}
	var b iniBefore
	if err := json.Unmarshal(e.Before, &b); err != nil {
		return nil, fmt.Errorf("what was there before: %w", err)
	}
	return &b, nil
}

func (iniType) There(_ context.Context, s *Session, _ string, before json.RawMessage) (bool, error) {
	var b iniBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return false, err
	}
	return s.findsIn(b.Path, b.find)
}

func (iniType) Undo(_ context.Context, s *Session, _ string, before json.RawMessage) error {
	var b iniBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return fmt.Errorf("what was there before: %w", err)
	}
	f, err := s.readText(b.Path)
	if err != nil {
		return err
	}
	former, err := b.former(s, b.find)
	if err != nil {
		return err
	}
	f.lines = b.undo(f.lines, former)
	return b.writeBack(s, f, system.Attributes{})
}

// undo brings the setting's former lines back. All lines that it has now count as slipway's, because set wrote them
// all.
func (b iniBefore) undo(l lines, former []block) lines {
	found := b.find(l)
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
