package converge

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

var (
	// lockTaken matches what apt, dpkg, rpm and apk print when another process has their lock.
	lockTaken = regexp.MustCompile(`Could not get lock|lock was locked by another process|is locked by another process|create transaction lock|Unable to lock database`)
	// lockHolder matches what they print of that process, where they know it.
	lockHolder = regexp.MustCompile(`(?:held by process|with pid) (\d+)`)
)

// lockError adds to the error of a tool, started at a time, which process has the lock that the tool did not get, and how long it was waited for.
func lockError(s *System, failure error, out Output, started time.Time) error {
	if !lockTaken.MatchString(out.Combined) {
		return failure
	}
	holder := "another process"
	if m := lockHolder.FindStringSubmatch(out.Combined); m != nil {
		holder = "process " + m[1]
		if name, err := s.ReadFile("/proc/" + m[1] + "/comm"); err == nil { // it may have ended by now
			holder += " (" + strings.TrimSpace(string(name)) + ")"
		}
	}
	return fmt.Errorf("%w. On the node, %s has the lock; it was waited for %s. Apply again when that process has ended", failure, holder, time.Since(started).Round(time.Second))
}
