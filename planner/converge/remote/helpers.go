package remote

import (
	"embed"
	"encoding/binary"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

//go:generate sh build.sh helpers

//go:embed helpers
var embedded embed.FS

// Directory is where a node keeps its helper. It belongs to root, and no one else may look into it.
const Directory = "/var/lib/slipway"

// Helpers are the programs that can be sent to nodes, by platform. The zero value carries none.
type Helpers struct {
	directory string
	carried   map[string]Helper // by GOOS/GOARCH
}

// Helper is one program.
type Helper struct {
	Compressed []byte // with gzip
	Sum        string // SHA-256 of the program in hexadecimal
}

// file names the helper on a node, so that every version has its own.
func (h Helper) file() string { return "helper-" + h.Sum[:16] }

// size is that of the program, in bytes, which gzip puts at the end (RFC 1952, ISIZE).
func (h Helper) size() int {
	return int(binary.LittleEndian.Uint32(h.Compressed[len(h.Compressed)-4:]))
}

// NewHelpers returns the helpers for the given platforms (GOOS/GOARCH).
func NewHelpers(carried map[string]Helper) Helpers {
	return Helpers{directory: Directory, carried: carried}
}

// Embedded returns the helpers that this build carries: none when it was made without `make build`. They are not
// expanded for it, which would cost every run as much as a session: the names of the files have their digests.
func Embedded() (Helpers, error) {
	files, err := fs.Glob(embedded, "helpers/helper-*-*-*.gz")
	if err != nil {
		return Helpers{}, err
	}
	carried := map[string]Helper{}
	for _, f := range files {
		name := strings.Split(strings.TrimSuffix(f, ".gz"), "-") // helpers/helper, GOOS, GOARCH, digest
		compressed, err := embedded.ReadFile(f)
		if err != nil {
			return Helpers{}, err
		}
		carried[name[1]+"/"+name[2]] = Helper{Compressed: compressed, Sum: name[3]}
	}
	return NewHelpers(carried), nil
}

// In returns the same helpers, kept in another directory on nodes: for tests, whose node is this machine.
func (h Helpers) In(directory string) Helpers {
	return Helpers{directory: directory, carried: h.carried}
}

// Platforms lists what is carried, sorted.
func (h Helpers) Platforms() []string { return slices.Sorted(maps.Keys(h.carried)) }
