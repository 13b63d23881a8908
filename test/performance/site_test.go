// Package performance measures slipway against Ansible on the nodes of test/lab, in pairs, in one sitting. docs/performance.md states the
// figures and the command.
package performance

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// nodeCount is the number of nodes, and of Ansible's forks.
const nodeCount = 10

// theSite is what playbook.yml does: 10 files of 1 kB, 2 users, 2 packages, 2 services and 4 guarded commands on each node.
func theSite(l lab.Lab) site.Site {
	content := strings.Repeat("x", 1000)
	configuration := resource.Configuration{"file": {}, "exec": {},
		"user":    {"alice": {"shell": "/bin/bash", "managehome": true}, "bob": {"shell": "/bin/bash", "managehome": true}},
		"package": {"nginx-light": {"ensure": "installed"}, "tree": {"ensure": "installed"}},
		"service": {
			"nginx": {"ensure": "running", "enable": true, "require": []any{"package[nginx-light]"}},
			"cron":  {"ensure": "running", "enable": true},
		},
	}
	for i := range 10 {
		configuration["file"][fmt.Sprintf("/etc/perf-%d.conf", i)] = resource.Parameters{"content": fmt.Sprintf("%s%d\n", content, i), "mode": "0644"}
	}
	for i := range 4 {
		file := fmt.Sprintf("/var/tmp/perf-%d", i)
		configuration["exec"]["echo done >"+file] = resource.Parameters{"creates": file}
	}
	s := site.Site{Name: "perf", Services: []site.Service{{Name: "perf", Configuration: configuration}}}
	for i := range nodeCount {
		s.Nodes = append(s.Nodes, site.Node{Name: fmt.Sprintf("node%d", i+1), Address: lab.Address(i + 1), Connection: site.Connection{
			User: "root", PrivateKeyFile: l.State("id_ed25519"), KnownHostsFile: l.State("known_hosts"),
		}})
	}
	return s
}
