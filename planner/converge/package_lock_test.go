package converge

import (
	"strings"
	"testing"
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
			s := wholeMachine(t, map[string]string{"/proc/4711/comm": "unattended-upgr\n"}, func(Command) (Output, error) {
				return Output{Status: 100, Combined: test.prints}, nil
			})
			err := mustRun(t.Context(), s, Command{Argv: []string{name}})
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v, want %q in it", err, want)
				}
			}
		})
	}
}
