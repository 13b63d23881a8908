package converge

import (
	"runtime"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// facts describes the node. What cannot be found out stays empty: facts help to distinguish nodes, and no decision of
// the engine rests on them.
func facts(s *system.System) Facts {
	f := Facts{OS: runtime.GOOS, Arch: runtime.GOARCH}
	for _, path := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		content, err := s.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(content)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "ID="); ok {
				f.Distribution = bounded(strings.Trim(v, `"'`), FactLimit)
			}
		}
		break
	}
	f.PackageManager = firstOf(s, [][2]string{{"/usr/bin/apt-get", "apt"}, {"/usr/bin/dnf", "dnf"}, {"/sbin/apk", "apk"}})
	f.Init = firstOf(s, [][2]string{{"/run/systemd/system", "systemd"}, {"/sbin/openrc", "openrc"}})
	if id, err := s.BootID(); err == nil {
		f.BootID = id
	}
	return f
}

// firstOf returns the name that belongs to the first path that is there.
func firstOf(s *system.System, pairs [][2]string) string {
	for _, pair := range pairs {
		if _, err := s.Lstat(pair[0]); err == nil {
			return pair[1]
		}
	}
	return ""
}
