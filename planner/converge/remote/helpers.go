package remote

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
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
	carried   map[string]helper // by GOOS/GOARCH
}

// helper is one program.
type helper struct {
	compressed []byte
	size       int    // bytes, expanded
	sum        string // SHA-256 in hexadecimal, expanded
}

// file names the helper on a node, so that every version has its own.
func (h helper) file() string { return "helper-" + h.sum[:16] }

// Embedded returns the helpers that this build carries: none when it was made without `make build`.
func Embedded() (Helpers, error) {
	files, err := fs.Glob(embedded, "helpers/helper-*.gz")
	if err != nil {
		return Helpers{}, err
	}
	compressed := map[string][]byte{}
	for _, f := range files {
		platform := strings.TrimSuffix(strings.TrimPrefix(f, "helpers/helper-"), ".gz")
		if compressed[strings.ReplaceAll(platform, "-", "/")], err = embedded.ReadFile(f); err != nil {
			return Helpers{}, err
		}
	}
	return NewHelpers(compressed)
}

// NewHelpers returns the helpers for the given platforms (GOOS/GOARCH), each compressed with gzip.
func NewHelpers(compressed map[string][]byte) (Helpers, error) {
	h := Helpers{directory: Directory, carried: map[string]helper{}}
	for platform, data := range compressed {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return Helpers{}, fmt.Errorf("helper for %s: %w", platform, err)
		}
		sum := sha256.New()
		size, err := io.Copy(sum, z)
		if err != nil {
			return Helpers{}, fmt.Errorf("helper for %s: %w", platform, err)
		}
		h.carried[platform] = helper{compressed: data, size: int(size), sum: hex.EncodeToString(sum.Sum(nil))}
	}
	return h, nil
}

// In returns the same helpers, kept in another directory on nodes: for tests, whose node is this machine.
func (h Helpers) In(directory string) Helpers {
	return Helpers{directory: directory, carried: h.carried}
}

// Platforms lists what is carried, sorted.
func (h Helpers) Platforms() []string { return slices.Sorted(maps.Keys(h.carried)) }
