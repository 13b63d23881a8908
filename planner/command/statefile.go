package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// stateVersion is that of the form of a state file.
const stateVersion = 1

// stateContent is what a state file has: what the companion remembers of a site between runs, beside the documents. It
// holds no secrets. Losing it costs a survey of the nodes' ledgers.
type stateContent struct {
	Version int    `json:"version"`
	Slipway string `json:"slipway"` // version of slipway that wrote it
	// Lineage is made with the file and never changes; the ledgers of the nodes name it as the owner of the site. Serial
	// counts how often the file was written.
	Lineage string `json:"lineage"`
	Serial  int64  `json:"serial"`

	Site        string        `json:"site"`
	Status      engine.Status `json:"status"` // empty as long as no run has ended
	Nodes       []site.Node   `json:"nodes"`  // of the last run
	Unreachable []string      `json:"unreachable,omitempty"`
	Run         string        `json:"run,omitempty"` // the last one that was handed over and is in this file
	State       engine.State  `json:"state"`
}

// stateFile is a state file that this process has locked.
type stateFile struct {
	path   string
	lock   *lock
	exists bool         // it was there when it was opened, or was written since
	read   stateContent // as it is on disk
	stateContent
}

// openState locks and reads the state file of a site; one that does not exist gets a lineage of its own when it is
// written first. The error says who has the lock, and names a version that is not known.
func openState(path, siteName, purpose string) (*stateFile, error) {
	l, err := lockFile(path+".lock", purpose)
	if err != nil {
		return nil, fmt.Errorf("state file %s: %w", path, err)
	}
	f := &stateFile{path: path, lock: l}
	if f.stateContent, f.exists, err = readState(path, siteName); err != nil {
		return nil, errors.Join(err, l.release())
	}
	if f.read = f.stateContent; !f.exists {
		f.stateContent = newContent(uuid.NewString(), siteName)
	}
	return f, nil
}

// newContent is that of a state file of which no run has ended.
func newContent(lineage, siteName string) stateContent {
	return stateContent{Version: stateVersion, Lineage: lineage, Site: siteName}
}

// readState reads the state file of a site. exists is false when there is none.
func readState(path, siteName string) (c stateContent, exists bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	var form struct {
		Version int    `json:"version"`
		Slipway string `json:"slipway"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return c, true, damagedState(path, err)
	}
	if form.Version != stateVersion {
		return c, true, fmt.Errorf("state file %s: has version %d, written by slipway %q; this slipway knows version %d: "+
			"use the one that wrote it, or a newer one", path, form.Version, form.Slipway, stateVersion)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, true, damagedState(path, err)
	}
	if c.Site != siteName {
		return c, true, fmt.Errorf("state file %s: is that of the site %q, not of %q; name another with --state", path,
			c.Site, siteName)
	}
	return c, true, nil
}

// save writes the content, one serial later. A file that another process wrote in the meantime is left as it is: the
// content goes to a file beside it, which the error names.
func (f *stateFile) save(slipway string) error {
	now, exists, err := readState(f.path, f.Site)
	if err == nil && (exists != f.exists || now.Lineage != f.read.Lineage || now.Serial != f.read.Serial) {
		err = fmt.Errorf("state file %s: was changed by another process: it has lineage %s and serial %d, expected %s and %d",
			f.path, now.Lineage, now.Serial, f.read.Lineage, f.read.Serial)
	}
	path := f.path
	if err != nil {
		path += ".errored"
		err = fmt.Errorf("%w; what is remembered of this run is in %s", err, path)
	}
	f.Serial, f.Slipway = f.Serial+1, slipway
	c := f.stateContent
	c.Nodes, c.State = engine.WithoutCredentials(c.Nodes), c.State.WithoutSecrets()
	text, failed := json.MarshalIndent(c, "", "  ")
	if failed == nil {
		failed = replace(path, append(text, '\n'))
	}
	if err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	f.exists, f.read = true, c
	return nil
}

// remove removes the file: nothing of the site is left.
func (f *stateFile) remove() error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.exists = false
	return syncDirectory(filepath.Dir(f.path))
}

// close frees the lock.
func (f *stateFile) close() error { return f.lock.release() }

// replace writes a file atomically: after a crash there is the old one or the new one.
func replace(path string, content []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name())
		}
	}()
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err = os.Rename(temporary.Name(), path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// lock is a lock file. It is gone with the process that made it, and removed before.
type lock struct{ file *os.File }

// lockFile takes a lock. purpose and process are in the file, for the error of others.
func lockFile(path, purpose string) (*lock, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := exclusive(file); err != nil {
			who, _ := io.ReadAll(io.LimitReader(file, 1000)) // what can be read of it is of use
			return nil, errors.Join(fmt.Errorf("is locked (%w): %s; wait for it to end", err, who), file.Close())
		}
		// It may have been removed by its last owner before it was locked.
		ours, err := file.Stat()
		if there, gone := os.Stat(path); err == nil && (gone != nil || !os.SameFile(ours, there)) {
			_ = file.Close()
			continue
		}
		host, _ := os.Hostname()
		who := fmt.Sprintf("%s, process %d on %s since %s", purpose, os.Getpid(), host, time.Now().Format(time.RFC3339))
		err = errors.Join(err, file.Truncate(0))
		if _, failed := file.WriteAt([]byte(who), 0); err != nil || failed != nil {
			return nil, errors.Join(err, failed, file.Close())
		}
		return &lock{file}, nil
	}
}

// release removes the lock file and frees the lock.
func (l *lock) release() error { return errors.Join(os.Remove(l.file.Name()), l.file.Close()) }

func damagedState(path string, err error) error {
	return fmt.Errorf("state file %s: is damaged: %w; restore it, or remove it and take the site over with "+
		"apply --take-over", path, err)
}
