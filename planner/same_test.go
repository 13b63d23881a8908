package planner_test

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// TestTwoResourcesForOneObject: resources with different titles that look after one object of a node are an error that
// names both.
func TestTwoResourcesForOneObject(t *testing.T) {
	p := func(pairs ...any) resource.Parameters {
		out := resource.Parameters{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	type titles = map[string]resource.Parameters
	for name, tt := range map[string]struct {
		typ   string
		both  titles
		clash bool
	}{
		"path of a file": {"file", titles{"one": p("path", "/etc/p", "content", "1"), "/etc/p": p("content", "2")},
			true},
		"other paths": {"file", titles{"one": p("path", "/etc/q", "content", "1"), "/etc/p": p("content", "2")},
			false},
		"name of a package":   {"package", titles{"x": p("name", "tree"), "tree": p()}, true},
		"architecture":        {"package", titles{"tree": p(), "tree:amd64": p()}, true},
		"other architectures": {"package", titles{"libc6:amd64": p(), "libc6:i386": p()}, false},
		"suffix of a service": {"service", titles{"web": p("enable", true), "web.service": p("enable", true)}, true},
		"name of a user":      {"user", titles{"x": p("name", "ann"), "ann": p()}, true},
		"name of a group":     {"group", titles{"x": p("name", "adm"), "adm": p()}, true},
		"spelling of a key": {"sysctl", titles{"net.ipv4.ip_forward": p("value", "1"),
			"net/ipv4/ip_forward": p("value", "1")}, true},
		"case of a host": {"host", titles{"Web": p("ip", "10.0.0.1"), "web": p("ip", "10.0.0.1")}, true},
		"a setting": {"ini_setting", titles{"a": p("path", "/a", "section", "s", "setting", "k", "value", "1"),
			"b": p("path", "/a", "section", "s", "setting", "k", "value", "2")}, true},
		"a job of a crontab": {"cron", titles{"a": p("command", "x", "minute", "5", "weekday", "sun"),
			"b": p("command", "x", "minute", "5", "weekday", "0")}, true},
		"a job with a word for its fields": {"cron", titles{"a": p("command", "x", "special", "daily"),
			"b": p("command", "x", "minute", "0", "hour", "0")}, true},
		"a job in another order": {"cron", titles{"a": p("command", "x", "minute", "*/30"),
			"b": p("command", "x", "minute", []any{"30", "0"})}, true},
		"a key": {"ssh_authorized_key", titles{"a": p("user", "ann", "name", "k", "ensure", "absent"),
			"k": p("user", "ann", "ensure", "absent")}, true},
		"keys of two users": {"ssh_authorized_key", titles{"a": p("user", "bob", "name", "k", "ensure", "absent"),
			"k": p("user", "ann", "ensure", "absent")}, false},
		"two names of a node": {"hostname", titles{"a": p(), "b": p("hostname", "c")}, true},
		"a module":            {"kernel_module", titles{"br-netfilter": p(), "br_netfilter": p()}, true},
		"a unit": {"systemd_unit", titles{"a.service": p("content", "x"), "b": p("unit", "a.service", "content", "x")},
			true},
		"drop-ins of a unit": {"systemd_unit", titles{"a": p("unit", "a.service", "filename", "a.conf", "content", "x"),
			"b": p("unit", "a.service", "filename", "b.conf", "content", "x")}, false},
		"path of an archive": {"archive", titles{"a": p("path", "/tmp/a", "source", "/srv/a"), "/tmp/a": p("source", "/srv/b")}, true},
		"one directory": {"archive", titles{"a": p("source", "/srv/a", "extract", true, "extract_path", "/opt"),
			"b": p("source", "/srv/b", "extract", true, "extract_path", "/opt")}, false},
		"path of a clone": {"vcsrepo", titles{"a": p("path", "/srv/a", "source", "/git/a"), "/srv/a": p("source", "/git/b")}, true},
		"two time zones":  {"timezone", titles{"UTC": p(), "local": p("timezone", "Europe/London")}, true},
		"other times": {"cron", titles{"a": p("command", "x", "minute", "5"),
			"b": p("command", "x", "minute", "6")}, false},
		"other users": {"cron", titles{"a": p("command", "x", "minute", "5"),
			"b": p("command", "x", "minute", "5", "user", "ann")}, false},
		"a job under its former title": {"cron", titles{"a": p("command", "x", "minute", "5", "ensure", "absent"),
			"b": p("command", "x", "minute", "5")}, false},
		"a name and an alias": {"host", titles{"db": p("ip", "10.0.0.1", "host_aliases", []any{"web"}),
			"web": p("ip", "10.0.0.1")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := site.Site{Name: "s", Nodes: []site.Node{{Name: "n", Address: "10.0.0.1"}},
				Services: []site.Service{{Name: "svc",
					Configuration: map[string]map[string]resource.Parameters{tt.typ: tt.both}}}}
			_, errs := planner.Make(s, nil, nil)
			var texts []string
			for _, e := range errs.Errors() {
				texts = append(texts, e.Error())
			}
			text := strings.Join(texts, "\n")
			named := true
			for title := range tt.both {
				named = named && strings.Contains(text, string(resource.MakeID(tt.typ, title)))
			}
			if tt.clash && !named || !tt.clash && text != "" {
				t.Errorf("errors: %q", text)
			}
		})
	}
}
