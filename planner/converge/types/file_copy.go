package types

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// copyBeside copies the file of r to the path with the ending that backup gives, as it is about to be replaced or
// removed. The copy has its mode, owner, group and extended attributes, but no capability and no set-user-ID.
func copyBeside(s *Session, r resource.Resource) error {
	at, beside := schema.FilePath(r), schema.FileCopy(r)
	if beside == "" {
		return nil
	}
	if _, _, err := lookBeside(s, r); err != nil {
		return err
	}
	content, info, err := s.Open(at)
	if err != nil {
		return err
	}
	defer content.Close()
	x, err := s.Extended(at)
	if err != nil {
		return err
	}
	delete(x, system.Capability)
	mode := info.Mode.Perm()
	err = s.ReplaceFrom(beside, content, system.Attributes{Mode: &mode, UID: &info.UID, GID: &info.GID, Extended: &x})
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// lookBeside returns what is where r wants a copy. It is an error where that can be none.
func lookBeside(s *Session, r resource.Resource) (kind string, info system.Info, err error) {
	beside := schema.FileCopy(r)
	if i := s.wantedFile(beside); i >= 0 {
		return "", info, fmt.Errorf("backup: %s manages %s; give another ending", s.Wanted[i].ID(), beside)
	}
	kind, info, err = look(s, beside)
	if err == nil && (kind == fileDirectory || kind == fileOther) {
		what := kind
		if kind == fileOther {
			what = "device, pipe or socket"
		}
		err = fmt.Errorf("backup: %s is a %s; give another ending", beside, what)
	}
	return kind, info, err
}

// wantedFile returns the index of the file resource with a path among those that are wanted, -1 when there is none.
func (s *Session) wantedFile(at string) int {
	return slices.IndexFunc(s.Wanted, func(w resource.Resource) bool {
		return w.Type == "file" && schema.FilePath(w) == at
	})
}

// keepBeside takes down what is where r wants a copy, before the first one is made.
func (b *fileBefore) keepBeside(s *Session, r resource.Resource) error {
	beside := schema.FileCopy(r)
	if beside == "" || slices.ContainsFunc(b.Beside, func(c fileBefore) bool { return c.Path == beside }) {
		return nil
	}
	kind, info, err := lookBeside(s, r)
	if err != nil {
		return err
	}
	c := fileBefore{Path: beside, Said: []string{saidContent, "mode", "owner", "group"}}
	c.is(kind, info)
	if err := c.keep(s, true); err != nil {
		return err
	}
	b.Beside = append(b.Beside, c)
	return nil
}

// undoBeside brings back what was in the place of copies, but for what a resource looks after by now.
func (t fileType) undoBeside(s *Session, b *fileBefore) (err error) {
	for _, c := range b.Beside {
		if s.wantedFile(c.Path) < 0 {
			err = alsoGone(err, t.undoOne(s, &c))
		}
	}
	return err
}
