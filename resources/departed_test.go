package resources

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// Of a node that left the configuration the state keeps everything but the secrets, and what is remembered beside it
// makes the node whole again.
func TestSecretsOfDepartedNodes(t *testing.T) {
	text := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
	hop := func(key map[string]tftypes.Value) tftypes.Value {
		return values.Object(map[string]tftypes.Value{"host": text("jump"), "credentials": values.Object(key)})
	}
	present := values.Object(map[string]tftypes.Value{
		"user":        text("ops"),
		"credentials": values.Object(map[string]tftypes.Value{"private_key": text("secret-1"), "passphrase": text("secret-2"), "sudo_password": text("secret-3")}),
		"bastions": tftypes.NewValue(tftypes.Tuple{ElementTypes: []tftypes.Type{hop(nil).Type(), hop(map[string]tftypes.Value{"private_key": text("")}).Type()}},
			[]tftypes.Value{hop(nil), hop(map[string]tftypes.Value{"private_key": text("secret-4")})}),
	})
	flat := values.Object(map[string]tftypes.Value{"user": text("ops"), "private_key": text("secret-1"), "sudo_password": text("secret-3")})
	for name, connect := range map[string]tftypes.Value{"present": present, "flat": flat} {
		t.Run(name, func(t *testing.T) {
			tuple := func(nodes ...tftypes.Value) values.Opaque {
				types := make([]tftypes.Type, len(nodes))
				for i, n := range nodes {
					types[i] = n.Type()
				}
				v, err := values.Encode(tftypes.NewValue(tftypes.Tuple{ElementTypes: types}, nodes))
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			older := tuple(values.Object(map[string]tftypes.Value{"name": text("a")}), values.Object(map[string]tftypes.Value{"name": text("b"), "address": text("10.0.0.1"), "connect": connect}))
			kept, err := withNodes(tuple(values.Object(map[string]tftypes.Value{"name": text("a")})), older, map[string]string{"b": "b"})
			if err != nil {
				t.Fatal(err)
			}
			opened, err := kept.Decode()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(opened.String(), "secret") {
				t.Errorf("secrets are kept: %s", opened)
			}
			read := func(v values.Opaque) []site.Node {
				nodes, _, diags := values.From(t.Context(), v, (*document.Values).Nodes)
				if diags.HasError() {
					t.Fatal(diags)
				}
				return nodes
			}
			whole := read(older)
			m := engine.State{Departed: map[string]engine.Credentials{"b": engine.CredentialsOf(whole[1].Connection), "gone": {PrivateKey: "secret"}}}
			if d := cmp.Diff(whole, m.Reaching(read(kept))); d != "" {
				t.Errorf("it is not reached as before (-before +now):\n%s", d)
			}
		})
	}
}
