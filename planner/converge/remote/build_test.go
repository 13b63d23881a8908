package remote

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build runs the script that builds the helpers, for one platform.
func build(t *testing.T, platform string) ([]byte, error) {
	t.Helper()
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), "sh", "build.sh", dir)
	command.Env = append(os.Environ(), "HELPER_PLATFORMS="+platform)
	if out, err := command.CombinedOutput(); err != nil {
		t.Logf("%s", out)
		return out, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "helper-"+strings.ReplaceAll(platform, "/", "-")+"-*.gz"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return os.ReadFile(files[0])
}

func TestBuild(t *testing.T) {
	machines := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
	for platform, machine := range machines {
		first, err := build(t, platform)
		if err != nil {
			t.Fatal(err)
		}
		second, err := build(t, platform)
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
		if libraries, err := f.ImportedLibraries(); f.Machine != machine || len(libraries) != 0 || err != nil {
			t.Errorf("%s: machine %s, libraries %v, error %v: a static program is wanted", platform, f.Machine, libraries, err)
		}
		if f.Section(".symtab") != nil || len(binary) > 6_200_000 {
			t.Errorf("%s: %d bytes, or not stripped", platform, len(binary))
		}
	}
}

func TestUnknownPlatforms(t *testing.T) {
	for _, platform := range []string{"linux", "linux/abacus"} {
		if out, err := build(t, platform); err == nil || !strings.Contains(string(out), platform) {
			t.Errorf("%s: error %v: %s", platform, err, out)
		}
	}
}
