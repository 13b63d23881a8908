package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupName is how the name of a command's cgroup begins.
const cgroupName = "slipway-"

// endWait bounds the wait for processes that were killed.
const endWait = 10 * time.Second

// NewCgroup makes a cgroup for a command below that of this process, and returns its folder: in it, all that the
// command started is found when the supervisor was killed too. It returns "" where this process may make none, or the
// node has no cgroups of version 2 that can be killed (Linux 5.14).
func NewCgroup() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	_, own, found := strings.Cut("\n"+string(text), "\n0::")
	if err != nil || !found {
		return ""
	}
	own, _, _ = strings.Cut(own, "\n")
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} { // the second beside version 1
		parent := filepath.Join(root, own)
		if !slices.Contains(members(parent), os.Getpid()) {
			continue
		}
		dir := filepath.Join(parent, fmt.Sprintf("%s%d-%d", cgroupName, os.Getpid(), time.Now().UnixNano()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		if unix.Access(filepath.Join(dir, "cgroup.kill"), unix.W_OK) == nil {
			return dir
		}
		_ = os.Remove(dir) // it is empty
	}
	return ""
}

// EndCgroup ends all that is left in a cgroup that [NewCgroup] made, except services, and removes it. One that is gone
// is no error.
func EndCgroup(dir string) error {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || !strings.HasPrefix(filepath.Base(dir), cgroupName) {
		return fmt.Errorf("%q is no cgroup of a command", dir)
	}
	children, left := processes(), members(dir)
	top := slices.Clone(left)
	for _, pid := range left {
		top = slices.DeleteFunc(top, func(other int) bool { return slices.Contains(children[pid], other) })
	}
	services := withChildren(slices.DeleteFunc(top, func(pid int) bool { return !isService(pid) }), children)
	free(dir, func(pid int) bool { return slices.Contains(services, pid) })
	for end := time.Now().Add(endWait); ; time.Sleep(10 * time.Millisecond) {
		err := removeCgroup(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("what a killed session's command started does not end: processes %v: %w", members(dir), err)
		}
		err = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// removeCgroup removes a cgroup with those below it. One with processes stays, and is an error.
func removeCgroup(dir string) error {
	entries, _ := os.ReadDir(dir) // when that fails, so does Remove
	for _, e := range entries {
		if e.IsDir() {
			_ = removeCgroup(filepath.Join(dir, e.Name())) // so does Remove
		}
	}
	return os.Remove(dir)
}

// free moves those processes of a cgroup that may live on to the cgroup above, until there is none.
func free(dir string, may func(pid int) bool) {
	for freed := true; freed; {
		freed = false
		for _, pid := range members(dir) {
			if may(pid) && os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0) == nil {
				freed = true
			}
		}
	}
}

// members returns the processes of a cgroup; of one that cannot be read, none.
func members(dir string) (pids []int) {
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for line := range strings.Lines(string(text)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
