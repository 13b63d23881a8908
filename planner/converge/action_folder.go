package converge

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// An action brings its files along. They are laid out in a folder that only root can look into, for as long as the action runs. A
// session that was killed leaves it behind, and the next one that changes the node removes it.

// workPath is the folder. The node's lock keeps two sessions from using it.
const workPath = home + "/work"

// filesLimit bounds the files of one action together, in bytes.
const filesLimit = 1 << 20

func checkFiles(value any) error {
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
	if total > filesLimit {
		return fmt.Errorf("%d bytes together must be at most %d; fetch large files on the node, or lay them out by a resource", total, filesLimit)
	}
	return nil
}

// checkRelative refuses a path that is not below the folder, or not in its shortest form.
func checkRelative(name string) error {
	if name == "." || name == "" || path.IsAbs(name) || name != path.Clean(name) || leaves(name) || strings.ContainsRune(name, 0) {
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

// folderMistakes finds a directory that is not in the files.
func folderMistakes(r resource.Resource) []resource.ParameterError {
	cwd := r.Parameters.String("cwd")
	if cwd == "" || path.IsAbs(cwd) || carries(r, cwd) {
		return nil
	}
	return []resource.ParameterError{{Parameter: "cwd", Message: fmt.Sprintf("there is no folder %q in files; name one that is, or give its absolute path", cwd)}}
}

// carries reports whether a relative path names one of the files, or a folder with some.
func carries(r resource.Resource, name string) bool {
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

// reach returns the absolute path that a parameter of an action means.
func reach(r resource.Resource, folder, name string) string {
	cwd := r.Parameters.String("cwd")
	switch {
	case path.IsAbs(name):
		return name
	case carries(r, name) || cwd == "":
		return path.Join(folder, name)
	}
	return path.Join(reach(r, folder, cwd), name)
}

// inFolder lays the files of an action out, calls do with the folder, and removes it whatever happened.
func (s *System) inFolder(r resource.Resource, do func(folder string) error) (err error) {
	defer func() {
		if gone := s.RemoveAll(workPath); gone != nil {
			err = errors.Join(err, fmt.Errorf("remove its folder: %w", gone))
		}
	}()
	if err := s.layOut(r.Parameters.StringMap("files")); err != nil {
		return fmt.Errorf("lay out its files: %w", err)
	}
	return do(workPath)
}

func (s *System) layOut(files map[string]string) error {
	if err := s.RemoveAll(workPath); err != nil {
		return err
	}
	private := fs.FileMode(0o700)
	made := map[string]bool{}
	var makeDirectory func(dir string) error
	makeDirectory = func(dir string) error {
		if made[dir] || dir == home {
			return nil
		}
		made[dir] = true
		if err := makeDirectory(path.Dir(dir)); err != nil {
			return err
		}
		return s.Mkdir(dir, Attributes{Mode: &private})
	}
	if err := makeDirectory(workPath); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content, err := base64.StdEncoding.DecodeString(files[name])
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		file := path.Join(workPath, name)
		if err := makeDirectory(path.Dir(file)); err != nil {
			return err
		}
		if err := s.WriteFile(file, content, Attributes{Mode: &private}); err != nil {
			return err
		}
	}
	return nil
}
