package plugin

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// MaxFiles is the most content of all files of a plugin together, in bytes: every node that runs a task of the plugin
// receives them.
const MaxFiles = 1 << 20

// checkFiles returns the errors in the files of a plugin.
func checkFiles(files map[string]string) (errs invalid.Errors) {
	total := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := fmt.Sprintf("files[%q]", name)
		if m := checkPath(name); m != "" {
			errs.Add(at, invalid.BadName, "%s", m)
			continue
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, both := files[dir]; both {
				errs.Add(at, invalid.Duplicate, "%q is a file, so nothing can be below it; rename one of the two", dir)
			}
		}
		content, err := base64.StdEncoding.DecodeString(files[name])
		if err != nil {
			errs.Add(at, invalid.BadValue, "is not base64; give the content in base64 (filebase64 in Terraform)")
		}
		total += len(content)
	}
	if total > MaxFiles {
		errs.Add("files", invalid.BadValue, "hold %d bytes together; %d is the most, because they travel to every node that runs a task of the plugin", total, MaxFiles)
	}
	return errs
}

func checkPath(name string) string {
	switch {
	case name == "":
		return "the path is empty; name a file below the plugin's folder"
	case len(name) > pathLimit:
		return fmt.Sprintf("the path has %d characters; use at most %d", len(name), pathLimit)
	case !utf8.ValidString(name):
		return "the path is not UTF-8 text; rename the file"
	case strings.ContainsAny(name, "\x00\\\n\r"):
		return "the path holds a backslash, a line break or a zero byte; use plain names with slashes between them"
	case path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../"):
		return "the path leaves the plugin's folder; name a file below it"
	case path.Clean(name) != name || name == ".":
		return fmt.Sprintf("the path is not in its short form; write %q", path.Clean(name))
	}
	return ""
}

// pathLimit bounds the path of a file, in bytes.
const pathLimit = 1024
