package provider

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources"
)

func TestSchemas(t *testing.T) {
	server, err := NewServer(t.Context(), "test", &engine.Runs{})
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range schemas.Diagnostics {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
	identities, err := server.GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range identities.Diagnostics {
		t.Errorf("%s: %s", d.Summary, d.Detail)
	}
	for _, name := range []string{"slipway_node", "slipway_group", "slipway_service", "slipway_override", "slipway_deployment"} {
		s, ok := schemas.ResourceSchemas[name]
		if !ok {
			t.Errorf("%s is not there", name)
			continue
		}
		if identities.IdentitySchemas[name] == nil {
			t.Errorf("%s has no identity", name)
		}
		described(t, name, s.Block)
	}
	described(t, "provider", schemas.Provider.Block)
	for _, name := range []string{"slipway_check", "slipway_reboot", "slipway_unlock"} {
		if schemas.ActionSchemas[name] == nil {
			t.Errorf("the action %s is not there", name)
			continue
		}
		described(t, name, schemas.ActionSchemas[name].Schema.Block)
	}
	if schemas.ListResourceSchemas["slipway_deployment"] == nil {
		t.Error("the list of slipway_deployment is not there")
	}
}

// described reports what has no description: the registry's documentation comes from there.
func described(t *testing.T, at string, block *tfprotov6.SchemaBlock) {
	t.Helper()
	if block.Description == "" {
		t.Errorf("%s has no description", at)
	}
	for _, a := range block.Attributes {
		describedAttribute(t, at+"."+a.Name, a)
	}
}

func describedAttribute(t *testing.T, at string, a *tfprotov6.SchemaAttribute) {
	t.Helper()
	if a.Description == "" {
		t.Errorf("%s has no description", at)
	}
	if a.NestedType != nil {
		for _, nested := range a.NestedType.Attributes {
			describedAttribute(t, at+"."+nested.Name, nested)
		}
	}
}

// configured is a configuration of the provider: the attributes given, all others null.
func configured(t *testing.T, p *slipway, attributes map[string]tftypes.Value, connection map[string]tftypes.Value) tfsdk.Config {
	t.Helper()
	var schema provider.SchemaResponse
	p.Schema(t.Context(), provider.SchemaRequest{}, &schema)
	typ, ok := schema.Schema.Type().TerraformType(t.Context()).(tftypes.Object)
	if !ok {
		t.Fatal("the schema is no object")
	}
	values := map[string]tftypes.Value{}
	for name, a := range typ.AttributeTypes {
		values[name] = tftypes.NewValue(a, nil)
	}
	if connection != nil {
		ctyp, ok := typ.AttributeTypes["connection"].(tftypes.Object)
		if !ok {
			t.Fatal("connection is no object")
		}
		all := map[string]tftypes.Value{}
		for name, a := range ctyp.AttributeTypes {
			all[name] = tftypes.NewValue(a, nil)
		}
		for name, v := range connection {
			all[name] = v
		}
		values["connection"] = tftypes.NewValue(ctyp, all)
	}
	for name, v := range attributes {
		values[name] = v
	}
	return tfsdk.Config{Raw: tftypes.NewValue(typ, values), Schema: schema.Schema}
}

func text(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }

var credentialsType = tftypes.Map{ElementType: tftypes.String}

// Terraform leaves out what is not in the schema, and a key that was copied from a node's connect would be lost without a word.
func TestCredentialsOfTheProviderAreRefused(t *testing.T) {
	server, err := NewServer(t.Context(), "test", &engine.Runs{})
	if err != nil {
		t.Fatal(err)
	}
	config := configured(t, &slipway{}, nil, map[string]tftypes.Value{
		"credentials": tftypes.NewValue(credentialsType, map[string]tftypes.Value{"private_key": text("tell-nobody")})})
	resp, err := server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: sent(t, config.Raw.Type(), config.Raw)})
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Diagnostics) != 1 || !strings.Contains(resp.Diagnostics[0].Detail, "Give connection.private_key") || strings.Contains(resp.Diagnostics[0].Detail, "tell-nobody") {
		t.Errorf("got %v", resp.Diagnostics)
	}
}

func TestConfigure(t *testing.T) {
	yes := true
	unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	hop := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"host": tftypes.String, "port": tftypes.Number, "user": tftypes.String, "private_key": tftypes.String, "private_key_file": tftypes.String, "credentials": credentialsType}}
	for _, tt := range []struct {
		name       string
		env        environment
		attributes map[string]tftypes.Value
		connection map[string]tftypes.Value
		want       resources.ProviderData
		wrong      string
	}{
		{name: "nothing", want: resources.ProviderData{JournalDirectory: ".slipway"}},
		{name: "environment", env: environment{"SLIPWAY_USER": "ops", "SLIPWAY_JOURNAL_DIRECTORY": "/var/lib/slipway"},
			want: resources.ProviderData{Connection: site.Connection{User: "ops"}, JournalDirectory: "/var/lib/slipway"}},
		{name: "configuration wins, attribute by attribute", env: environment{"SLIPWAY_USER": "ops", "SLIPWAY_PORT": "2222", "SLIPWAY_JOURNAL_DIRECTORY": "/a"},
			attributes: map[string]tftypes.Value{"journal_directory": text("/b")},
			connection: map[string]tftypes.Value{"user": text("root"), "connect_timeout": text("5s")},
			want:       resources.ProviderData{Connection: site.Connection{User: "root", Port: 2222, ConnectTimeout: 5 * time.Second}, JournalDirectory: "/b"}},
		{name: "a configured key keeps the environment's keys out", env: environment{"SLIPWAY_PRIVATE_KEY_FILE": "id", "SLIPWAY_AGENT": "true"},
			connection: map[string]tftypes.Value{"private_key": text("PEM")},
			want:       resources.ProviderData{Connection: site.Connection{PrivateKey: "PEM"}, JournalDirectory: ".slipway"}},
		{name: "a key from the environment beside other configuration", env: environment{"SLIPWAY_AGENT": "true"},
			connection: map[string]tftypes.Value{"bastions": tftypes.NewValue(tftypes.List{ElementType: hop}, []tftypes.Value{tftypes.NewValue(hop, map[string]tftypes.Value{
				"host": text("jump"), "port": tftypes.NewValue(tftypes.Number, 23), "user": tftypes.NewValue(tftypes.String, nil), "private_key": tftypes.NewValue(tftypes.String, nil), "private_key_file": text("id"),
				"credentials": tftypes.NewValue(credentialsType, nil)})})},
			want: resources.ProviderData{Connection: site.Connection{Agent: &yes, Bastions: []site.Bastion{{Host: "jump", Port: 23, PrivateKeyFile: "id"}}}, JournalDirectory: ".slipway"}},
		{name: "an attribute that is not known yet", connection: map[string]tftypes.Value{"user": text("root"), "private_key": unknown},
			want: resources.ProviderData{Connection: site.Connection{User: "root"}, JournalDirectory: ".slipway", Unknown: true}},
		{name: "a hop that is not known yet",
			connection: map[string]tftypes.Value{"bastions": tftypes.NewValue(tftypes.List{ElementType: hop}, []tftypes.Value{tftypes.NewValue(hop, tftypes.UnknownValue)})},
			want:       resources.ProviderData{Connection: site.Connection{Bastions: []site.Bastion{}}, JournalDirectory: ".slipway", Unknown: true}},
		{name: "a database", attributes: map[string]tftypes.Value{"journal": text("postgres://u:p@h/d")}, env: environment{"SLIPWAY_JOURNAL": "postgres://other"},
			want: resources.ProviderData{JournalDirectory: ".slipway", JournalURL: "postgres://u:p@h/d"}},
		{name: "the database of the environment", env: environment{"SLIPWAY_JOURNAL": "postgres://h/d", "SLIPWAY_JOURNAL_DIRECTORY": "/a"},
			want: resources.ProviderData{JournalDirectory: "/a", JournalURL: "postgres://h/d"}},
		{name: "a configured folder counts before the database of the environment", attributes: map[string]tftypes.Value{"journal_directory": text("/b")}, env: environment{"SLIPWAY_JOURNAL": "postgres://h/d"},
			want: resources.ProviderData{JournalDirectory: "/b"}},
		{name: "a folder that is not known yet", attributes: map[string]tftypes.Value{"journal_directory": unknown},
			want: resources.ProviderData{JournalDirectory: ".slipway", Unknown: true}},
		{name: "a database with a parameter that is not valid", attributes: map[string]tftypes.Value{"journal": text("postgres://u:p@h/d?sslmode=wat")}, wrong: "Invalid journal"},
		{name: "the database of the environment with a parameter that is not valid", env: environment{"SLIPWAY_JOURNAL": "postgres://u:p@h/d?sslmode=wat"},
			wrong: "Invalid environment variable SLIPWAY_JOURNAL"},
		{name: "a database with a file that may be there in the apply", attributes: map[string]tftypes.Value{"journal": text("postgres://h/d?sslrootcert=/nowhere")},
			want: resources.ProviderData{JournalDirectory: ".slipway", JournalURL: "postgres://h/d?sslrootcert=/nowhere"}},
		{name: "bad environment", env: environment{"SLIPWAY_PORT": "x"}, wrong: "Invalid environment variable SLIPWAY_PORT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs := &engine.Runs{}
			p := &slipway{version: "1.2.3", runs: runs, getenv: tt.env.get}
			var resp provider.ConfigureResponse
			p.Configure(t.Context(), provider.ConfigureRequest{Config: configured(t, p, tt.attributes, tt.connection)}, &resp)
			if tt.wrong != "" {
				if !resp.Diagnostics.HasError() || !strings.Contains(resp.Diagnostics[0].Summary(), tt.wrong) {
					t.Errorf("got %v, want %s", resp.Diagnostics, tt.wrong)
				}
				return
			}
			if resp.Diagnostics.HasError() {
				t.Fatal(resp.Diagnostics)
			}
			got, ok := resp.ResourceData.(resources.ProviderData)
			if !ok {
				t.Fatalf("resources got a %T", resp.ResourceData)
			}
			if got.Runs != runs || got.Seen == nil {
				t.Errorf("runs or what nodes share are not handed on: %+v", got)
			}
			got.Runs, got.Seen, got.Connection.Names = nil, nil, nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("the whole connection is not known yet", func(t *testing.T) {
		p := &slipway{getenv: environment{}.get}
		config := configured(t, p, nil, nil)
		typ := config.Schema.Type().TerraformType(t.Context()).(tftypes.Object)
		values := map[string]tftypes.Value{}
		for name, a := range typ.AttributeTypes {
			values[name] = tftypes.NewValue(a, nil)
		}
		values["connection"] = tftypes.NewValue(typ.AttributeTypes["connection"], tftypes.UnknownValue)
		config.Raw = tftypes.NewValue(typ, values)
		var resp provider.ConfigureResponse
		p.Configure(t.Context(), provider.ConfigureRequest{Config: config}, &resp)
		if data, ok := resp.ResourceData.(resources.ProviderData); len(resp.Diagnostics) > 0 || !ok || !data.Unknown {
			t.Errorf("got %+v, %v", resp.ResourceData, resp.Diagnostics)
		}
	})
}
