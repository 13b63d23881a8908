// Command build puts the helpers that the provider carries into the directory that it is given, where package remote
// embeds them: static, stripped, compressed, and the same bytes from the same source on every machine.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: build DIRECTORY")
		os.Exit(2)
	}
	for _, platform := range platforms {
		path := filepath.Join(os.Args[1], "helper-"+strings.ReplaceAll(platform, "/", "-")+".gz")
		compressed, err := build(ctx, platform)
		if err == nil {
			err = os.WriteFile(path, compressed, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %d bytes\n", path, len(compressed))
	}
}

// source is the helper's package.
const source = "github.com/slipway/terraform-provider-slipway/planner/converge/slipway-helper"

// limit bounds a helper, in bytes before compression.
const limit = 4_500_000

// platforms are those for which the provider carries a helper, as GOOS/GOARCH.
var platforms = []string{"linux/amd64", "linux/arm64"}

// build compiles the helper for a platform and returns it compressed. It needs the go command, and must run inside the
// module.
func build(ctx context.Context, platform string) ([]byte, error) {
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
	if len(binary) > limit {
		return nil, fmt.Errorf("helper for %s has %d bytes: at most %d are allowed, so find what it imports", platform,
			len(binary), limit)
	}
	return compress(binary)
}

func compile(ctx context.Context, system, architecture, path string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o",
		path, source)
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

// compress returns what gunzip expands to binary; no time and no name go in.
func compress(binary []byte) ([]byte, error) {
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
