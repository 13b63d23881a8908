// Package e2e rolls sites out on real machines: the nodes of test/lab.
package e2e

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// nodes is the lab of these tests, with the nodes of examples/lab.
var nodes = lab.Lab{Name: "e2e", Nodes: 9}

func TestMain(m *testing.M) { nodes.Main(m) }

// fingerprint lists everything about a node that destroying a site must leave as it was: files with their content, packages, users,
// groups, units. Logs, caches and clocks are left out, because they are the system's own.
func fingerprint(t *testing.T, node string) []string {
	t.Helper()
	out := nodes.On(t, node, `
		cd / && find etc usr opt srv/data root home var/lib var/spool -xdev \
			\( -path var/lib/apt -o -path var/lib/dpkg -o -path var/lib/systemd -o -path 'var/lib/private' -o -path etc/ld.so.cache -o -path usr/share/man -o -path var/cache -o -path 'var/lib/ucf/*.[0-9]' \) -prune -o \
			\( -type f -o -type l -o -type d \) -printf '%p %y %m %u %g %l\n' 2>/dev/null | sort
		find etc -xdev -type f ! -name ld.so.cache ! -name '*-' -exec sha256sum {} + | sort -k2
		dpkg-query -W -f 'package ${Package} ${Version} ${db:Status-Abbrev}\n'
		getent passwd | sed 's/^/user /'; getent group | sed 's/^/group /'
		systemctl list-unit-files --no-legend --plain | grep -v ^session- | awk '{print "unit", $1, $2}' | sort
		systemctl list-units --no-legend --plain --type=service --state=active | awk '{print "active", $1}' | grep -v -e user@ -e user-runtime -e systemd-tmpfiles | sort
		cat /var/spool/cron/crontabs/* 2>/dev/null | sed 's/^/cron /'
	`)
	return strings.Split(strings.TrimSpace(out), "\n")
}

// difference lists the lines that only one of two fingerprints has.
func difference(before, after []string) []string {
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
