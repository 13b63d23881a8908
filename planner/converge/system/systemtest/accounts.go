package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// AccountFiles is a node with the shadow tools and a few users and groups.
func AccountFiles() map[string]string {
	files := map[string]string{
		"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:Ann A:/home/ann:/bin/bash\n",
		"/etc/shadow": "root:*:1:0:99999:7:::\nann:$6$former$hash:1:0:99999:7:::\n",
		"/var/lib/":   "",
		"/etc/group":  "root:x:0:\nadm:x:4:ann\nweb:x:33:\nann:x:1000:\nusers:x:100:ann,root\n",
	}
	for _, tool := range []string{"useradd", "usermod", "userdel", "groupadd", "groupmod", "groupdel", "chpasswd"} {
		files["/usr/sbin/"+tool] = ""
	}
	files["/usr/bin/gpasswd"] = ""
	return files
}

// Edit replaces text in a node's file, as a command would.
func Edit(t *testing.T, root, path, old, replacement string) {
	t.Helper()
	file := filepath.Join(root, path)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		t.Fatalf("%s holds no %q: %s", path, old, content)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), old, replacement, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// DebianHosts is /etc/hosts of a node.
const DebianHosts = "127.0.0.1\tlocalhost\n::1 localhost ip6-localhost\n# a comment\n10.0.0.1  db db.example # primary\n"
