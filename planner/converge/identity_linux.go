package converge

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// identity returns the node's identity without that of its ledger. Machine-id and boot id are those of the machine that
// the session runs on, also for a sandbox: its root distinguishes it from others.
func (s *System) identity() Identity {
	i := Identity{Machine: machineText("/etc/machine-id"), Boot: machineText("/proc/sys/kernel/random/boot_id")}
	var st unix.Stat_t
	if err := unix.Fstat(int(s.base.Fd()), &st); err == nil {
		i.Root = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return i.bounded()
}

// machineText returns the text of a file of the machine, empty when it cannot be read.
func machineText(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}
