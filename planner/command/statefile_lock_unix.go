//go:build unix

package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// exclusive locks a file until it is closed, and fails at once when another process has it.
func exclusive(file *os.File) error {
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
