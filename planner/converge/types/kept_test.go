package types

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

func TestKeepAndRestore(t *testing.T) {
	b := folder(t, map[string]string{"etc/motd": "old"})
	motd := filepath.Join(b.Root, "etc/motd")
	if err := os.Chmod(motd, 0o640); err != nil {
		t.Fatal(err)
	}
	name, _, err := b.Keep("/etc/motd")
	if err != nil {
		t.Fatal(err)
	}
	if again, _, err := b.Keep("/etc/motd"); err != nil || again != name {
		t.Errorf("kept again under %q, %v", again, err)
	}
	if err := os.WriteFile(motd, []byte("new"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(name, "/etc/motd", nil); err != nil {
		t.Fatal(err)
	}
	content, info, err := b.ReadInfo("/etc/motd")
	if err != nil || string(content) != "old" || system.ChmodBits(info.Mode) != 0o640 {
		t.Errorf("restored %q %v, %v", content, info.Mode, err)
	}
	for _, bad := range []string{"../ledger.json", "a-0644-0", "a/b-0644-0-0", "", "x-9999-0-0", "x-0644--1-0"} {
		if b.Restore(bad, "/etc/motd", nil) == nil {
			t.Errorf("%q was taken for the name of a kept file", bad)
		}
	}
	for _, dir := range []string{system.Home, system.BackupPath} {
		if info, err := b.Lstat(dir); err != nil || system.ChmodBits(info.Mode) != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode, err)
		}
	}
}
