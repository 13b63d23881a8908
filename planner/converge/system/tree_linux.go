package system

import (
	"bytes"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// signal sends a signal to all processes of the tree, except services that are up, and returns their number.
func (t *tree) signal(s unix.Signal) int {
	children := processes()
	top := slices.DeleteFunc(children[os.Getpid()], func(pid int) bool { return pid != t.pid && isService(pid) })
	all := withChildren(top, children)
	for _, pid := range all {
		_ = unix.Kill(pid, s) // it may be gone meanwhile
	}
	return len(all)
}

// withChildren returns processes with all that are below them.
func withChildren(pids []int, children map[int][]int) []int {
	for i := 0; i < len(pids); i++ {
		pids = append(pids, children[pids[i]]...)
	}
	return pids
}

// openrcState is where OpenRC keeps what it knows.
const openrcState = "/run/openrc"

// isService reports whether a process, whose parent has ended, is a service that OpenRC started. Such a service
// descends from what asked for it, other than those of systemd. It has OpenRC's variables, unless it has written its
// title over its environment, as sshd and nginx do.
func isService(pid int) bool {
	if unix.Access(openrcState, unix.F_OK) != nil {
		return false
	}
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(environment) == 0 {
		return false
	}
	overwritten := true
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		switch name, _, found := bytes.Cut(variable, []byte("=")); {
		case string(name) == "RC_SVCNAME":
			return true
		case found && !bytes.ContainsAny(name, " :/"):
			overwritten = false
		}
	}
	return overwritten
}

// processes returns the children of every process of this machine that has some.
func processes() map[int][]int {
	out := map[int][]int{}
	entries, _ := os.ReadDir("/proc") // without it no command can be started, see Run
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		// "PID (NAME) STATE PARENT ...": the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 || len(fields[0]) == 1 && fields[0][0] == 'Z' {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			out[parent] = append(out[parent], pid)
		}
	}
	return out
}
