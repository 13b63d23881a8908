package system

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// RootID returns device and inode of the root directory: links lead to the same one. It is empty when they cannot be
// found out.
func (s *System) RootID() string {
	var st unix.Stat_t
	if err := unix.Fstat(int(s.base.Fd()), &st); err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
