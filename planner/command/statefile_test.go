package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func opened(t *testing.T, path string) *stateFile {
	t.Helper()
	f, err := openState(path, "lon1", "apply")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func failsWith(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// A file keeps its lineage, counts its serial, and has no secrets.
func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lon1.json")
	f := opened(t, path)
	secret := site.Connection{User: "ops", PrivateKey: "topsecret", Passphrase: "topsecret", SudoPassword: "topsecret",
		Bastions: []site.Bastion{{Host: "jump", PrivateKey: "topsecret"}}}
	f.Status, f.Nodes = engine.Deployed, []site.Node{{Name: "a", Connection: secret}}
	f.State.Given = map[string]site.Node{"b": {Name: "b", Connection: secret}}
	f.State.Departed = map[string]engine.Credentials{"c": {PrivateKey: "topsecret"}}
	for range 2 {
		if err := f.save("test"); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "topsecret") {
		t.Errorf("%v\n%s", err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	c, exists, err := readState(path, "lon1")
	if err != nil || !exists || c.Serial != 2 || c.Lineage != f.Lineage || c.Nodes[0].Connection.User != "ops" {
		t.Errorf("%v: %+v", err, c)
	}
	if f.Nodes[0].Connection.PrivateKey != "topsecret" {
		t.Error("saving changed what was saved")
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// A file that another process changed is not written over; what is to be remembered is in a file beside it.
func TestSaveChecksSerial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lon1.json")
	f := opened(t, path)
	defer f.close() //nolint:errcheck // in a test
	if err := f.save("test"); err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]string{
		"a later serial":  `{"version":1,"site":"lon1","lineage":"` + f.Lineage + `","serial":9,"state":{"version":3}}`,
		"another lineage": `{"version":1,"site":"lon1","lineage":"x","serial":1,"state":{"version":3}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
				t.Fatal(err)
			}
			failsWith(t, f.save("test"), "was changed by another process")
			if text, err := os.ReadFile(path); err != nil || string(text) != other {
				t.Errorf("%v: %s", err, text)
			}
			if c, exists, err := readState(path+".errored", "lon1"); err != nil || !exists || c.Lineage != f.Lineage {
				t.Errorf("%v: %+v", err, c)
			}
		})
	}
}

// A file is locked while a command works, and free after it.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lon1.json")
	f := opened(t, path)
	_, err := openState(path, "lon1", "destroy")
	failsWith(t, err, "is locked")
	failsWith(t, err, "apply, process")
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	if err := opened(t, path).close(); err != nil {
		t.Error(err)
	}
	// A lock file that a killed process left has no lock.
	if err := os.WriteFile(path+".lock", []byte("apply, process 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := opened(t, path).close(); err != nil {
		t.Error(err)
	}
}
