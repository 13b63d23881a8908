package converge

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// The types host, cron, mount and ini_setting each look after an entry of a text file that they share with others:
// one or several lines that a function finds. What follows is common to them: reading and writing the file, and what
// is remembered of an entry.

// textFile is a text file of the node.
type textFile struct {
	path  string
	there bool
	mark  string // the byte order mark, where there is one
	lines lines
	read  string // the content as it was read
}

const byteOrderMark = "\ufeff"

func (s *System) readText(path string) (*textFile, error) {
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
func (f *textFile) write(s *System, a Attributes) error {
	content := append([]byte(f.mark), f.lines.bytes()...)
	if f.there && string(content) == f.read && a == (Attributes{}) {
		return nil
	}
	if !f.there && len(content) == 0 {
		return nil
	}
	return s.WriteFile(f.path, content, a)
}

// entries is what was there of an entry before slipway touched it, as the ledger keeps it.
type entries struct {
	File   bool     `json:"file"`             // the file was there
	Made   []string `json:"made,omitempty"`   // directories above it that were not there, outermost first
	Former []block  `json:"former,omitempty"` // the entry
	Kept   string   `json:"kept,omitempty"`   // a kept copy of the file in place of Former, where the ledger must not or cannot hold that
}

// remember describes what is there of r's entry, which find finds, in a file.
func (s *System) remember(r resource.Resource, path string, find func(lines) []span) (entries, error) {
	f, err := s.readText(path)
	if err != nil {
		return entries{}, err
	}
	e := entries{File: f.there}
	if e.Made, err = s.missingAbove(path); err != nil {
		return entries{}, err
	}
	secret, text := r.Sensitive(), true
	for _, x := range find(f.lines) {
		e.Former = append(e.Former, f.lines.block(x))
		for _, t := range f.lines.texts(x) {
			text = text && utf8.ValidString(t) // JSON cannot hold anything else
		}
	}
	if len(e.Former) > 0 && (secret || !text) {
		e.Former = nil
		e.Kept, err = s.Keep(path)
	}
	return e, err
}

// former returns the entry as it was.
func (e entries) former(s *System, find func(lines) []span) ([]block, error) {
	if e.Kept == "" {
		return e.Former, nil
	}
	if _, err := keptAttributes(e.Kept); err != nil {
		return nil, err
	}
	content, err := s.ReadFile(backupPath + "/" + e.Kept)
	if err != nil {
		return nil, fmt.Errorf("the copy of what was there before: %w", err)
	}
	l := parseText(e.Kept, content).lines
	var out []block
	for _, x := range find(l) {
		out = append(out, l.block(x))
	}
	return out, nil
}

// writeBack writes a file whose entry has its former content again, or removes it when slipway made it and nothing is left
// in it, with the directories that slipway made for it.
func (e entries) writeBack(s *System, f *textFile, a Attributes) error {
	if e.File || len(f.lines) > 0 {
		return f.write(s, a)
	}
	if err := s.Remove(f.path); err != nil {
		return err
	}
	for _, dir := range slices.Backward(e.Made) {
		switch names, err := s.ReadDir(dir); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case len(names) > 0:
			return nil
		}
		if err := s.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// missingAbove lists the directories above a path that are not there, outermost first.
func (s *System) missingAbove(name string) ([]string, error) {
	var out []string
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		there, err := exists(s, dir)
		if err != nil {
			return nil, err
		}
		if there {
			break
		}
		out = append([]string{dir}, out...)
	}
	return out, nil
}

// makeAbove makes the directories above a path that are not there.
func (s *System) makeAbove(name string) error {
	missing, err := s.missingAbove(name)
	if err != nil {
		return err
	}
	for _, dir := range missing {
		if err := s.Mkdir(dir, Attributes{}); err != nil {
			return err
		}
	}
	return nil
}
