package main

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"io"
	"strings"
	"testing"
)

func TestBuild(t *testing.T) {
	machines := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
	for _, platform := range platforms {
		first, err := build(t.Context(), platform)
		if err != nil {
			t.Fatal(err)
		}
		second, err := build(t.Context(), platform)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("%s: two builds differ", platform)
		}
		z, err := gzip.NewReader(bytes.NewReader(first))
		if err != nil {
			t.Fatal(err)
		}
		binary, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(binary))
		if err != nil {
			t.Fatal(err)
		}
		if libraries, err := f.ImportedLibraries(); f.Machine != machines[platform] || len(libraries) != 0 || err != nil {
			t.Errorf("%s: machine %s, libraries %v, error %v: a static program is wanted", platform, f.Machine, libraries, err)
		}
		if f.Section(".symtab") != nil || len(binary) > limit {
			t.Errorf("%s: %d bytes, or not stripped", platform, len(binary))
		}
	}
}

func TestUnknownPlatforms(t *testing.T) {
	for _, platform := range []string{"linux", "linux/abacus"} {
		if _, err := build(t.Context(), platform); err == nil || !strings.Contains(err.Error(), platform) {
			t.Errorf("%s: error %v", platform, err)
		}
	}
}
