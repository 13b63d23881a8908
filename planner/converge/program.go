package converge

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

// actionPath is the PATH of actions: Puppet's own packages put it beside the other programs.
const actionPath = schema.PlainPath + ":/opt/puppetlabs/bin"

// program returns where a program is that actions call by name, empty when the node does not have it. An absolute path
// counts as it is.
func (s *System) program(name string) (string, error) {
	candidates := []string{name}
	if !path.IsAbs(name) {
		candidates = nil
		for dir := range strings.SplitSeq(actionPath, ":") {
			candidates = append(candidates, dir+"/"+name)
		}
	}
	for _, file := range candidates {
		info, err := s.behind(file)
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

// behind is Lstat, except that it follows links.
func (s *System) behind(file string) (Info, error) {
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

// lacks returns the programs of names that the node does not have, in their order, each once.
func (s *System) lacks(names []string) ([]string, error) {
	var missing []string
	for _, name := range names {
		program, err := s.program(name)
		if err != nil {
			return nil, fmt.Errorf("look for the program %q: %w", name, err)
		}
		if program == "" && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// needs reports the programs of Catalog.Needs that are not there.
func (x *session) needs() *SessionError {
	missing, err := x.sys.lacks(x.catalog.Needs)
	if err != nil {
		return &SessionError{Code: CodeNeeds, Message: err.Error()}
	}
	if len(missing) == 0 {
		return nil
	}
	is, them := "program "+missing[0]+" is", "it"
	if len(missing) > 1 {
		is, them = "programs "+strings.Join(missing, ", ")+" are", "them"
	}
	return &SessionError{Code: CodeNeeds, Message: fmt.Sprintf("the %s not on the node (looked in %s); "+
		"tasks of this run call %s: install %s first", is, actionPath, them, them)}
}
