package converge

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
	ledgerPath    = system.Home + "/ledger.json"
	ledgerLogPath = system.Home + "/ledger.log"
)

// The ledger is a file that is written as a whole, and a log of what changed since. A session appends a line to the log
// for every step, which costs the same however much the node has; at its end it writes the ledger anew and removes the
// log. Only a session that was killed leaves a log behind: whoever reads the ledger replays it.

// ledgerFile is what a ledger knows of its files.
type ledgerFile struct {
	unsaved []record // that are not in the log
	log     *os.File // open when this session has appended to it
	lines   int      // in the log
	synced  int      // the first of these that a crash of the node cannot take
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
	Records []record `json:"records"`
}

// readLedger reads the node's ledger. A node without one gives an empty ledger.
func readLedger(s *system.System) (*ledger, error) {
	l := &ledger{Version: ledgerVersion, sys: s}
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
	content, there, err := s.ReadOwnFile(ledgerPath)
	if err != nil {
		return nil, err
	}
	if there {
		if l, err = parseLedger(content); err != nil {
			return nil, fmt.Errorf("%s: %w", ledgerPath, err)
		}
		l.sys = s
	}
	if content, l.file.stale, err = s.ReadOwnFile(ledgerLogPath); err != nil {
		return nil, err
	}
	if err := l.replay(content); err != nil {
		return nil, fmt.Errorf("%s: %w", ledgerLogPath, err)
	}
	return l, nil
}

// replay carries out the records of a log. A crash of the node may have torn off what was not fsynced at its end:
// nothing that this announces was begun.
func (l *ledger) replay(log []byte) error {
	texts := bytes.Split(log, []byte("\n"))
	var head logHead
	switch err := json.Unmarshal(texts[0], &head); {
	case err != nil && len(texts) <= 2:
		return nil
	case err != nil:
		return fmt.Errorf("is damaged: %w", err)
	case head.Version != ledgerVersion:
		return fmt.Errorf("has version %d, and this slipway knows version %d only; use the slipway that wrote it",
			head.Version, ledgerVersion)
	case head.Generation != l.Generation:
		return nil
	}
	var torn error // the first line that cannot be read
	at := 0
	for i, text := range texts[1:] {
		var line logLine
		switch err := resource.DecodeStrictly(text, &line); {
		case err != nil && torn == nil:
			torn, at = err, i+2
		case err != nil:
		case torn != nil && line.Synced >= at:
			return fmt.Errorf("is damaged: line %d: %w", at, torn)
		case torn == nil:
			if err := l.carryOutAll(line.Records); err != nil {
				return fmt.Errorf("is damaged: line %d: %w", i+2, err)
			}
		}
	}
	return l.checkMade()
}

func (l *ledger) carryOutAll(records []record) error {
	for _, r := range records {
		if r.Entry != nil {
			if err := r.Entry.complete(); err != nil {
				return fmt.Errorf("an entry %w", err)
			}
		}
		l.carryOut(r)
	}
	return nil
}

// save brings what changed to the disk: what it announces may begin.
func (l *ledger) save() error {
	if len(l.file.unsaved) == 0 {
		return nil // and what was only noted announces nothing
	}
	if err := l.note(); err != nil || l.file.log == nil {
		return err
	}
	if err := l.file.log.Sync(); err != nil {
		return err
	}
	l.file.synced = l.file.lines
	return nil
}

// note writes what changed to the log. It outlives the session, and a crash of the node only with the next save.
func (l *ledger) note() error {
	f := &l.file
	if len(f.unsaved) == 0 {
		return nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text) // ends every value with a line break, and writes none otherwise
	if f.log == nil {
		if f.stale {
			return l.fold()
		}
		log, err := l.sys.CreateLog(ledgerLogPath)
		if err != nil {
			return err
		}
		f.log, f.lines, f.synced = log, 1, 0
		if err := enc.Encode(logHead{ledgerVersion, l.Generation}); err != nil {
			return err
		}
	}
	if err := enc.Encode(logLine{f.synced, f.unsaved}); err != nil {
		return fmt.Errorf("%s: %w", ledgerLogPath, err)
	}
	if _, err := f.log.Write(text.Bytes()); err != nil {
		return err // it names the file
	}
	f.unsaved = nil
	f.lines++
	return nil
}

// fold writes the ledger as a whole, when anything changed since it was, and removes the log. A crash leaves the old or
// the new one, whole, and a log that belongs to the old one.
func (l *ledger) fold() error {
	f := &l.file
	if f.log == nil && !f.stale && len(f.unsaved) == 0 {
		return nil
	}
	if l.ID == "" {
		l.ID = rand.Text()
	}
	l.Generation++
	content, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("%s: %w", ledgerPath, err)
	}
	private := fs.FileMode(0o600)
	if err := l.sys.ReplaceFile(ledgerPath, append(content, '\n'), system.Attributes{Mode: &private}); err != nil {
		l.Generation--
		return err
	}
	if f.log != nil || f.stale {
		err = errors.Join(l.close(), l.sys.Remove(ledgerLogPath))
	}
	f.stale, f.unsaved = false, nil
	return err
}

// close lets go of the log.
func (l *ledger) close() error {
	if l.file.log == nil {
		return nil
	}
	err := l.file.log.Close()
	l.file.log = nil
	return err
}
