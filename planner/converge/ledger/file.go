package ledger

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const (
	Path    = system.Home + "/ledger.json"
	LogPath = system.Home + "/ledger.log"
)

// The ledger is a file that is written as a whole, and a log of what changed since. A session appends a line to the log
// for every step, which costs the same however much the node has; at its end it writes the ledger anew and removes the
// log. Only a session that was killed leaves a log behind: whoever reads the ledger replays it.

// Log is what a ledger knows of its files.
type Log struct {
	Unsaved []Record // that are not in the log
	File    *os.File // open when this session has appended to it
	lines   int      // in the log
	Synced  int      // the first of these that a crash of the node cannot take
	stale   bool     // there is a log of another session
}

// logHead is the first line of the log.
type logHead struct {
	Version    int   `json:"version"`
	Generation int64 `json:"generation"` // of the ledger that it goes on from: the log of another one was overtaken
}

// logLine is any other line.
type logLine struct {
	Synced  int      `json:"synced"` // so many lines were on the disk for good when this one was written
	Records []Record `json:"records"`
}

// Read reads the node's ledger. A node without one gives an empty ledger.
func Read(s *system.System) (*Ledger, error) {
	l := &Ledger{Version: FormVersion, sys: s}
	switch info, err := s.Lstat(system.Home); {
	case errors.Is(err, fs.ErrNotExist):
		return l, nil
	case err != nil:
		return nil, err
	default:
		if err := s.CheckOwnDirectory(system.Home, info); err != nil {
			return nil, err
		}
	}
	content, there, err := s.ReadOwnFile(Path)
	if err != nil {
		return nil, err
	}
	if there {
		if l, err = Parse(content); err != nil {
			return nil, fmt.Errorf("%s: %w", Path, err)
		}
		l.sys = s
	}
	if content, l.Log.stale, err = s.ReadOwnFile(LogPath); err != nil {
		return nil, err
	}
	if err := l.replay(content); err != nil {
		return nil, fmt.Errorf("%s: %w", LogPath, err)
	}
	return l, nil
}

// damaged returns the error for a file of the ledger that cannot be read. Its text says what to do.
func damaged(format string, args ...any) error {
	return fmt.Errorf("is damaged: %w; restore both files of the ledger, %s and %s, from a backup of the node, or remove "+
		"both and apply again: what slipway applied is then taken over as it is, what was there before is no longer known, "+
		"and a destroy leaves it", fmt.Errorf(format, args...), Path, LogPath)
}

// replay carries out the records of a log. A crash of the node may have torn off what was not fsynced at its end:
// nothing that this announces was begun.
func (l *Ledger) replay(log []byte) error {
	texts := bytes.Split(log, []byte("\n"))
	var head logHead
	switch err := json.Unmarshal(texts[0], &head); {
	case err != nil && len(texts) <= 2:
		return nil
	case err != nil:
		return damaged("%w", err)
	case head.Version != FormVersion:
		return fmt.Errorf("has version %d, and this slipway knows version %d only; use the slipway that wrote it",
			head.Version, FormVersion)
	case head.Generation != l.Generation:
		return nil
	}
	var torn error // the first line that cannot be read
	at := 0
	for i, text := range texts[1:] {
		var line logLine
		switch err := resource.DecodeStrictly(text, &line); {
		case err != nil && torn == nil && json.Valid(text): // it is whole: no crash wrote it
			return fmt.Errorf("line %d: %w; a newer slipway wrote it: use that one", i+2, err)
		case err != nil && torn == nil:
			torn, at = err, i+2
		case err != nil:
		case torn != nil && line.Synced >= at:
			return damaged("line %d: %w", at, torn)
		case torn == nil:
			if err := l.applyAll(line.Records); err != nil {
				return damaged("line %d: %w", i+2, err)
			}
		}
	}
	return l.checkMade()
}

func (l *Ledger) applyAll(records []Record) error {
	for _, r := range records {
		if r.Entry != nil {
			if err := r.Entry.complete(); err != nil {
				return fmt.Errorf("an entry %w", err)
			}
		}
		for _, i := range []*Image{r.Image, r.Restored} {
			if i != nil {
				if err := i.complete(); err != nil {
					return fmt.Errorf("an image %w", err)
				}
			}
		}
		l.apply(r)
	}
	return nil
}

// Save brings what changed to the disk: what it announces may begin.
func (l *Ledger) Save() error {
	if len(l.Log.Unsaved) == 0 {
		return nil // and what was only noted announces nothing
	}
	if err := l.Append(); err != nil || l.Log.File == nil {
		return err
	}
	if err := l.Log.File.Sync(); err != nil {
		return err
	}
	l.Log.Synced = l.Log.lines
	return nil
}

// Append writes what changed to the log. It outlives the session, and a crash of the node only with the next save.
func (l *Ledger) Append() error {
	f := &l.Log
	if len(f.Unsaved) == 0 {
		return nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text) // ends every value with a line break, and writes none otherwise
	if f.File == nil {
		if f.stale {
			return l.Compact()
		}
		log, err := l.sys.CreateLog(LogPath)
		if err != nil {
			return err
		}
		f.File, f.lines, f.Synced = log, 1, 0
		if err := enc.Encode(logHead{FormVersion, l.Generation}); err != nil {
			return err
		}
	}
	if err := enc.Encode(logLine{f.Synced, f.Unsaved}); err != nil {
		return fmt.Errorf("%s: %w", LogPath, err)
	}
	if _, err := f.File.Write(text.Bytes()); err != nil {
		return err // it names the file
	}
	f.Unsaved = nil
	f.lines++
	return nil
}

// Compact writes the ledger as a whole, when anything changed since it was, and removes the log. A crash leaves the old
// or the new one, whole, and a log that belongs to the old one.
func (l *Ledger) Compact() error {
	f := &l.Log
	if f.File == nil && !f.stale && len(f.Unsaved) == 0 {
		return nil
	}
	if l.ID == "" {
		l.ID = rand.Text()
	}
	l.Generation++
	content, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("%s: %w", Path, err)
	}
	private := fs.FileMode(0o600)
	if err := l.sys.ReplaceFile(Path, append(content, '\n'), system.Attributes{Mode: &private}); err != nil {
		l.Generation--
		return err
	}
	if f.File != nil || f.stale {
		err = errors.Join(l.Close(), l.sys.Remove(LogPath))
	}
	f.stale, f.Unsaved = false, nil
	return err
}

// Close lets go of the log.
func (l *Ledger) Close() error {
	if l.Log.File == nil {
		return nil
	}
	err := l.Log.File.Close()
	l.Log.File = nil
	return err
}
