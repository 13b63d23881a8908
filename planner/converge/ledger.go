package converge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// ledgerVersion is the version of the ledger's form. A ledger of another one is left alone.
const ledgerVersion = 1

// ledger is what slipway knows on a node of what it did there. It holds no secret: digests of resources, and what types
// captured. Every change reaches the disk before what it announces is done (write-ahead), see [ledger.save].
type ledger struct {
	Version int      `json:"version"`
	Made    []string `json:"made,omitempty"` // directories above slipway's own that it had to make, outermost first
	// Locked tells for each site the run that locked the node (Catalog.Lock) and has not unlocked it yet.
	Locked  map[string]string `json:"locked,omitempty"`
	Pending []pending         `json:"refresh_pending,omitempty"`
	Entries []*entry          `json:"entries"` // in the order in which they were first applied

	dirty bool // differs from the file
}

// entry is one resource that slipway applied.
type entry struct {
	Site   string          `json:"site"`
	Type   string          `json:"type"`
	Title  string          `json:"title"`
	Digest string          `json:"digest"` // empty while an apply or undo was begun and is not finished
	Before json.RawMessage `json:"before"` // what was there before slipway touched it first (Type.Capture)
	Run    string          `json:"run"`    // the run that touched it last
}

func (e *entry) id() resource.ID { return resource.MakeID(e.Type, e.Title) }

// pending is a resource that was notified and not refreshed yet. It need not be an entry: a target may be applied later.
type pending struct {
	Site string      `json:"site"`
	ID   resource.ID `json:"id"`
}

// entry returns what a site applied under an id, nil when that is nothing.
func (l *ledger) entry(site string, id resource.ID) *entry {
	for _, e := range l.Entries {
		if e.Site == site && e.id() == id {
			return e
		}
	}
	return nil
}

// owner returns another site that applied a resource of this id, empty when there is none.
func (l *ledger) owner(not string, id resource.ID) string {
	for _, e := range l.Entries {
		if e.Site != not && e.id() == id {
			return e.Site
		}
	}
	return ""
}

// of lists what a site applied: id -> digest.
func (l *ledger) of(site string) map[resource.ID]string {
	out := map[resource.ID]string{}
	for _, e := range l.Entries {
		if e.Site == site {
			out[e.id()] = e.Digest
		}
	}
	return out
}

// drop forgets a resource, with its pending refresh.
func (l *ledger) drop(site string, id resource.ID) {
	l.Entries = slices.DeleteFunc(l.Entries, func(e *entry) bool { return e.Site == site && e.id() == id })
	l.settle(site, id)
	l.dirty = true
}

// owes reports whether a resource was notified and not refreshed yet.
func (l *ledger) owes(site string, id resource.ID) bool {
	return slices.Contains(l.Pending, pending{site, id})
}

func (l *ledger) owe(site string, id resource.ID) {
	if !l.owes(site, id) {
		l.Pending = append(l.Pending, pending{site, id})
		l.dirty = true
	}
}

func (l *ledger) settle(site string, id resource.ID) {
	if l.owes(site, id) {
		l.Pending = slices.DeleteFunc(l.Pending, func(p pending) bool { return p == pending{site, id} })
		l.dirty = true
	}
}

// keeps reports whether an entry names a kept file.
func (l *ledger) keeps(name string) bool {
	return slices.ContainsFunc(l.Entries, func(e *entry) bool { return bytes.Contains(e.Before, []byte(name)) })
}

// empty reports whether nothing of any site is left.
func (l *ledger) empty() bool {
	return len(l.Entries) == 0 && len(l.Pending) == 0 && len(l.Locked) == 0
}

// readLedger reads the node's ledger. A node without one gives an empty ledger.
func (s *System) readLedger() (*ledger, error) {
	switch info, err := s.Lstat(home); {
	case errors.Is(err, fs.ErrNotExist):
		return &ledger{Version: ledgerVersion}, nil
	case err != nil:
		return nil, err
	default:
		if err := s.checkOwnDirectory(home, info); err != nil {
			return nil, err
		}
	}
	info, err := s.Lstat(ledgerPath)
	if errors.Is(err, fs.ErrNotExist) {
		return &ledger{Version: ledgerVersion}, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsRegular() || !trusted(uint32(info.UID)) {
		return nil, fmt.Errorf("%s: is not a regular file of the session's user", ledgerPath)
	}
	content, err := s.ReadFile(ledgerPath)
	if err != nil {
		return nil, err
	}
	l, err := parseLedger(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ledgerPath, err)
	}
	return l, nil
}

func parseLedger(content []byte) (*ledger, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(content, &version); err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	if version.Version != ledgerVersion {
		return nil, fmt.Errorf("has version %d, and this slipway knows version %d only; use the slipway that wrote it", version.Version, ledgerVersion)
	}
	l := &ledger{}
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	if err := dec.Decode(l); err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("is damaged: something follows its end")
	}
	seen := map[pending]bool{}
	for i, e := range l.Entries {
		if e == nil || e.Site == "" || e.Type == "" || e.Title == "" {
			return nil, fmt.Errorf("is damaged: entry %d names no site, type or title", i)
		}
		key := pending{e.Site, e.id()}
		if seen[key] {
			return nil, fmt.Errorf("is damaged: %s of site %q is there twice", key.ID, key.Site)
		}
		seen[key] = true
	}
	for _, dir := range l.Made {
		if !strings.HasPrefix(home, dir+"/") {
			return nil, fmt.Errorf("is damaged: %q is not above %s", dir, home)
		}
	}
	return l, nil
}

// save brings the ledger to the disk, when it changed: a crash leaves the old or the new one, whole.
func (l *ledger) save(s *System) error {
	if !l.dirty {
		return nil
	}
	content, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("%s: %w", ledgerPath, err)
	}
	private := fs.FileMode(0o600)
	if err := s.ReplaceFile(ledgerPath, append(content, '\n'), Attributes{Mode: &private}); err != nil {
		return err
	}
	l.dirty = false
	return nil
}

// makeHome makes slipway's own directory and those above it that are not there, and returns the latter, outermost first.
func (s *System) makeHome() (made []string, err error) {
	for i := 1; i < len(home); i++ {
		if home[i] != '/' {
			continue
		}
		dir := home[:i]
		_, err := s.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			if err = s.Mkdir(dir, Attributes{}); err == nil {
				made = append(made, dir)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return made, err
		}
	}
	if err := s.ownDirectory(home); err != nil && !errors.Is(err, fs.ErrExist) {
		return made, err
	}
	return made, nil
}

// removeHome removes every trace of slipway: its directory, the lock last, and the directories above that it had made and that
// are empty now.
func (s *System) removeHome(l *ledger) error {
	names, err := s.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if path := home + "/" + name; path != lockPath && path != ledgerPath {
			if err := s.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	for _, path := range []string{ledgerPath, lockPath, home} {
		if err := s.Remove(path); err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(l.Made) {
		if names, err := s.ReadDir(dir); err != nil || len(names) > 0 {
			return err
		}
		if err := s.Remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// dropUnnamed drops kept files that no entry names: those of undone resources, and those of a capture that a crash cut short.
func (s *System) dropUnnamed(l *ledger) error {
	names, err := s.ReadDir(backupPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if l.keeps(name) {
			continue
		}
		if err := s.Remove(backupPath + "/" + name); err != nil {
			return err
		}
	}
	return err
}
