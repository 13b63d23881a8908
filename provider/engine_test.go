package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/resources"
)

// While something of the engine is not known, as in the plan that also creates its key, no node is reached from this
// process: it may have no way to them, and workers have the credentials.
func TestEngineUnknown(t *testing.T) {
	t.Parallel()
	unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	root, ok := configured(t, &slipway{}, nil, nil).Raw.Type().(tftypes.Object)
	if !ok {
		t.Fatal("the configuration is no object")
	}
	engineType := root.AttributeTypes["engine"].(tftypes.Object)
	temporalType := engineType.AttributeTypes["temporal"].(tftypes.Object)
	tlsType := temporalType.AttributeTypes["tls"]
	engine := func(set map[string]tftypes.Value) tftypes.Value {
		given := map[string]tftypes.Value{"address": text("127.0.0.1:7233")}
		for name, v := range set {
			given[name] = v
		}
		return built(t, engineType, map[string]tftypes.Value{"temporal": built(t, temporalType, given)})
	}
	known, key := engine(nil), text(encryption.New())
	of := func(name string, v tftypes.Value) tftypes.Value { return engine(map[string]tftypes.Value{name: v}) }
	for name, tt := range map[string]struct {
		engine, key      tftypes.Value
		unknown, handing bool
	}{
		"all is known":            {known, key, false, true},
		"no engine":               {tftypes.NewValue(engineType, nil), key, false, false},
		"no engine, key unknown":  {tftypes.NewValue(engineType, nil), unknown, false, false},
		"encryption_key":          {known, unknown, true, false},
		"engine":                  {tftypes.NewValue(engineType, tftypes.UnknownValue), key, true, false},
		"engine.temporal":         {built(t, engineType, map[string]tftypes.Value{"temporal": tftypes.NewValue(temporalType, tftypes.UnknownValue)}), key, true, false},
		"engine.temporal.address": {of("address", unknown), key, true, false},
		"namespace":               {of("namespace", unknown), key, true, false},
		"task_queue_prefix":       {of("task_queue_prefix", unknown), key, true, false},
		"api_key":                 {of("api_key", unknown), key, true, false},
		"tls":                     {of("tls", tftypes.NewValue(tlsType, tftypes.UnknownValue)), key, true, false},
		"tls.ca_file":             {of("tls", built(t, tlsType, map[string]tftypes.Value{"ca_file": unknown})), key, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &slipway{getenv: environment{}.get}
			var resp provider.ConfigureResponse
			p.Configure(t.Context(), provider.ConfigureRequest{Config: configured(t, p, map[string]tftypes.Value{
				"journal": text("postgres://slipway@db.example.org/slipway"), "engine": tt.engine, "encryption_key": tt.key}, nil)}, &resp)
			if len(resp.Diagnostics) > 0 {
				t.Fatal(resp.Diagnostics)
			}
			data, ok := resp.ResourceData.(resources.ProviderData)
			if !ok || data.Unknown != tt.unknown || (data.Handing != nil) != tt.handing {
				t.Errorf("unknown: %t, want %t; runs are handed over: %t, want %t", data.Unknown, tt.unknown, data.Handing != nil, tt.handing)
			}
		})
	}
}

// The error of a key of the wrong kind names where the key was given; that of a missing key, what to set, and where.
func TestEngineWithAnotherKey(t *testing.T) {
	t.Parallel()
	keys, err := encryption.Parse(encryption.New())
	if err != nil {
		t.Fatal(err)
	}
	ofZone, err := keys.ForZone("rack1")
	if err != nil {
		t.Fatal(err)
	}
	root := configured(t, &slipway{}, nil, nil).Raw.Type().(tftypes.Object)
	engineType := root.AttributeTypes["engine"].(tftypes.Object)
	engine := built(t, engineType, map[string]tftypes.Value{"temporal": built(t, engineType.AttributeTypes["temporal"].(tftypes.Object),
		map[string]tftypes.Value{"address": text("127.0.0.1:7233")})})
	none := tftypes.NewValue(tftypes.String, nil)
	for want, tt := range map[string]struct {
		configured tftypes.Value
		env        environment
	}{
		"SLIPWAY_KEY: has keys of zones alone, and who hosts runs, or asks for them, needs the key of the provider": {
			none, environment{"SLIPWAY_KEY": ofZone}},
		"encryption_key: has keys of zones alone": {text(ofZone), environment{"SLIPWAY_KEY": encryption.New()}},
		"encryption_key: is needed, and not set. Set encryption_key of the provider, or SLIPWAY_KEY where Terraform runs, and " +
			"SLIPWAY_KEY where workers and the companion run, to one key. Where there is none yet, " +
			"`terraform-provider-slipway key` makes one.": {none, environment{}},
	} {
		p := &slipway{getenv: tt.env.get}
		var resp provider.ConfigureResponse
		p.Configure(t.Context(), provider.ConfigureRequest{Config: configured(t, p, map[string]tftypes.Value{
			"journal": text("postgres://slipway@db.example.org/slipway"), "engine": engine, "encryption_key": tt.configured}, nil)}, &resp)
		if len(resp.Diagnostics) != 1 || !strings.HasPrefix(resp.Diagnostics[0].Detail(), want) {
			t.Errorf("no %q alone: %v", want, resp.Diagnostics)
		}
	}
}
