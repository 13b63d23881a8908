// Package examples runs a Terraform binary over every configuration that the repository shows: the folders below examples/, the README
// and the guides. Those of services it applies, too, on nodes that are folders.
package examples

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const top = "../.."

// binary returns a command of the Terraform binary in a directory, with the provider from the mirror, that is not started yet.
func binary(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	mirror := os.Getenv("SLIPWAY_MIRROR")
	if mirror == "" {
		t.Skip("NOT RUN: SLIPWAY_MIRROR names no Terraform configuration that finds the provider; use `make test`")
	}
	name := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if name == "" {
		name = "terraform"
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+mirror, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	return cmd
}

// terraform runs the binary in a directory and fails the test when it fails.
func terraform(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := binary(t, dir, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(cmd.Path), strings.Join(args, " "), err, out.String())
	}
}

// check formats, initialises and validates the configuration in a directory. It names the provider where the configuration does not.
func check(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		t.Fatal(err)
	}
	named := slices.ContainsFunc(files, func(file string) bool {
		content, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(content), "required_providers")
	})
	if !named {
		write(t, filepath.Join(dir, "versions.tf"), "terraform {\n  required_providers {\n    slipway = { source = \"slipway/slipway\" }\n  }\n}\n")
	}
	terraform(t, dir, "fmt", "-check", "-diff", "-no-color")
	terraform(t, dir, "init", "-input=false", "-no-color")
	terraform(t, dir, "validate", "-no-color")
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	var folders []string
	err := filepath.WalkDir(filepath.Join(top, "examples"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if dir, _ := filepath.Rel(top, filepath.Dir(path)); err == nil && filepath.Ext(path) == ".tf" && !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
		return err
	})
	if err != nil || len(folders) == 0 {
		t.Fatalf("%q, %v", folders, err)
	}
	for _, folder := range folders {
		t.Run(folder, func(t *testing.T) {
			copied := t.TempDir() // of all, because modules lie beside each other
			if err := os.CopyFS(copied, os.DirFS(filepath.Join(top, "examples"))); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(copied, strings.TrimPrefix(folder, "examples"))
			check(t, dir)
			// Callers of modules plan these. The cluster needs servers, which its script starts.
			if folder != "examples/five-groups" && folder != "examples/cluster" && !strings.HasPrefix(folder, "examples/modules/") {
				terraform(t, dir, "plan", "-input=false", "-no-color", "-lock=false")
			}
		})
	}
}

// TestPages checks the configurations in pages that TestGuides does not run as files.
func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(top, "templates/guides/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, filepath.Join(top, "README.md")) {
		if filepath.Base(page) == "configuration.md" { // parts of configurations: the tests of test/types plan them
			continue
		}
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts(t, filepath.Base(page), string(content)) {
			if p.kind != "hcl" && p.kind != "terraform" {
				continue
			}
			found++
			t.Run(filepath.Base(page), func(t *testing.T) {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "main.tf"), p.content)
				write(t, filepath.Join(dir, "site.conf"), "server {}\n")       // the README's
				write(t, filepath.Join(dir, "catalog.yaml"), "entities: {}\n") // the catalog guide's
				part := p.content
				// Not whole, or with blocks of Terraform 1.14, which older ones and OpenTofu do not know.
				if strings.Contains(part, "# ...") || strings.HasPrefix(part, "action ") || strings.Contains(part, "\naction ") {
					terraform(t, dir, "fmt", "-check", "-diff", "-no-color")
					return
				}
				if strings.Contains(part, "data.slipway_catalog.site") && !strings.Contains(part, `data "slipway_catalog" "site"`) {
					write(t, filepath.Join(dir, "catalog.tf"), "data \"slipway_catalog\" \"site\" {\n  documents = [file(\"${path.module}/catalog.yaml\")]\n}\n")
				}
				check(t, dir)
			})
		}
	}
	if found < 4 {
		t.Errorf("only %d configurations were found in the pages", found)
	}
}
