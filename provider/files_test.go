package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// built is an object of a type: the attributes given, all others null.
func built(t *testing.T, typ tftypes.Type, given map[string]tftypes.Value) tftypes.Value {
	t.Helper()
	o, ok := typ.(tftypes.Object)
	if !ok {
		t.Fatalf("%s is no object", typ)
	}
	values := map[string]tftypes.Value{}
	for name, a := range o.AttributeTypes {
		values[name] = tftypes.NewValue(a, nil)
	}
	for name, v := range given {
		values[name] = v
	}
	return tftypes.NewValue(o, values)
}

// A key file that is missing is a warning of the plan and no error: another resource of the configuration may write it in the apply.
func TestMissingFilesOfAConnectionAreInThePlansWarnings(t *testing.T) {
	dir := t.TempDir()
	there, missing := filepath.Join(dir, "there"), filepath.Join(dir, "missing")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	for name, c := range map[string]struct {
		env        environment
		connection map[string]tftypes.Value
		hop        string
		provider   []string // the attributes that the warnings of the provider name
	}{
		"there":           {connection: map[string]tftypes.Value{"private_key_file": text(there), "known_hosts_file": text(there)}, hop: there},
		"missing":         {connection: map[string]tftypes.Value{"private_key_file": text(missing)}, provider: []string{"connection.private_key_file"}},
		"a directory":     {connection: map[string]tftypes.Value{"private_key_file": text(dir)}, provider: []string{"connection.private_key_file"}},
		"unknown":         {connection: map[string]tftypes.Value{"private_key_file": unknown}},
		"of a hop":        {hop: missing, provider: []string{"connection.bastions[0].private_key_file"}},
		"environment":     {env: environment{"SLIPWAY_PRIVATE_KEY_FILE": missing}, provider: []string{"SLIPWAY_PRIVATE_KEY_FILE"}},
		"known hosts":     {connection: map[string]tftypes.Value{"known_hosts_file": text(missing)}, provider: []string{"connection.known_hosts_file"}},
		"hosts to accept": {connection: map[string]tftypes.Value{"known_hosts_file": text(missing), "host_key_policy": text("accept-new")}},
		"policy unknown":  {connection: map[string]tftypes.Value{"known_hosts_file": text(missing), "host_key_policy": unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(typ tftypes.Type) tftypes.Value {
				given := map[string]tftypes.Value{}
				for name, v := range c.connection {
					given[name] = v
				}
				if c.hop != "" {
					list := typ.(tftypes.Object).AttributeTypes["bastions"].(tftypes.List)
					given["bastions"] = tftypes.NewValue(list, []tftypes.Value{built(t, list.ElementType, map[string]tftypes.Value{"host": text("jump"), "private_key_file": text(c.hop)})})
				}
				return built(t, typ, given)
			}
			p := &slipway{getenv: c.env.get}
			config := configured(t, p, nil, map[string]tftypes.Value{})
			ctyp := config.Raw.Type().(tftypes.Object).AttributeTypes["connection"]
			config = configured(t, p, map[string]tftypes.Value{"connection": with(ctyp)}, nil)
			var resp provider.ConfigureResponse
			p.Configure(t.Context(), provider.ConfigureRequest{Config: config}, &resp)
			if len(resp.Diagnostics) != len(c.provider) || resp.Diagnostics.HasError() {
				t.Errorf("the provider has %v, want warnings for %v", resp.Diagnostics, c.provider)
			}
			for i, want := range c.provider {
				if i < len(resp.Diagnostics) && !strings.Contains(resp.Diagnostics[i].Detail(), want+": "+dir) {
					t.Errorf("the provider warns %q, want it to name %s and the file", resp.Diagnostics[i].Detail(), want)
				}
			}
		})
	}
}
