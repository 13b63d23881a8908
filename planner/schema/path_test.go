package schema

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// The error of a path says what to write instead.
func TestPathErrors(t *testing.T) {
	types := Types()
	for _, c := range []struct{ typ, title, parameter, value, want string }{
		{"file", "/etc/two/../x", "ensure", "directory", `title: "/etc/two/../x" must be written "/etc/x"`},
		{"file", "/etc/dir/", "ensure", "directory", `title: "/etc/dir/" must be written "/etc/dir"`},
		{"file", "/", "ensure", "directory", `title: "/" must be an absolute path below /`},
		{"file", "~/x", "ensure", "directory", `title: "~/x" must be an absolute path: ~ is not replaced`},
		{"file", "x", "ensure", "directory", "path: must be given, because the title is not an absolute path"},
		{"file", "x", "path", "~/x", `path: "~/x" must be an absolute path: ~ is not replaced`},
		{"file", "/x", "source", "puppet:///modules/ntp/ntp.conf",
			`source: "puppet:///modules/ntp/ntp.conf" must be an absolute path on the node; put the file next to the configuration and ` +
				`send it with content = file("${path.module}/ntp.conf")`},
		{"file", "/x", "source", "files/motd", `content = file("files/motd")`},
		{"mount", "/mnt/a/", "ensure", "absent", `title: "/mnt/a/" must be written "/mnt/a"`},
		{"mount", "~/a", "ensure", "absent", `title: "~/a" must be an absolute path: ~ is not replaced`},
		{"user", "bob", "home", "/home/../bob", `home: "/home/../bob" must be written "/bob"`},
		{"ini_setting", "a", "path", "~/a", `path: "~/a" must be an absolute path: ~ is not replaced`},
	} {
		r := resource.Resource{Type: c.typ, Title: c.title, Parameters: resource.Parameters{c.parameter: c.value}}
		var got []string
		for _, err := range types[c.typ].Validate(r) {
			got = append(got, err.Attribute+": "+err.Message)
		}
		if !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s[%s]: %q, want %q", c.typ, c.title, got, c.want)
		}
	}
}
