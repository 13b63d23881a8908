package schema

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// FilesLimit bounds the files of one action together, in bytes.
const FilesLimit = 1 << 20

// CheckFiles validates the files that an action brings along.
func CheckFiles(value any) error {
	files, _ := value.(map[string]string)
	total := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := checkRelative(name); err != nil {
			return err
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := files[dir]; ok {
				return fmt.Errorf("%q is a file, and the folder of %q; rename one of them", dir, name)
			}
		}
		content, err := base64.StdEncoding.DecodeString(files[name])
		if err != nil {
			return fmt.Errorf("%q: the content must be in base64", name)
		}
		total += len(content)
	}
	if total > FilesLimit {
		return fmt.Errorf("%d bytes together must be at most %d; fetch large files on the node, or lay them out by a resource", total, FilesLimit)
	}
	return nil
}

// checkRelative refuses a path that is not below the folder, or not in its shortest form.
func checkRelative(name string) error {
	if name == "." || name == "" || path.IsAbs(name) || name != path.Clean(name) || leaves(name) ||
		strings.ContainsRune(name, 0) {
		return fmt.Errorf("%q must be a relative path like scripts/deploy.sh, without . and .. in it", name)
	}
	return nil
}

// checkReachable refuses a path that is neither absolute nor below a folder.
func checkReachable(value any) error {
	name, _ := value.(string)
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		return errors.New("must be a path that is not empty")
	case !path.IsAbs(name) && leaves(path.Clean(name)):
		return fmt.Errorf("%q leads out of the files; it must be absolute or below them", name)
	}
	return nil
}

func leaves(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }

// Lacking is a relative path that a parameter of an action names and that its files do not have.
type Lacking struct {
	Parameter, Path string
	Kind            string // file or folder
}

// LackingOf returns the paths of which an action's files have nothing, by parameter. A manifest and modules may be
// below cwd instead, where that is given.
func LackingOf(r resource.Resource) (out []Lacking) {
	miss := func(parameter, name, kind string) {
		if name != "" && !path.IsAbs(name) && !Carries(r, name) {
			out = append(out, Lacking{parameter, name, kind})
		}
	}
	miss("cwd", r.Parameters.String("cwd"), "folder")
	if !r.Parameters.Has("cwd") {
		miss("manifest", r.Parameters.String("manifest"), "file")
		for _, name := range ModuleFolders(r) {
			miss("modules", name, "folder")
		}
	}
	return out
}

// lackingErrors finds paths that lead nowhere.
func lackingErrors(r resource.Resource) (wrong []invalid.Error) {
	for _, l := range LackingOf(r) {
		wrong = append(wrong, invalid.Error{Attribute: l.Parameter, Message: fmt.Sprintf(
			"there is no %s %q in files; name one that is, or give its absolute path", l.Kind, l.Path)})
	}
	return wrong
}

// Carries reports whether a relative path names one of the files, or a folder with some.
func Carries(r resource.Resource, name string) bool {
	name = path.Clean(name)
	if name == "." {
		return true
	}
	for file := range r.Parameters.StringMap("files") {
		if file == name || strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}
