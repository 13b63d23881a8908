package journal

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processIdentity identifies this process among all processes on this machine: boot, process namespace, pid and start
// time. It is empty where /proc shows another view of this process.
func processIdentity() string {
	self, err := os.Readlink("/proc/self")
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	_, start, err := inspect(os.Getpid())
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %s %d %s", strings.TrimSpace(string(boot)), namespace, os.Getpid(), start)
}

// processEnded reports whether a process has certainly ended: it ran on this machine, since its last boot and in the
// process namespace of this process, and it is gone. It is false when that cannot be known.
func processEnded(process string) bool {
	was, is := strings.Fields(process), strings.Fields(processIdentity())
	if len(was) != 4 || len(is) != 4 || was[0] != is[0] || was[1] != is[1] {
		return false
	}
	pid, err := strconv.Atoi(was[2])
	if err != nil {
		return false
	}
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return true
	}
	state, start, err := inspect(pid) // fails where the processes of other users are hidden
	return err == nil && (start != was[3] || state == "Z" || state == "X")
}

// inspect returns the state of a process and its start time in ticks since the boot (proc(5), /proc/pid/stat).
func inspect(pid int) (state, start string, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", "", err
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name before may contain any byte
	if len(fields) < 20 {
		return "", "", errors.New("unknown format")
	}
	return fields[0], fields[19], nil
}
