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

// folderErrors finds a directory that is not in the files.
func folderErrors(r resource.Resource) []invalid.Error {
	cwd := r.Parameters.String("cwd")
	if cwd == "" || path.IsAbs(cwd) || Carries(r, cwd) {
		return nil
	}
	return []invalid.Error{{Attribute: "cwd", Message: fmt.Sprintf("there is no folder %q in files; name one that is, or give its absolute path", cwd)}}
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
