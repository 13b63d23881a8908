package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// seed004Service is what overrides go over: packages and files.
const seed004Service = `
resource "slipway_service" "base" {
  name      = "base"
  selectors = []
  configuration = {
    package = { for p in ["fontconfig-config", "mc"] : p => { ensure = "installed" } }
    file = {
      "/etc/slipway-merged"   = { content = "service\n", mode = "0644", owner = "root" }
      "/etc/slipway-replaced" = { content = "service\n", mode = "0644" }
      "/etc/slipway-filtered" = { content = "service\n", mode = "0644" }
      "/etc/slipway-left"     = { content = "service\n", mode = "0644" }
    }
  }
}
`

// seed004Overrides are the example of seed 004, one override for each scope, and one for each option. Its parameters are the names of nodes: of
// the one in the scope node.
const seed004Overrides = `
variable "overrides" {
  type    = bool
  default = false
}
resource "slipway_override" "seed" {
  name          = "seed"
  configuration = { package = { fontconfig-config = { ensure = "latest" }, mc = { ensure = "absent" } } }
}
resource "slipway_override" "by-site" {
  name = "by-site"
  configuration = { file = {
    "/etc/slipway-merged"   = { content = "site\n", mode = "0640" }
    "/etc/slipway-replaced" = { content = "site\n", mode = "0640" }
  } }
}
resource "slipway_override" "by-group" {
  name   = "by-group"
  groups = [slipway_group.narrow.name, slipway_group.compute.name]
  configuration = { file = {
    "/etc/slipway-merged"   = { content = "group\n" }
    "/etc/slipway-replaced" = { content = "group\n" }
  } }
}
resource "slipway_override" "by-role" {
  name   = "by-role"
  roles  = ["/comp/"]
  configuration = { file = {
    "/etc/slipway-merged"   = { content = "role\n" }
    "/etc/slipway-replaced" = { content = "role\n" }
  } }
}
resource "slipway_override" "by-node" {
  name          = "by-node"
  nodes         = [%[1]q]
  configuration = { file = { "/etc/slipway-merged" = { content = "node\n" } } }
}
resource "slipway_override" "by-title" {
  name          = "by-title"
  nodes         = [%[1]q]
  merge         = "title"
  configuration = { file = { "/etc/slipway-replaced" = { content = "node\n" } } }
}
resource "slipway_override" "strict" {
  name          = "strict"
  configuration = {
    file = { "/etc/slipway-never" = { content = "x\n" }, "/etc/slipway-excepted" = { content = "excepted\n" } }
    host = { db = { ip = "192.0.2.7" } }
  }
  options = { create = false, types_create_exception = ["host"], titles_create_exception = ["/etc/slipway-excepted"] }
}
resource "slipway_override" "filtered" {
  name          = "filtered"
  configuration = {
    file    = { "/etc/slipway-filtered" = { content = "filtered\n" }, "/etc/slipway-left" = { content = "filtered\n" } }
    package = { tree = { ensure = "installed" } }
  }
  options = { types_filter = ["file"], titles_filter = ["/etc/slipway-filtered", "tree"], defaults = { file = { mode = "0600" } } }
}
locals {
  overrides = [slipway_override.seed, slipway_override.by-site, slipway_override.by-group, slipway_override.by-role, slipway_override.by-node,
    slipway_override.by-title, slipway_override.strict, slipway_override.filtered]
}
`

// seed004Look tells what the nodes have of it all.
const seed004Look = `cd /etc; for f in merged replaced filtered left never excepted; do
	test ! -e slipway-$f || echo $f $(stat -c %a slipway-$f) $(cat slipway-$f); done
grep -w db hosts | tr -s '\t ' ' '
for p in fontconfig-config mc tree; do echo $p $(dpkg-query -W -f '${db:Status-Status}' $p 2>/dev/null | grep -x installed || echo none); done
dpkg --compare-versions $(dpkg-query -W -f '${Version}' fontconfig-config) gt 1.0-1 && echo latest || echo old`

// oldPackage puts a version of fontconfig-config on a node that is older than the one of the repository.
const oldPackage = `set -e; d=$(mktemp -d); mkdir $d/DEBIAN
printf 'Package: fontconfig-config\nVersion: 1.0-1\nArchitecture: all\nMaintainer: e2e <e2e@example.org>\nDescription: old\n' >$d/DEBIAN/control
dpkg-deb -b $d $d.deb >/dev/null; dpkg -i $d.deb >/dev/null; rm -r $d $d.deb`

// TestSeed004 lays overrides over a service: the example of seed 004, whose data are right where its rendered block is not (fuel.md F-22), all scopes, all
// options. The plan names them, the nodes have what they say, and taking them away brings back what the service says.
func TestSeed004(t *testing.T) {
	t.Parallel()
	four := nodes.Take(t, 4)
	plain, grouped, role, all := four[0], four[1], four[2], four[3]
	onEach(t, four, oldPackage)
	w := newWorkspace(t, config{site: "seed004", nodes: four,
		node: fmt.Sprintf("roles = contains([%q, %q], each.key) ? [\"compute\"] : [\"control\"]", role.Name, all.Name),
		groups: fmt.Sprintf(`
resource "slipway_group" "narrow" {
  name      = "narrow"
  critical  = true
  selectors = [{ node_names = [%q] }]
}
resource "slipway_group" "compute" {
  name      = "compute"
  critical  = true
  selectors = [{ node_names = [%q, %q] }]
}
resource "slipway_group" "rest" {
  name      = "rest"
  critical  = true
  selectors = []
}
`, grouped.Name, role.Name, all.Name), groupList: []string{"narrow", "compute", "rest"},
		services: seed004Service + fmt.Sprintf(seed004Overrides, all.Name), more: []string{"base"},
		extra: "overrides = [for o in local.overrides : o if var.overrides]",
	}.hcl(t))
	defer func() {
		w.mustDestroy()
		onEach(t, four, "apt-get purge -y -qq fontconfig-config >/dev/null 2>&1; apt-get autoremove -y -qq --purge >/dev/null 2>&1")
	}()
	const bare = "merged 644 service\nreplaced 644 service\nfiltered 644 service\nleft 644 service\nfontconfig-config installed\nmc installed\ntree none\nold\n"
	w.must(w.apply(), 0)
	for i, got := range onEach(t, four, seed004Look) {
		if got != bare {
			t.Errorf("without overrides %s has\n%s\nwant\n%s", four[i].Name, got, bare)
		}
	}
	w.must(w.plan(), 0, "No changes")

	w.set("overrides", true)
	step := func(suffix string, files ...string) []string {
		return append(files, "file[/etc/slipway-excepted] (by override strict)"+suffix, "host[db] (by override strict)"+suffix,
			"file[/etc/slipway-filtered] (by override filtered)"+suffix, "package[fontconfig-config] (by override seed)"+suffix, "package[mc] (absent, by override seed)"+suffix)
	}
	w.must(w.plan(), 2, slices.Concat(
		[]string{"2.2 narrow (critical): node phase: 7 changes on node " + grouped.Name + ": ", "2.4 compute (critical): node phase: 14 changes on 2 nodes: ", "2.6 rest (critical): node phase: 7 changes on node " + plain.Name + ": "},
		step("", "file[/etc/slipway-merged] (by override by-site, by-group)", "file[/etc/slipway-replaced] (by override by-site, by-group)"),
		step(" on 2",
			"file[/etc/slipway-merged] (by override by-site, by-node) on "+all.Name, "file[/etc/slipway-merged] (by override by-site, by-role) on "+role.Name,
			"file[/etc/slipway-replaced] (by override by-site, by-role) on "+role.Name, "file[/etc/slipway-replaced] (by override by-title) on "+all.Name),
		step("", "file[/etc/slipway-merged] (by override by-site)", "file[/etc/slipway-replaced] (by override by-site)"))...)
	w.must(w.apply(), 0)
	for _, c := range []struct {
		node             lab.Node
		merged, replaced string
	}{{plain, "640 site", "640 site"}, {grouped, "640 group", "640 group"}, {role, "640 role", "640 role"}, {all, "640 node", "644 node"}} {
		want := fmt.Sprintf("merged %s\nreplaced %s\nfiltered 600 filtered\nleft 644 service\nexcepted 644 excepted\n192.0.2.7 db\n"+
			"fontconfig-config installed\nmc none\ntree none\nlatest\n", c.merged, c.replaced)
		if got := c.node.On(t, seed004Look); got != want {
			t.Errorf("with overrides %s has\n%s\nwant\n%s", c.node.Name, got, want)
		}
	}
	w.must(w.plan(), 0, "No changes")

	w.set("overrides", false)
	w.must(w.plan(), 2, "7 changes on node "+grouped.Name+": remove host[db] (no longer by override strict), "+
		"file[/etc/slipway-excepted] (no longer by override strict), update file[/etc/slipway-filtered] (no longer by override filtered), "+
		"file[/etc/slipway-merged] (no longer by override by-site, by-group), file[/etc/slipway-replaced] (no longer by override by-site, by-group), "+
		"package[fontconfig-config] (no longer by override seed), package[mc] (no longer by override seed)")
	w.must(w.apply(), 0)
	for i, got := range onEach(t, four, seed004Look) {
		if want := strings.Replace(bare, "\nold\n", "\nlatest\n", 1); got != want {
			t.Errorf("after the overrides %s has\n%s\nwant\n%s", four[i].Name, got, want)
		}
	}
	w.must(w.plan(), 0, "No changes")
}
