package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// Every parameter of every type takes a secret, or refuses it by name with what does; actions take none.
func TestSecretParameters(t *testing.T) {
	refused := func(s resource.Schema, name string, value any) bool {
		errs := s.Validate(resource.Resource{Type: s.Type, Title: "/x", Parameters: resource.Parameters{name: value}})
		return slices.ContainsFunc(errs, func(e invalid.Error) bool {
			return e.Attribute == name && strings.HasPrefix(e.Message, "takes no secret of the deployment")
		})
	}
	const reference = "⟦secret:password@1⟧"
	try := func(s resource.Schema) {
		for _, p := range slices.Concat(s.Parameters, resource.Metaparameters()) {
			if p.Secret && (p.Kind != resource.String && p.Kind != resource.StringList || len(p.Values) > 0) {
				t.Errorf("%s: %s takes a secret, and is no free text", s.Type, p.Name)
			}
			for _, value := range []any{reference, "x " + reference, []any{"x", reference}, map[string]any{"template": reference}} {
				if got := refused(s, p.Name, value); got == p.Secret {
					t.Errorf("%s: %s: %v is refused: %t", s.Type, p.Name, value, got)
				}
			}
		}
	}
	for _, s := range schema.Types() {
		try(s)
	}
	for _, s := range schema.Actions() {
		if try(s); slices.ContainsFunc(s.Parameters, func(p resource.Parameter) bool { return p.Secret }) {
			t.Errorf("the action %s takes a secret", s.Type)
		}
	}
}

// Names and passwords for servers come together, and go to a URL.
func TestLogins(t *testing.T) {
	for _, tt := range []struct {
		typ        string
		parameters resource.Parameters
		want       string
	}{
		{"apt_repository", resource.Parameters{"location": "https://x/deb", "release": "./", "username": "u"}, "password: goes with username, and a username needs one"},
		{"apt_repository", resource.Parameters{"location": "file:/deb", "release": "./", "username": "u", "password": "hunter2"}, "password: goes with locations of http and https only"},
		{"yum_repository", resource.Parameters{"baseurl": "https://x/rpm", "password": "hunter2"}, "password: goes with username, and a username needs one"},
		{"vcsrepo", resource.Parameters{"path": "/x", "source": "https://x/y", "basic_auth_username": "u"}, "basic_auth_password: goes with basic_auth_username, and a basic_auth_username needs one"},
		{"vcsrepo", resource.Parameters{"path": "/x", "source": "git@x:y", "basic_auth_username": "u", "basic_auth_password": "hunter2"}, "basic_auth_password: goes with a source of https or http"},
		{"vcsrepo", resource.Parameters{"path": "/x", "source": "https://u:p@x/y"}, "source: holds a user name or a password, which plans, processes and the clone itself would show; give basic_auth_username and basic_auth_password instead"},
	} {
		errs := schema.Types()[tt.typ].Validate(resource.Resource{Type: tt.typ, Title: "x", Parameters: tt.parameters})
		if len(errs) != 1 || errs[0].Error() != tt.want {
			t.Errorf("%s %v: %v, want %s", tt.typ, tt.parameters, errs, tt.want)
		}
	}
}
