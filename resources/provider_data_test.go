package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func TestReach(t *testing.T) {
	p := ProviderData{Connection: site.Connection{User: "root", PrivateKeyFile: "id", Passphrase: "secret"}}
	nodes := []site.Node{{Name: "a"}, {Name: "b", Connection: site.Connection{User: "ops", PrivateKeyFile: "own"}}}
	for _, tt := range []struct {
		name string
		key  types.String
		want []site.Connection
	}{
		{"no key", types.StringNull(), []site.Connection{{User: "root", PrivateKeyFile: "id", Passphrase: "secret"}, {User: "ops", PrivateKeyFile: "own"}}},
		{"a key goes before the provider's, not the node's", types.StringValue("PEM"), []site.Connection{{User: "root", PrivateKey: "PEM"}, {User: "ops", PrivateKeyFile: "own"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []site.Connection
			for _, n := range p.reach(nodes, tt.key) {
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
