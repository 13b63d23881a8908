package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// look lists everything about a node that destroying a site must leave as it was: every path with its attributes, the
// content of every file (below /usr, where package managers keep the times of the files in its packages, size and time
// stand for it), packages and whether someone asked for them, users and groups, units, what is mounted, kernel
// parameters of its own network, who listens. What is left out is the system's own: logs, clocks, caches, seeds, the
// copies that passwd and ucf make of their files, temporary files and units of sessions, targets that were reached, and
// the indexes that are made from all the rest.
const look = `
set -efo pipefail
cd /
own='( -path ./var/log/* -type f -o -path ./var/cache/* -o -path ./var/lib/apt/lists/* -o -path ./var/lib/apt/extended_states -o -path ./etc/*- -type f -o -path ./var/lib/ucf/*.[0-9] -o -path ./var/lib/dpkg/*-old -o -path ./var/lib/rpm/* -o -path ./var/lib/dnf/* -o -path ./var/lib/systemd/random-seed -o -path ./tmp/* -o -path ./var/tmp/systemd-private-* )'
find . -xdev $own -prune -o -path ./usr/* -type f -printf 'path %p %y %m %U %G %s %T@\n' -o -printf 'path %p %y %m %U %G %l\n'
index='( -path ./var/lib/dpkg/status -o -path ./var/lib/dpkg/available -o -path ./etc/ld.so.cache )'
find . -xdev \( -path ./usr -o $own -o $index \) -prune -o -type f -exec sha256sum {} +
find /run /tmp -xdev \( -path /run/systemd -o -path /run/user -o -path /run/udev -o -path /run/log -o -path /run/host -o -path /tmp/systemd-private-* -o -path /run/adduser -o -path /run/sudo/ts* \) -prune -o -printf 'path %p %y %m %U %G\n' 2>/dev/null || true
if command -v dnf >/dev/null; then
rpm -qa --queryformat 'package %{NAME} %{VERSION}\n'
dnf -q history userinstalled | sed 's/^/manual /'
else
dpkg-query -W -f 'package ${Package} ${Version} ${db:Status-Abbrev} ${Conffiles}\n'
apt-mark showmanual | sed 's/^/manual /'
apt-mark showhold | sed 's/^/hold /'
fi
getent passwd | sed 's/^/user /'
getent group | sed 's/^/group /'
if [ -d /run/systemd/system ]; then
systemctl list-unit-files --no-legend --plain | awk '$1 !~ /^session-/ {print "unit file", $1, $2}'
systemctl list-units --all --no-legend --plain --type=service,socket,timer,mount,path | awk '$1 !~ /^(user@|user-runtime|run-user|session|systemd-tmpfiles|run-credentials)/ && $2 != "not-found" {print "unit", $1, $2, $3, $4}'
fi
findmnt -rn -o TARGET,SOURCE,FSTYPE,OPTIONS | grep -v -e ^/run/user -e '^/proc/sys/kernel/random' -e ^/run/credentials -e '^/ ' -e ^/proc/kmsg | sed 's/^/mount /'
sysctl -a 2>/dev/null | grep '^net\.' | sed 's/^/kernel /'
ss -Hltun | awk '{print "listens", $1, $5}'
`

// fingerprint is what look says of a node, a line each.
type fingerprint []string

// fingerprints looks at nodes, all at once.
func fingerprints(t *testing.T, nodes ...lab.Node) []fingerprint {
	t.Helper()
	out := make([]fingerprint, len(nodes))
	errs := make([]error, len(nodes))
	var looking sync.WaitGroup
	for i, n := range nodes {
		looking.Go(func() {
			raw, err := n.Command("export LC_ALL=C; { " + look + " } | sort -u").CombinedOutput()
			if out[i] = strings.Split(strings.TrimSpace(string(raw)), "\n"); err != nil || len(out[i]) < 5000 {
				errs[i] = fmt.Errorf("%s: %w\n%s", n.Name, err, raw[max(0, len(raw)-1000):])
			}
		})
	}
	looking.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// assertUntouched compares nodes with what fingerprints said of them before.
func assertUntouched(t *testing.T, before []fingerprint, nodes ...lab.Node) {
	t.Helper()
	for i, after := range fingerprints(t, nodes...) {
		if diff := difference(before[i], after); len(diff) > 0 {
			t.Errorf("%s is not as it was:\n%s", nodes[i].Name, strings.Join(diff, "\n"))
		}
	}
}

// difference lists the lines that only one of two fingerprints has.
func difference(before, after fingerprint) []string {
	count := map[string]int{}
	for _, l := range before {
		count[l]--
	}
	for _, l := range after {
		count[l]++
	}
	var out []string
	for _, l := range append(append([]string{}, before...), after...) {
		switch {
		case count[l] < 0:
			out = append(out, "- "+l)
		case count[l] > 0:
			out = append(out, "+ "+l)
		}
		count[l] = 0
	}
	return out
}
