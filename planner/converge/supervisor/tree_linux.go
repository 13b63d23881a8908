package supervisor

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// signalAll sends a signal to all processes below this one and returns their number.
func signalAll(s unix.Signal) int {
	children := processes()
	n := 0
	for below := children[os.Getpid()]; len(below) > 0; below = below[1:] {
		_ = unix.Kill(below[0], s) // it may be gone meanwhile
		n++
		below = append(below, children[below[0]]...)
	}
	return n
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
