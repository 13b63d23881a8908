package types

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// The error of a package manager that does not get its lock says which process has it, and how long it was waited for.
func TestTheHolderOfAPackageManagersLockIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		prints string
		want   []string
	}{
		"apt": {
			"E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (unattended-upgr)\nE: Unable to acquire the dpkg frontend lock\n",
			[]string{"Could not get lock /var/lib/dpkg/lock-frontend", "process 4711 (unattended-upgr) has the lock", "waited for"}},
		"older apt": {
			"E: Could not get lock /var/lib/dpkg/lock-frontend - open (11: Resource temporarily unavailable)\n", []string{"another process has the lock", "waited for"}},
		"dpkg": {
			"dpkg: error: dpkg frontend lock was locked by another process with pid 4711\nNote: removing the lock file is always wrong\n",
			[]string{"locked by another process with pid 4711", "process 4711 (unattended-upgr) has the lock", "waited for"}},
		"apk": {
			"ERROR: Unable to lock database: temporary error (try again later)\nERROR: Failed to open apk database\n",
			[]string{"Unable to lock database", "another process has the lock", "waited for"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := wholeMachine(t, map[string]string{"/proc/4711/comm": "unattended-upgr\n"}, func(system.Command) (system.Output, error) {
				return system.Output{Status: 100, Combined: test.prints}, nil
			})
			err := mustRun(t.Context(), s, system.Command{Argv: []string{name}})
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, want %q in it", err, want)
				}
			}
		})
	}
}

// So does the error of one that still waits for its lock when the session ends, but not that of one that has got it.
func TestTheHolderOfALockIsNamedWhenTheSessionEnds(t *testing.T) {
	const waits = "Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. " +
		"It is held by process %s... 1s\n"
	errEnded := errors.New("the controller ended the session")
	for name, test := range map[string]struct{ prints, want, not string }{
		"waiting": {"Reading package lists...\n" + strings.ReplaceAll(waits, "%s", "17 (gone)") +
			strings.ReplaceAll(waits, "%s", "4711 (unattended-upgr)"),
			"process 4711 (unattended-upgr) has the lock; it was waited for", "process 17"},
		"dnf":     {"Waiting for process with pid 4711 to finish.\n", "process 4711 (unattended-upgr) has the lock", "17 "},
		"working": {strings.ReplaceAll(waits, "%s", "4711") + "Unpacking tree\n", "the controller ended", "has the lock"},
	} {
		t.Run(name, func(t *testing.T) {
			s := wholeMachine(t, map[string]string{"/proc/4711/comm": "unattended-upgr\n"}, func(system.Command) (system.Output, error) {
				return system.Output{Combined: test.prints}, errEnded
			})
			for way, run := range map[string]func() error{
				"mustRun":     func() error { return mustRun(t.Context(), s, system.Command{Argv: []string{name}}) },
				"runUnlocked": func() error { return aptUpdate(t.Context(), s) },
				"apk":         func() error { return apk{}.add(t.Context(), s, nil) },
			} {
				err := run()
				if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), test.not) {
					t.Errorf("%s: the error is %v, want %q in it, and not %q", way, err, test.want, test.not)
				}
			}
		})
	}
}
