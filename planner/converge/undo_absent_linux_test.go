package converge

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// absentNode is a node with what each type needs. Its commands keep the files of the shadow suite and of dpkg.
func absentNode(t *testing.T) *types.Session {
	t.Helper()
	s := shadowNode(t)
	for file, content := range map[string]string{
		"/etc/hosts": "", "/etc/fstab": "", "/proc/self/mountinfo": "", "/var/spool/cron/crontabs/root": "", "/d/a.ini": "",
		"/etc/passwd": "root:x:0:0::/root:/bin/sh\n", "/proc/sys/net/x": "1\n", "/etc/sysctl.d/README": "", "/mnt/README": "", "/usr/share/zoneinfo/UTC": "TZif",
		"/d/a.tar": tarOf(t, member{name: "x", content: "x"}), "/proc/sys/kernel/hostname": "node\n", "/sys/module/README": "", "/proc/sys/kernel/osrelease": "6\n",
		"/var/lib/dpkg/status": systemtest.DpkgStanza, "/usr/bin/apt-get": "", "/usr/bin/git": "", "/run/systemd/system/README": "", "/bin/systemctl": "", "/usr/bin/systemctl": "",
	} {
		onDisk(t, s, file, content)
	}
	if err := s.SetAttributes("/usr/bin/git", system.Attributes{Mode: pointer[fs.FileMode](0o755)}); err != nil {
		t.Fatal(err)
	}
	shadow := s.Commands
	s.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
		line := strings.Join(c.Argv, " ")
		switch {
		case c.Argv[0] == "dd":
			onDisk(t, s, "/proc/sys/net/x", string(c.Stdin))
		case c.Argv[0] == "hostname":
			onDisk(t, s, "/proc/sys/kernel/hostname", c.Argv[1]+"\n")
		case line == "modprobe -- dummy":
			onDisk(t, s, "/sys/module/dummy", "")
		case line == "modprobe -r -- dummy":
			if err := os.Remove(filepath.Join(s.Root, "/sys/module/dummy")); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(line, "/usr/bin/git -C /d/clone clone"):
			onDisk(t, s, "/d/clone/.git/index", "")
		case strings.HasPrefix(line, "/usr/bin/git -C /d/clone config"):
			return systemtest.Prints("https://x/y\n"), nil
		case c.Argv[0] == "/usr/bin/git":
		case c.Argv[0] == "apt-cache":
			return systemtest.Prints("jq:\n  Candidate: 1\n"), nil
		case strings.HasPrefix(line, "apt-get"+systemtest.AptOptions+" install"):
			onDisk(t, s, "/var/lib/dpkg/status", systemtest.DpkgStanza+systemtest.Stanza("jq", ""))
		case strings.HasPrefix(line, "apt-get"+systemtest.AptOptions+" purge"):
			onDisk(t, s, "/var/lib/dpkg/status", systemtest.DpkgStanza)
		case c.Argv[0] == "apt-get", c.Argv[0] == "mount", c.Argv[0] == "umount":
		case c.Argv[0] == "systemctl":
			unit := "ActiveState=inactive\nLoadState=loaded\nUnitFileState=enabled\n"
			if _, err := s.Lstat("/run/unit-gone"); err == nil {
				unit = "ActiveState=inactive\nLoadState=not-found\nUnitFileState=\n"
			}
			return systemtest.Prints("Id=web.service\nNames=web.service\n" + unit), nil
		default:
			return shadow(ctx, c)
		}
		return system.Output{}, nil
	}
	return s
}

func onDisk(t *testing.T, s *types.Session, file, content string) {
	t.Helper()
	file = filepath.Join(s.Root, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestUndoSaysWhatWasAlreadyGone: what slipway applied was taken away by others. An undo that goes on where another one
// was cut off says nothing: it was slipway that took it away.
func TestUndoSaysWhatWasAlreadyGone(t *testing.T) {
	cases := map[string]struct {
		typ, title string
		parameters resource.Parameters
		file, is   string // a file that others change meanwhile, and what it has then; "-" is nothing
	}{
		"file":      {"file", "/d/f", resource.Parameters{"content": "x"}, "/d/f", "-"},
		"link":      {"file", "/d/f", resource.Parameters{"target": "x"}, "/d/f", "-"},
		"directory": {"file", "/d/f", resource.Parameters{"ensure": "directory"}, "/d/f", "-"},
		"its mode":  {"file", "/d/a.ini", resource.Parameters{"mode": "0600"}, "/d/a.ini", "-"},
		"user":      {"user", "bob", resource.Parameters{}, "/etc/passwd", ""},
		"group":     {"group", "crew", resource.Parameters{}, "/etc/group", ""},
		"job":       {"cron", "j", resource.Parameters{"command": "/bin/new", "user": "root"}, "/var/spool/cron/crontabs/root", ""},
		"host":      {"host", "h", resource.Parameters{"ip": "10.0.0.2"}, "/etc/hosts", ""},
		"mount":     {"mount", "/mnt", resource.Parameters{"device": "x", "fstype": "ext4", "ensure": "present"}, "/etc/fstab", ""},
		"setting":   {"ini_setting", "x", resource.Parameters{"path": "/d/a.ini", "section": "s", "setting": "k", "value": "v"}, "/d/a.ini", ""},
		"line":      {"file_line", "x", resource.Parameters{"path": "/d/a.ini", "line": "v"}, "/d/a.ini", ""},
		"key":       {"ssh_authorized_key", "k", resource.Parameters{"target": "/d/keys", "type": "ssh-rsa", "key": "AAAAB3NzaC1yc2EAAAAgY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2M="}, "/d/keys", "-"},
		"hostname":  {"hostname", "web1", resource.Parameters{}, "/etc/hostname", "-"},
		"module":    {"kernel_module", "dummy", resource.Parameters{}, "/etc/modules-load.d", "-"},
		"unit":      {"systemd_unit", "a.service", resource.Parameters{"content": "[Service]\n"}, "/etc/systemd/system/a.service", "-"},
		"apt":       {"apt_repository", "a", resource.Parameters{"location": "file:/x", "release": "./"}, "/etc/apt/sources.list.d", "-"},
		"yum":       {"yum_repository", "a", resource.Parameters{"baseurl": "file:///x"}, "/etc/yum.repos.d", "-"},
		"parameter": {"sysctl", "net.x", resource.Parameters{"value": "2"}, "/etc/sysctl.d", "-"},
		"archive":   {"archive", "a", resource.Parameters{"source": "/d/a.tar", "extract": true, "extract_path": "/d/out"}, "/d/out", "-"},
		"clone":     {"vcsrepo", "/d/clone", resource.Parameters{"source": "https://x/y"}, "/d/clone", "-"},
		"time zone": {"timezone", "UTC", resource.Parameters{}, "/etc/localtime", "-"},
		"package":   {"package", "jq", resource.Parameters{}, "/var/lib/dpkg/status", systemtest.DpkgStanza},
		"service":   {"service", "web", resource.Parameters{"enable": true}, "/run/unit-gone", ""},
	}
	untried := schema.Types()
	delete(untried, "exec") // what a command did is not undone
	for _, tt := range cases {
		delete(untried, tt.typ)
	}
	if len(untried) > 0 {
		t.Errorf("there is no case for %q", slices.Sorted(maps.Keys(untried)))
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			apply := func() *types.Session {
				s := absentNode(t)
				if got := runAll(t, s, managed(t, tt.typ, tt.title, tt.parameters))[0]; got.Status == Failed {
					t.Fatalf("%s: %s", got.Status, got.Message)
				}
				return s
			}
			if got := runAll(t, apply())[0]; got.Status != Changed || got.Message != "" {
				t.Errorf("there: %s: %q", got.Status, got.Message)
			}
			take := func(s *types.Session) {
				if tt.is != "-" {
					onDisk(t, s, tt.file, tt.is)
				} else if err := os.RemoveAll(filepath.Join(s.Root, tt.file)); err != nil {
					t.Fatal(err)
				}
			}
			s := apply()
			take(s)
			if got := runAll(t, s)[0]; got.Status != Changed || !strings.HasPrefix(got.Message, types.AlreadyGone) {
				t.Errorf("gone: %s: %q", got.Status, got.Message)
			}

			s = apply()
			l, err := ledger.Read(s.System)
			if err != nil {
				t.Fatal(err)
			}
			l.Entries[0].Digest = "" // as an undo leaves it that was cut off
			l.Change(ledger.Record{Entry: l.Entries[0]})
			if err := l.Compact(); err != nil {
				t.Fatal(err)
			}
			take(s)
			if got := runAll(t, s)[0]; got.Status != Changed || strings.Contains(got.Message, types.AlreadyGone) {
				t.Errorf("cut off: %s: %q", got.Status, got.Message)
			}
		})
	}
	for name, i := range map[string]Item{
		"a file":                   managed(t, "file", "/d/a.ini", resource.Parameters{"ensure": "absent"}),
		"attributes of what isn't": managed(t, "file", "/d/f", resource.Parameters{"mode": "0600"}),
		"a user":                   managed(t, "user", "bob", resource.Parameters{"ensure": "absent"}),
		"a host":                   managed(t, "host", "h", resource.Parameters{"ensure": "absent"}),
	} {
		t.Run("to be absent: "+name, func(t *testing.T) {
			s := absentNode(t)
			runAll(t, s, i)
			if got := runAll(t, s)[0]; got.Message != "" {
				t.Errorf("%s: %q", got.Status, got.Message)
			}
		})
	}
}
