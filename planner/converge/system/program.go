package system

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// ProgramPath is the PATH of actions: Puppet's own packages put it beside the other programs.
const ProgramPath = schema.PlainPath + ":/opt/puppetlabs/bin"

// Program returns where a program is that actions call by name, empty when the node does not have it. An absolute path
// counts as it is.
func (s *System) Program(name string) (string, error) {
	candidates := []string{name}
	if !path.IsAbs(name) {
		candidates = nil
		for dir := range strings.SplitSeq(ProgramPath, ":") {
			candidates = append(candidates, dir+"/"+name)
		}
	}
	for _, file := range candidates {
		info, err := s.Stat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		case err != nil:
			return "", err
		case info.IsRegular() && info.Mode&0o111 != 0:
			return file, nil
		}
	}
	return "", nil
}

// Stat is Lstat, except that it follows links.
func (s *System) Stat(file string) (Info, error) {
	for range 40 { // as the kernel does
		info, err := s.Lstat(file)
		if err != nil || !info.IsLink() {
			return info, err
		}
		if target := info.Target; path.IsAbs(target) {
			file = target
		} else {
			file = path.Dir(file) + "/" + target
		}
	}
	return Info{}, &fs.PathError{Op: "stat", Path: file, Err: syscall.ELOOP}
}

// MissingPrograms returns the programs of names that the node does not have, in their order, each once.
func (s *System) MissingPrograms(names []string) ([]string, error) {
	var missing []string
	for _, name := range names {
		program, err := s.Program(name)
		if err != nil {
			return nil, fmt.Errorf("look for the program %q: %w", name, err)
		}
		if program == "" && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// Exists reports whether there is anything at path.
func (s *System) Exists(path string) (bool, error) {
	_, err := s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// FirstThere returns the first of paths at which there is anything, empty for none.
func (s *System) FirstThere(paths ...string) (string, error) {
	for _, p := range paths {
		if there, err := s.Exists(p); there || err != nil {
			return p, err
		}
	}
	return "", nil
}

// MissingAbove lists the directories above a path that are not there, outermost first.
func (s *System) MissingAbove(name string) ([]string, error) {
	var out []string
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		there, err := s.Exists(dir)
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

// MakeAbove makes the directories above a path that are not there.
func (s *System) MakeAbove(name string) error {
	missing, err := s.MissingAbove(name)
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
