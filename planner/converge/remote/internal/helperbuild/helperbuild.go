// Package helperbuild builds the helper that travels to nodes: static, stripped, compressed, and the same bytes from
// the same source on every machine.
package helperbuild

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Source is the helper's package.
const Source = "github.com/slipway/terraform-provider-slipway/planner/converge/slipway-helper"

// Limit bounds a helper, in bytes before compression.
const Limit = 4_500_000

// Platforms are those for which the provider carries a helper, as GOOS/GOARCH.
func Platforms() []string { return []string{"linux/amd64", "linux/arm64"} }

// File names a platform's compressed helper.
func File(platform string) string {
	return "helper-" + strings.ReplaceAll(platform, "/", "-") + ".gz"
}

// Build compiles the helper for a platform and returns it compressed. It needs the go command, and must run inside the
// module.
func Build(ctx context.Context, platform string) ([]byte, error) {
	system, architecture, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("platform %q: GOOS/GOARCH is wanted", platform)
	}
	dir, err := os.MkdirTemp("", "slipway-helper-")
	if err != nil {
		return nil, err
	}
	binary, err := compile(ctx, system, architecture, filepath.Join(dir, "helper"))
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		return nil, fmt.Errorf("helper for %s: %w", platform, err)
	}
	if len(binary) > Limit {
		return nil, fmt.Errorf("helper for %s has %d bytes: at most %d are allowed, so find what it imports", platform,
			len(binary), Limit)
	}
	return Compress(binary)
}

func compile(ctx context.Context, system, architecture, path string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o",
		path, Source)
	// No flags and no tuning of this machine: they would change the bytes.
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture, "GOFLAGS=", "GOAMD64=v1",
		"GOARM64=v8.0")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, stderr.Bytes())
	}
	return os.ReadFile(path)
}

// Compress returns what gunzip expands to binary; no time and no name go in.
func Compress(binary []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(binary)
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
