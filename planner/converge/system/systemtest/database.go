package systemtest

import (
	"os"
	"path/filepath"
	"testing"
)

// DpkgStanza is what the database of dpkg says of dpkg.
const DpkgStanza = "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.21\n\n"

// Stanza is what the database of dpkg says of a package that is installed, with more fields.
func Stanza(name, fields string) string {
	return "Package: " + name + "\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n" + fields + "\n"
}

// Apt is a node with apt, whose database of dpkg holds stanzas beside that of dpkg.
func Apt(stanzas string) map[string]string {
	return map[string]string{"/var/lib/dpkg/status": DpkgStanza + stanzas, "/usr/bin/apt-get": "", "/usr/bin/dnf": ""}
}

// Install rewrites the databases of dpkg and apt in the sandbox below root: the packages, and which of them came along.
func Install(t *testing.T, root, stanzas, auto string) {
	t.Helper()
	for path, text := range map[string]string{"/var/lib/dpkg/status": DpkgStanza + stanzas, "/var/lib/apt/extended_states": auto} {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}
