package document

import (
	"fmt"
	"strings"
)

const (
	// maxPathKey bounds one key in a path, maxPath the whole path, in bytes. Otherwise a document with one long key and
	// many values below it would exhaust the memory.
	maxPathKey = 200
	maxPath    = 2000
)

func join(path, key string) string {
	switch {
	case path == "":
		return cut(key, maxPathKey)
	case len(path) > maxPath:
		return path
	}
	return path + "." + cut(key, maxPathKey)
}

func index(path string, i int) string {
	if len(path) > maxPath {
		return path
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

func keyed(path, key string) string {
	if len(path) > maxPath {
		return path
	}
	return fmt.Sprintf("%s[%q]", path, cut(key, maxPathKey))
}

// cut returns at most the first most bytes of a text.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
