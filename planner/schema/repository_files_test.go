package schema

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// apt of every user reads a source, whose login is in a file of its own that only root reads.
func TestModesOfAptFiles(t *testing.T) {
	const source, login = "/etc/apt/sources.list.d/r.sources", "/etc/apt/auth.conf.d/r.conf"
	for name, tt := range map[string]struct {
		more resource.Parameters
		want map[string]string // empty: that of a new file
	}{
		"no password":      {nil, map[string]string{source: ""}},
		"password":         {resource.Parameters{"username": "u", "password": "p"}, map[string]string{source: "", login: "0600"}},
		"secret password":  {resource.Parameters{"username": "u", "password": "p", resource.Sensitive: true}, map[string]string{source: "0644", login: "0600"}},
		"secret, no login": {resource.Parameters{resource.Sensitive: true}, map[string]string{source: "0600"}},
	} {
		p := resource.Parameters{"location": "https://x/deb", "release": "./"}
		for k, v := range tt.more {
			p[k] = v
		}
		files := AptFiles(resource.Resource{Type: "apt_repository", Title: "r", Parameters: p})
		if len(files) != len(tt.want) {
			t.Errorf("%s: %v", name, files)
		}
		for _, f := range files {
			if want, there := tt.want[f.Title]; !there || f.Parameters.String("mode") != want {
				t.Errorf("%s: %s has mode %q, want %q", name, f.Title, f.Parameters.String("mode"), want)
			}
		}
	}
}
