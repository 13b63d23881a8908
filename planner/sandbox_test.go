package planner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/plugin"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// annsKey is a public key of nobody.
const annsKey = "AAAAC3NzaC1lZDI1NTE5AAAAIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"

// A folder has no machine: the plan refuses what would run commands there, and says what works. The same site is
// fine on nodes that have one.
func TestSandboxHasNoMachine(t *testing.T) {
	s := site.Site{Name: "s",
		Nodes: []site.Node{{Name: "folder", Roles: []string{"web"}, Connection: site.Connection{Transport: "local", Root: "/srv/a"}},
			{Name: "here", Roles: []string{"web"}, Connection: site.Connection{Transport: "local", Root: "/"}},
			{Name: "there", Address: "192.0.2.1"}},
		Services: []site.Service{{Name: "web", Configuration: conf{
			"file": titles{"/etc/motd": {"content": "x"}, "/etc/sudoers": {"content": "x", "validate_cmd": "visudo -cf %"}},
			"archive": titles{"/srv/url.tgz": {"source": "https://example.com/a.tgz", "checksum": strings.Repeat("0", 64)},
				"/srv/of.tgz": {"source": "/srv/a.tgz"}, "/srv/late.tgz": {"source": resource.Unknown{}},
				"/srv/gone.tgz": {"ensure": "absent"}},
			"ssh_authorized_key": titles{"ann@home": {"user": "ann", "type": "ed25519", "key": annsKey},
				"bob@home": {"user": "bob", "target": "/srv/keys", "type": "ed25519", "key": annsKey}},
			"package": titles{"nginx": {}, "tree": {"noop": true}},
		}}},
		Overrides: []site.Override{{Name: "more", Nodes: []string{"folder"},
			Configuration: conf{"exec": titles{"true": {}}}}},
		Plugins: []site.Plugin{{Name: "net", Tasks: []site.Task{
			{Role: []string{"*"}, Stage: "pre_deployment", Type: plugin.Shell, Parameters: shell("./bridges.sh")}}}},
	}
	const works = "; it has the types apt_repository, archive, cron, file, file_line, host, ini_setting, " +
		"ssh_authorized_key, systemd_unit, timezone, yum_repository (on node folder)"
	want := []string{
		`service "web": configuration.archive["/srv/url.tgz"].source: needs a whole machine, because a program of the node ` +
			`fetches a URL, and a sandbox is a folder; give source_file, or the path of a file on the node (on node folder)`,
		`service "web": configuration.file["/etc/sudoers"].validate_cmd: needs a whole machine, which runs it, and a ` +
			`sandbox is a folder; leave it out (on node folder)`,
		`service "web": configuration.package: package[nginx], package[tree] need a whole machine, and a sandbox is a folder` + works,
		`service "web": configuration.ssh_authorized_key["ann@home"].user: needs a whole machine, which knows the home ` +
			`directory of its user, and a sandbox is a folder; give target, the path of the file (on node folder)`,
		`override "more": configuration.exec: exec[true] needs a whole machine, and a sandbox is a folder` + works,
		`plugin "net": tasks[0]: shell[net/1] needs a whole machine, and a sandbox is a folder` + works,
	}
	_, errs := planner.Make(s, nil, nil)
	var got []string
	for _, e := range errs.Errors() {
		got = append(got, e.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.Nodes, s.Overrides = s.Nodes[1:], nil
	if _, errs = planner.Make(s, nil, nil); len(errs.Errors()) > 0 {
		t.Errorf("without the folder: %v", errs)
	}
}
