package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// UndoOrder returns entries, which are in the order in which they were first applied, in the order in which they are to
// be undone: what depends on another one before that, and otherwise the last one first. An entry depends on what its
// resource requires, and on the directory above its file, where slipway made that. Requirements in a circle are left
// out.
func UndoOrder(entries []*Entry) []*Entry {
	byID := map[Key]*Entry{}
	made := map[string]*Entry{}
	for _, e := range entries {
		byID[e.Key()] = e
		if dir := e.madeDirectory(); dir != "" {
			made[dir] = e
		}
	}
	dependents := map[*Entry][]*Entry{}
	for _, e := range slices.Backward(entries) {
		for _, id := range e.Requires {
			if on := byID[Key{e.Site, id}]; on != nil {
				dependents[on] = append(dependents[on], e)
			}
		}
		for dir := e.path(); dir != "" && dir != "/"; dir = path.Dir(dir) {
			if on := made[dir]; on != nil && on != e {
				dependents[on] = append(dependents[on], e)
			}
		}
	}
	out := make([]*Entry, 0, len(entries))
	seen := map[*Entry]bool{}
	var visit func(e *Entry)
	visit = func(e *Entry) {
		if seen[e] {
			return
		}
		seen[e] = true
		for _, d := range dependents[e] {
			visit(d)
		}
		out = append(out, e)
	}
	for _, e := range slices.Backward(entries) {
		visit(e)
	}
	return out
}

// path returns the absolute path of the file or directory that an entry is about, empty for other things. The title of
// an area for swapping is any text, and its device may be named by a label.
func (e *Entry) path() string {
	var b struct {
		Path string `json:"path"`
		In   string `json:"in"`
		Swap string `json:"swap"`
	}
	if json.Unmarshal(e.Before, &b) != nil && e.Type != "mount" { // its undo reports that
		return ""
	}
	at := cmp.Or(b.In, b.Path)
	if e.Type == "mount" {
		at = cmp.Or(b.Swap, e.Title)
	}
	if !path.IsAbs(at) {
		return ""
	}
	return at
}

// Paths returns the files and directories that an entry is about.
func (e *Entry) Paths() []string {
	paths := []string{e.path()}
	var b struct{ Files, Beside []struct{ Path string } }
	if json.Unmarshal(e.Before, &b) == nil {
		for _, f := range append(b.Files, b.Beside...) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// madeDirectory returns the path of a file entry where there was something else, or nothing, before: while it is a
// directory, slipway made it.
func (e *Entry) madeDirectory() string {
	var b struct{ Path, Kind string }
	if e.Type != "file" || json.Unmarshal(e.Before, &b) != nil || b.Kind == "directory" {
		return ""
	}
	return b.Path
}

// Uses reports whether an entry other than one is about something in a directory, or mounted on it.
func (l *Ledger) Uses(dir string, not Key) bool {
	return slices.ContainsFunc(l.Entries, func(e *Entry) bool {
		at := e.path()
		return e.Key() != not && (strings.HasPrefix(at, dir+"/") || at == dir && e.Type == "mount")
	})
}

// RemoveLeft removes the directories that were left and are empty now, and forgets those in which nothing of slipway's
// is any more.
func (l *Ledger) RemoveLeft() error {
	left := slices.Clone(l.Left)
	slices.SortFunc(left, func(a, b string) int { return len(b) - len(a) }) // the inner ones first
	for _, dir := range left {
		if slices.ContainsFunc(l.Entries, func(e *Entry) bool { return e.path() == dir }) {
			continue // a resource looks after it again
		}
		names, err := l.sys.ReadDir(dir)
		if err == nil && len(names) == 0 {
			err = l.sys.Remove(dir)
		}
		switch {
		case err == nil && len(names) > 0 && l.Uses(dir, Key{}):
			continue
		case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EBUSY):
			l.Change(Record{Gone: dir})
		default:
			return err
		}
	}
	return nil
}

// Union returns the elements of both, each once.
func Union(a, b []resource.ID) []resource.ID {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
