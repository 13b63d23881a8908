package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// What manifests of Puppet give is accepted, and has one normal form: numbers and bools as text, bools for ensure, what
// changes nothing here.
func TestPuppetsValues(t *testing.T) {
	type p = resource.Parameters
	list := func(of ...any) []any { return of }
	for name, tt := range map[string]struct {
		typ         string
		given, want p
	}{
		"file":         {"file", p{"content": "x", "replace": "false", "validate_cmd": "true %", "backup": ".puppet-bak", "mode": "0644", "owner": int64(0)}, p{"content": "x", "replace": false, "validate_cmd": list("true %"), "backup": ".puppet-bak", "mode": "0644", "owner": "0"}},
		"file, absent": {"file", p{"ensure": false}, p{"ensure": "absent"}},
		"file, text":   {"file", p{"ensure": "false", "backup": "false"}, p{"ensure": "absent", "backup": false}},
		"directory": {"file", p{"ensure": "directory", "recurse": "true", "purge": true, "recurselimit": "2"},
			p{"ensure": "directory", "recurse": true, "purge": true, "recurselimit": int64(2)}},
		"sources": {"file", p{"source": list("/a", "/b")}, p{"source": list("/a", "/b")}},
		"service": {"service", p{"ensure": true, "enable": "true", "hasrestart": true, "hasstatus": "false", "start": "s", "stop": "t", "status": "u"},
			p{"ensure": "running", "enable": "true", "start": list("s"), "stop": list("t"), "status": list("u")}},
		"service, stopped": {"service", p{"ensure": "false", "enable": false}, p{"ensure": "stopped", "enable": "false"}},
		"exec": {"exec", p{"tries": "3", "try_sleep": "10", "umask": "022", "logoutput": "on_failure", "unless": list(list("test", "-f", "/x"), "true"), "onlyif": "true", "returns": list(int64(0), "2")},
			p{"tries": int64(3), "try_sleep": int64(10), "umask": "022", "logoutput": "on_failure", "unless": list(list("test", "-f", "/x"), "true"), "onlyif": list("true"), "returns": list("0", "2")}},
		"package":      {"package", p{"install_options": list("-t", "backports"), "mark": "hold"}, p{"install_options": list("-t", "backports"), "mark": "hold"}},
		"package, pip": {"package", p{"provider": "pip3"}, p{"provider": "pip"}},
		"mount":        {"mount", p{"device": "/dev/x", "atboot": true, "remounts": "true", "pass": "2"}, p{"device": "/dev/x", "remounts": true, "pass": int64(2)}},
		"swap":         {"mount", p{"device": "/dev/x", "fstype": "swap", "atboot": "yes"}, p{"device": "/dev/x", "fstype": "swap"}},
		"user": {"user", p{"uid": "1001", "gid": int64(100), "expiry": "2027-12-31", "password_max_age": "90", "purge_ssh_keys": true},
			p{"uid": int64(1001), "gid": "100", "expiry": "2027-12-31", "password_max_age": int64(90), "purge_ssh_keys": list("true")}},
		"group":          {"group", p{"members": list("a", "b"), "gid": "7"}, p{"members": list("a", "b"), "gid": int64(7)}},
		"metaparameters": {"host", p{"ip": "10.0.0.1", "tag": list("a", "b"), "alias": "x", "loglevel": "debug", "noop": "true"}, p{"ip": "10.0.0.1", "noop": true}},
	} {
		title := "/srv/x"
		if tt.typ != "file" && tt.typ != "mount" {
			title = "x"
		}
		r, errs := Types()[tt.typ].Conform(resource.Resource{Type: tt.typ, Title: title, Parameters: tt.given})
		if d := cmp.Diff(tt.want, r.Parameters); len(errs) > 0 || d != "" {
			t.Errorf("%s: %v\n%s", name, errs, d)
		}
	}
}
