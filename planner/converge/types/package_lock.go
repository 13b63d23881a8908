package types

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

var (
	// lockTaken lists what apt, dpkg, dnf, rpm and apk print when another process has their lock.
	lockTaken = []string{
		"Could not get lock", "is locked by another process", "lock was locked by another process", "create transaction lock",
		"Unable to lock database", "Waiting for process with pid ",
	}
	// lockHolder lists what they print before the number of that process, where they know it.
	lockHolder = []string{"held by process ", "with pid "}
)

// lockError adds to the error of a tool, started at a time, which process has the lock that the tool did not get, and
// how long it was waited for.
func lockError(s *Session, failure error, out system.Output, started time.Time) error {
	line := lockLine(out.Combined)
	if failure == nil || line == "" {
		return failure
	}
	holder := "another process"
	for _, text := range lockHolder {
		_, rest, _ := strings.Cut(line, text)
		pid := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		if pid == "" {
			continue
		}
		holder = "process " + pid
		if name, err := s.ReadFile("/proc/" + pid + "/comm"); err == nil { // it may have ended by now
			holder += " (" + strings.TrimSpace(string(name)) + ")"
		}
		break
	}
	return fmt.Errorf("%w. On the node, %s has the lock; it was waited for %s. Apply again when that process has ended",
		failure, holder, time.Since(started).Round(time.Second))
}

// lockLine returns the line in which a tool says that it does not have its lock, empty when it says no such thing, or
// that it waits for the lock and then something else: it got it.
func lockLine(printed string) string {
	found := ""
	for line := range strings.Lines(printed) {
		prints := func(text string) bool { return strings.Contains(line, text) }
		switch line = strings.TrimSpace(line); {
		case slices.ContainsFunc(lockTaken, prints):
			found = line
		case line != "" && strings.HasPrefix(found, "Waiting for "):
			found = ""
		}
	}
	return found
}
