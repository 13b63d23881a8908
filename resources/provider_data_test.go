package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

func TestReach(t *testing.T) {
	p := ProviderData{Connection: site.Connection{User: "root", PrivateKeyFile: "id", Passphrase: "secret"}}
	nodes := []site.Node{{Name: "a"}, {Name: "b", Connection: site.Connection{User: "ops", PrivateKeyFile: "own"}}}
	own := site.Connection{User: "ops", PrivateKeyFile: "own",
		Names: map[string]string{"user": "connect.user", "private_key_file": "connect.private_key_file"}}
	for _, tt := range []struct {
		name string
		key  types.String
		want []site.Connection
	}{
		{"no key", types.StringNull(), []site.Connection{{User: "root", PrivateKeyFile: "id", Passphrase: "secret"}, own}},
		{"a key goes before the provider's, not the node's", types.StringValue("PEM"), []site.Connection{
			{User: "root", PrivateKey: "PEM", Names: map[string]string{"private_key": "private_key_wo"}}, own}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []site.Connection
			for _, n := range engine.Reach(nodes, p.connection(tt.key)) {
				got = append(got, n.Connection)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if nodes[0].Connection.User != "" {
		t.Error("the nodes given were changed")
	}
}

// A key below a node's credentials is a source of keys like any other: it keeps the provider's away.
func TestReachWithCredentials(t *testing.T) {
	v := hcl{t.Context()}
	p := ProviderData{Connection: site.Connection{User: "root", PrivateKeyFile: "id", Passphrase: "secret", SudoPassword: "pw"}}
	for name, tt := range map[string]struct {
		credentials attr.Value
		want        site.Connection
	}{
		"a key":           {v.object(members("private_key", str("PEM"))), site.Connection{User: "root", PrivateKey: "PEM", SudoPassword: "pw"}},
		"a passphrase":    {v.object(members("passphrase", str("p"))), site.Connection{User: "root", PrivateKeyFile: "id", Passphrase: "p", SudoPassword: "pw"}},
		"a sudo password": {v.object(members("sudo_password", str("s"))), site.Connection{User: "root", PrivateKeyFile: "id", Passphrase: "secret", SudoPassword: "s"}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes, _, diags := values.From(t.Context(), types.DynamicValue(v.tuple(v.object(members("name", str("a"), "connect", v.object(members("credentials", tt.credentials)))))), (*document.Values).Nodes)
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			for name := range tt.credentials.(types.Object).Attributes() {
				tt.want.Names = map[string]string{name: "connect.credentials." + name}
			}
			if diff := cmp.Diff(tt.want, engine.Reach(nodes, p.connection(types.StringNull()))[0].Connection); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
