package types

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// An action brings its files along. They are laid out in a folder that only root can look into ([system.WorkPath]), for
// as long as the action runs. The node's lock keeps two sessions from using it. A session that was killed leaves it
// behind, and the next one that changes the node removes it.

// reach returns the absolute path that a parameter of an action means.
func reach(r resource.Resource, folder, name string) string {
	cwd := r.Parameters.String("cwd")
	switch {
	case path.IsAbs(name):
		return name
	case schema.Carries(r, name) || cwd == "":
		return path.Join(folder, name)
	}
	return path.Join(reach(r, folder, cwd), name)
}

// inFolder lays the files of an action out, calls do with the folder, and removes it whatever happened.
func (s *Session) inFolder(r resource.Resource, do func(folder string) error) (err error) {
	defer func() {
		if gone := s.RemoveAll(system.WorkPath); gone != nil {
			err = errors.Join(err, fmt.Errorf("remove its folder: %w", gone))
		}
	}()
	if err := s.layOut(r.Parameters.StringMap("files")); err != nil {
		return fmt.Errorf("lay out its files: %w", err)
	}
	return do(system.WorkPath)
}

func (s *Session) layOut(files map[string]string) error {
	if err := s.RemoveAll(system.WorkPath); err != nil {
		return err
	}
	private := fs.FileMode(0o700)
	made := map[string]bool{}
	var makeDirectory func(dir string) error
	makeDirectory = func(dir string) error {
		if made[dir] || dir == system.Home {
			return nil
		}
		made[dir] = true
		if err := makeDirectory(path.Dir(dir)); err != nil {
			return err
		}
		return s.Mkdir(dir, system.Attributes{Mode: &private})
	}
	if err := makeDirectory(system.WorkPath); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content, err := base64.StdEncoding.DecodeString(files[name])
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		file := path.Join(system.WorkPath, name)
		if err := makeDirectory(path.Dir(file)); err != nil {
			return err
		}
		if err := s.WriteFile(file, content, system.Attributes{Mode: &private}); err != nil {
			return err
		}
	}
	return nil
}
