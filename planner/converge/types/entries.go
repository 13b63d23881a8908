package types

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// The types host, cron, mount, ini_setting, file_line and ssh_authorized_key each look after an entry of a text file
// that they share with others: one or several lines that a function finds. What follows is common to them: reading and
// writing the file, and what is remembered of an entry.

// textFile is a text file of the node.
type textFile struct {
	path  string
	there bool
	mark  string // the byte order mark, where there is one
	lines lines
	read  string // the content as it was read
}

const byteOrderMark = "\ufeff"

func (s *Session) readText(path string) (*textFile, error) {
	content, err := s.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &textFile{path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseText(path, content), nil
}

func parseText(path string, content []byte) *textFile {
	f := &textFile{path: path, there: true, read: string(content)}
	text, marked := bytes.CutPrefix(content, []byte(byteOrderMark))
	if marked {
		f.mark = byteOrderMark
	}
	f.lines = parseLines(text)
	return f
}

// write brings the lines to the file when they or its attributes differ.
func (f *textFile) write(s *Session, a system.Attributes) error {
	content := append([]byte(f.mark), f.lines.bytes()...)
	if f.there && string(content) == f.read && a == (system.Attributes{}) {
		return nil
	}
	if !f.there && len(content) == 0 {
		return nil
	}
	return s.WriteFile(f.path, content, a)
}

// entries is what was there of an entry before slipway touched it, as the ledger keeps it.
type entries struct {
	In     string   `json:"in"`               // the file's path
	File   bool     `json:"file"`             // the file was there
	Made   []string `json:"made,omitempty"`   // directories above it that were not there, outermost first
	Former []block  `json:"former,omitempty"` // the entry
	// Kept is the name of a kept copy of the file in place of Former, where the ledger must not or cannot have that.
	Kept string `json:"kept,omitempty"`
	// Extended are the extended attributes of the kept file.
	Extended system.Extended `json:"extended,omitempty"`
	Fields   []string        `json:"fields,omitempty"` // the parts of a line that the resource has said something of so far

	// Image says that it is of the start of a run: a file that the run has removed comes back as Kept has it.
	Image bool `json:"image,omitempty"`

	lost error // the kept copy is gone: a [gone]
}

// finder finds the lines of an entry in a file.
type finder func(lines) []span

// remember describes what is there of an entry, which find finds, in a file. The ledger gets no line of one that is
// secret.
func (s *Session) remember(secret bool, path string, find finder) (entries, error) {
	f, err := s.readText(path)
	if err != nil {
		return entries{}, err
	}
	e := entries{In: path, File: f.there}
	if e.Made, err = s.MissingAbove(path); err != nil {
		return entries{}, err
	}
	if e.File {
		if err := e.inherit(s); err != nil {
			return entries{}, err
		}
	}
	text := true
	e.Former = f.lines.blocks(find(f.lines))
	for _, b := range e.Former {
		for _, t := range b.Lines {
			text = text && utf8.ValidString(t) // JSON has no other text
		}
	}
	if len(e.Former) > 0 && (secret || !text) {
		e.Former = nil
		e.Kept, e.Extended, err = s.Keep(path)
	}
	return e, err
}

// inherit corrects e for a file that is there only because slipway made it for another entry: whichever of them is the
// last to go takes the file along.
func (e *entries) inherit(s *Session) error {
	_, err := othersIn(s, e.In, func(_ *ledger.Entry, other entries) (bool, error) {
		if !other.File {
			e.File, e.Made = false, other.Made
		}
		return !other.File, nil
	})
	return err
}

// transferFile gives the duty to remove a file, which its own resource is about to leave, to an entry in it; ok is
// false when there is none.
func transferFile(s *Session, path string) (ok bool, err error) {
	return othersIn(s, path, func(e *ledger.Entry, other entries) (bool, error) {
		if !other.File {
			return true, nil
		}
		var before map[string]json.RawMessage
		if err := json.Unmarshal(e.Before, &before); err != nil {
			return false, err
		}
		before["file"] = json.RawMessage("false")
		if e.Before, err = json.Marshal(before); err != nil {
			return false, err
		}
		s.Ledger.Change(ledger.Record{Entry: e})
		return true, nil
	})
}

// othersIn calls each for what the ledger says of the other entries in a file, until it returns true.
func othersIn(s *Session, path string, each func(*ledger.Entry, entries) (bool, error)) (bool, error) {
	if s.Ledger == nil {
		return false, nil
	}
	for _, e := range s.Ledger.Entries {
		inFile := slices.Contains([]string{"cron", "file_line", "host", "ini_setting", "mount", "ssh_authorized_key"}, e.Type)
		if !inFile || e.Site == s.Site && e.ID == s.ID {
			continue
		}
		var other entries
		if err := json.Unmarshal(e.Before, &other); err != nil {
			return false, fmt.Errorf("the ledger's record of %s: %w", e.ID, err)
		}
		if other.In != path {
			continue
		}
		if done, err := each(e, other); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// former returns the entry as it was. A kept copy that is gone is reported by writeBack, when the rest is done.
func (e *entries) former(s *Session, find finder) ([]block, error) {
	if e.Kept == "" {
		return e.Former, nil
	}
	content, err := s.kept(e.Kept)
	if err != nil {
		e.lost = copyGone(err, e.In)
		_, err = AsGone(e.lost)
		return nil, err
	}
	l := parseText(e.Kept, content).lines
	return l.blocks(find(l)), nil
}

// undo brings the entry that find finds back: restored returns the lines with the former ones in place of those found.
func (e entries) undo(
	s *Session, find finder, a system.Attributes, restored func(l lines, found []span, former []block) lines,
) error {
	f, err := s.readText(e.In)
	if err != nil {
		return err
	}
	if e.Image && !f.there && e.Kept != "" {
		if err := s.MakeAbove(e.In); err != nil {
			return err
		}
		return s.Restore(e.Kept, e.In, e.Extended)
	}
	former, err := e.former(s, find)
	if err != nil {
		return err
	}
	f.lines = restored(f.lines, find(f.lines), former)
	return e.writeBack(s, f, a)
}

// writeBack writes a file whose entry has its former content again, or removes it when slipway made it and nothing is
// left in it, with the directories that slipway made for it.
func (e entries) writeBack(s *Session, f *textFile, a system.Attributes) error {
	if e.File || len(f.lines) > 0 {
		if !f.there && len(f.lines) > 0 {
			if err := s.directoryGone(f.path, "what was in "+f.path+" before"); err != nil {
				return err
			}
		}
		if err := f.write(s, a); err != nil {
			return err
		}
		return e.lost
	}
	if err := s.Remove(f.path); err != nil {
		return err
	}
	return s.removeMade(e.Made)
}

// removeMade removes directories that slipway made, outermost first in the list, where nothing is left in them.
func (s *Session) removeMade(made []string) error {
	var stays error
	for _, dir := range slices.Backward(made) {
		switch names, err := s.ReadDir(dir); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case len(names) > 0:
			stays = cmp.Or(stays, s.leaveDirectory(dir, names))
			continue
		}
		if err := s.Remove(dir); err != nil {
			return err
		}
	}
	return stays
}

// findsIn reports whether a function finds an entry in a file.
func (s *Session) findsIn(path string, find finder) (bool, error) {
	f, err := s.readText(path)
	return err == nil && len(find(f.lines)) > 0, err
}
