package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/temporal"
)

// engineModel is engine.
type engineModel struct {
	Temporal *temporalModel `tfsdk:"temporal"`
}

// temporalModel is engine.temporal.
type temporalModel struct {
	Address         types.String `tfsdk:"address"`
	Namespace       types.String `tfsdk:"namespace"`
	TaskQueuePrefix types.String `tfsdk:"task_queue_prefix"`
	TLS             *tlsModel    `tfsdk:"tls"`
	APIKey          types.String `tfsdk:"api_key"`
	Detach          types.Bool   `tfsdk:"detach"`
}

// tlsModel is engine.temporal.tls.
type tlsModel struct {
	CAFile     types.String `tfsdk:"ca_file"`
	CertFile   types.String `tfsdk:"cert_file"`
	KeyFile    types.String `tfsdk:"key_file"`
	ServerName types.String `tfsdk:"server_name"`
}

// keyVariable is the environment variable with the key that encrypts what runs leave in the journal and in Temporal.
const keyVariable = "SLIPWAY_KEY"

func engineAttribute() schema.Attribute {
	notEmpty := []validator.String{stringvalidator.LengthAtLeast(1)}
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: notEmpty}
	}
	address := text("Address of the server, `HOST:PORT`.")
	address.Optional, address.Required = false, true
	key := text("API key of the namespace, as of Temporal Cloud; TLS is used then.")
	key.Sensitive = true
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "What executes runs. Left out, the provider does, in the process that Terraform starts. With `temporal`, a run is handed over to workers and goes on without Terraform; it needs the `journal` in PostgreSQL that the workers use, and `encryption_key`. " +
			"The guide [Beyond one machine](guides/scaling) says when.",
		Attributes: map[string]schema.Attribute{
			"temporal": schema.SingleNestedAttribute{
				Required:            true,
				MarkdownDescription: "A server of [Temporal](https://temporal.io), for which `terraform-provider-slipway worker` works.",
				Attributes: map[string]schema.Attribute{
					"address":           address,
					"namespace":         text("Namespace of the server. Default: `" + temporal.DefaultNamespace + "`."),
					"task_queue_prefix": text("Beginning of the names of task queues, the same for all workers. Default: `" + temporal.DefaultPrefix + "`."),
					"api_key":           key,
					"detach": schema.BoolAttribute{Optional: true,
						MarkdownDescription: "Whether a run goes on when Terraform is interrupted, with Ctrl-C for example. Default: false, the run is stopped. When Terraform or its connection dies, the run goes on whatever this says."},
					"tls": schema.SingleNestedAttribute{
						Optional:            true,
						MarkdownDescription: "Use TLS. An empty object takes the certificates that this machine trusts.",
						Attributes: map[string]schema.Attribute{
							"ca_file":     text("File with the certificates of the authorities to trust, PEM."),
							"cert_file":   text("File with the certificate of this client, PEM. With `key_file`."),
							"key_file":    text("File with the private key of this client, PEM. With `cert_file`."),
							"server_name": text("Name in the certificate of the server, where it is not the host of `address`."),
						},
					},
				},
			},
		},
	}
}

// engineKnown reports whether it is known what executes runs, and how it is reached.
func engineKnown(ctx context.Context, m modelV0) bool {
	value, err := m.Engine.ToTerraformValue(ctx)
	return m.Engine.IsNull() || err == nil && value.IsFullyKnown() && !m.EncryptionKey.IsUnknown() &&
		!m.Journal.IsUnknown()
}

// named returns how users write the settings of the engine. With encryption_key, the environment does not count.
func (p *slipway) named(key types.String) func(setting string) string {
	return func(setting string) string {
		switch setting {
		case "":
			return "engine.temporal"
		case "encryption_key":
			if key.IsNull() && p.getenv(keyVariable) != "" {
				return keyVariable
			}
			return setting
		}
		return "engine.temporal." + setting
	}
}

// handing returns how runs are handed over; nil: this process executes them. What is configured is known.
func (p *slipway) handing(ctx context.Context, m modelV0, journals journal.Location) (h *engine.Handing,
	diags diag.Diagnostics) {
	at := path.Root("engine").AtName("temporal")
	var e engineModel
	if m.Engine.IsNull() {
		return nil, nil
	}
	if diags.Append(m.Engine.As(ctx, &e, basetypes.ObjectAsOptions{})...); diags.HasError() || e.Temporal == nil {
		return nil, diags
	}
	if journals.URL == "" {
		diags.AddAttributeError(at, "The engine needs a journal in PostgreSQL",
			"engine.temporal: workers and all who plan share the journal, so it must be a database. Give journal = \"postgres://...\", or "+journalVariable+".")
		return nil, diags
	}
	settings := temporal.Settings{Address: e.Temporal.Address.ValueString(), Namespace: e.Temporal.Namespace.ValueString(),
		Prefix: e.Temporal.TaskQueuePrefix.ValueString(), APIKey: e.Temporal.APIKey.ValueString(), Keys: journals.Keys,
		Build: p.version, Named: p.named(m.EncryptionKey)}
	if t := e.Temporal.TLS; t != nil {
		settings.TLS = &temporal.TLS{CAFile: t.CAFile.ValueString(), CertFile: t.CertFile.ValueString(),
			KeyFile: t.KeyFile.ValueString(), ServerName: t.ServerName.ValueString()}
	}
	client, err := temporal.NewClient(settings)
	if err != nil {
		diags.AddAttributeError(at, "Invalid engine", err.Error()+".")
		return nil, diags
	}
	return &engine.Handing{Durable: client, Asked: p.runs.Asked(), Detach: e.Temporal.Detach.ValueBool(),
		Executor: func() rollout.Executor { return client.Executor(journals) }}, diags
}

// keys returns the keys of encryption_key, or of the environment.
func (p *slipway) keys(configured types.String) (keys *encryption.Keys, diags diag.Diagnostics) {
	text := configured.ValueString()
	if configured.IsNull() {
		text = p.getenv(keyVariable)
	}
	keys, err := encryption.Parse(text)
	if err != nil {
		diags.AddError("Invalid encryption key", p.named(configured)("encryption_key")+": "+err.Error()+".")
	}
	return keys, diags
}
