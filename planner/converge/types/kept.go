package types

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// A kept file is a copy under [system.BackupPath], mode 0600. Its name is a digest of whose it is, then the attributes
// of the original: `<digest>-<mode>-<uid>-<gid>`. So a copy and its attributes cannot come apart in a crash, and
// keeping the same file for the same resource again replaces the copy. The engine drops copies that no ledger entry
// names.

// Keep copies a regular file with its attributes below slipway's own directory on the node. It returns the copy's name
// and the extended attributes of the file, which the copy must not have; Restore puts it back with both. A copy that no
// ledger entry names any more is dropped.
func (s *Session) Keep(path string) (name string, x system.Extended, err error) {
	content, info, err := s.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer content.Close()
	if x, err = s.Extended(path); err != nil {
		return "", nil, err
	}
	name, err = s.keep(path, content, system.ChmodBits(info.Mode), info.UID, info.GID)
	return name, x, err
}

// keepText keeps a text that is not in a file of its own, under a name of the caller's choice.
func (s *Session) keepText(what, text string) (name string, err error) {
	return s.keep(what, strings.NewReader(text), 0o600, 0, 0)
}

func (s *Session) keep(what string, content io.Reader, mode uint32, uid, gid int) (name string, err error) {
	if _, err := s.MakeHome(); err != nil {
		return "", err
	}
	if err := s.MakeOwnDirectory(system.BackupPath); err != nil {
		return "", err
	}
	whose := s.Site + "\x00" + string(s.ID) + "\x00" + what
	if s.Image != "" {
		whose += "\x00" + s.Image
	}
	sum := sha256.Sum256([]byte(whose))
	name = fmt.Sprintf("%s-%04o-%d-%d", hex.EncodeToString(sum[:12]), mode, uid, gid)
	secret := fs.FileMode(0o600)
	if err := s.ReplaceFrom(system.BackupPath+"/"+name, content, system.Attributes{Mode: &secret}); err != nil {
		return "", fmt.Errorf("keep a copy of %s: %w", what, err)
	}
	return name, nil
}

// Restore puts a kept file back at path, with the attributes it had. A link at path gives way to it. Without extended
// ones, as ledgers of earlier versions have it, those of a file that is there stay.
func (s *Session) Restore(name, path string, x system.Extended) error {
	content, a, err := s.openKept(name)
	if err != nil {
		return fmt.Errorf("restore %s: the copy of what was there before: %w", path, err)
	}
	defer content.Close()
	if x != nil {
		a.Extended = &x
	}
	return s.ReplaceFrom(path, content, a)
}

// kept returns a kept file's content.
func (s *Session) kept(name string) ([]byte, error) {
	f, _, err := s.openKept(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// openKept opens a kept file, and returns the attributes that it had.
func (s *Session) openKept(name string) (io.ReadCloser, system.Attributes, error) {
	a, err := keptAttributes(name)
	if err != nil {
		return nil, a, err
	}
	f, _, err := s.Open(system.BackupPath + "/" + name)
	return f, a, err
}

var errKeptName = errors.New("is not the name of a kept file")

// keptAttributes reads the attributes from a kept file's name. Names come from the ledger, so they are checked.
func keptAttributes(name string) (system.Attributes, error) {
	parts := strings.Split(name, "-")
	if len(parts) != 4 || strings.ContainsAny(name, "/.") {
		return system.Attributes{}, fmt.Errorf("%q %w", name, errKeptName)
	}
	mode, err1 := strconv.ParseUint(parts[1], 8, 12)
	uid, ok2 := schema.AccountNumber(parts[2])
	gid, ok3 := schema.AccountNumber(parts[3])
	if err1 != nil || !ok2 || !ok3 {
		return system.Attributes{}, fmt.Errorf("%q %w", name, errKeptName)
	}
	m := fs.FileMode(mode)
	return system.Attributes{Mode: &m, UID: &uid, GID: &gid}, nil
}
