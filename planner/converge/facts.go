package converge

import (
	"runtime"
	"strings"
)

// Facts describes the node. What cannot be found out stays empty: facts help to distinguish nodes, and no decision of
// the engine rests on them.
func (s *System) Facts() Facts {
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
	f.PackageManager = s.first([][2]string{{"/usr/bin/apt-get", "apt"}, {"/usr/bin/dnf", "dnf"}, {"/sbin/apk", "apk"}})
	f.Init = s.first([][2]string{{"/run/systemd/system", "systemd"}, {"/sbin/openrc", "openrc"}})
	if id, err := s.bootID(); err == nil {
		f.BootID = id
	}
	return f
}

// first returns the word of the first path that is there.
func (s *System) first(pairs [][2]string) string {
	for _, pair := range pairs {
		if _, err := s.Lstat(pair[0]); err == nil {
			return pair[1]
		}
	}
	return ""
}
