// Package provider wires the provider together: its schema, its configuration from HCL and environment, and the table
// of its resources. It decides nothing about sites.
package provider

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/slipway/terraform-provider-slipway/datasources"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// Address is the provider's address in registries: the one place that knows its home.
const Address = "registry.terraform.io/slipway/slipway"

// NewServer returns the provider as Terraform talks to it. runs is shared with main, which waits for runs before it
// ends.
func NewServer(ctx context.Context, version string, runs *engine.Runs) (tfprotov6.ProviderServer, error) {
	p := &slipway{version: version, runs: runs, getenv: os.Getenv}
	server, err := values.NewServer(ctx, p)
	if err != nil {
		return nil, err
	}
	if server, err = values.NewUnchangedServer(ctx, p, server); err != nil {
		return nil, err
	}
	return stopServer{server, runs}, nil
}

// stopServer notes that Terraform asks for a stop. The library only ends the contexts of calls then, as it does when
// Terraform is gone.
type stopServer struct {
	values.Server
	runs *engine.Runs
}

func (s stopServer) StopProvider(ctx context.Context, req *tfprotov6.StopProviderRequest) (
	*tfprotov6.StopProviderResponse, error) {
	s.runs.Ask()
	return s.Server.StopProvider(ctx, req)
}

// slipway is the provider.
type slipway struct {
	version string
	runs    *engine.Runs
	getenv  func(string) string
}

var (
	_ provider.ProviderWithActions       = (*slipway)(nil)
	_ provider.ProviderWithListResources = (*slipway)(nil)
)

// modelV0 is the provider's configuration.
type modelV0 struct {
	Connection       types.Object `tfsdk:"connection"`
	Journal          types.String `tfsdk:"journal"`
	JournalDirectory types.String `tfsdk:"journal_directory"`
	Engine           types.Object `tfsdk:"engine"`
	EncryptionKey    types.String `tfsdk:"encryption_key"`
}

func (p *slipway) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "slipway"
	resp.Version = p.version
}

func (p *slipway) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "slipway rolls a site out: nodes, in groups, in order, with services and overrides on them. All attributes are optional and may come from the environment instead.",
		Attributes: map[string]schema.Attribute{
			"connection": resources.ProviderConnectionAttribute(),
			"journal": schema.StringAttribute{
				Optional:  true,
				Sensitive: true,
				MarkdownDescription: "URL of a PostgreSQL database with the journals of all sites, such as `postgres://slipway@db.example.org/slipway?sslmode=verify-full`, in place of `journal_directory`: all who give it share history, service inventory and the lease of a site. " +
					"TLS, passwords and defaults follow the rules of libpq (`sslmode`, `PGPASSFILE` and so on). May also be given as `" + journalVariable + "`, which counts where neither `journal` nor `journal_directory` is configured.",
				Validators: []validator.String{stringvalidator.ConflictsWith(path.MatchRoot("journal_directory"))},
			},
			"journal_directory": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Folder of the journals, one database for each site: the history of runs, for `runs`, `report` and `watch` of the companion. Deleting it costs history only. May also be given as `" +
					journalDirectoryVariable + "`. Default: `" + journal.DefaultDirectory + "` in the working directory.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"engine": engineAttribute(),
			"encryption_key": schema.StringAttribute{
				Optional:            true,
				Sensitive:           true,
				MarkdownDescription: "Key that encrypts what runs leave for workers in the journal and on the server of `engine`: 32 bytes in base64. It is in no database. `terraform-provider-slipway key` makes one. Several are separated by spaces: the first encrypts, all decrypt. May also be given as `" + keyVariable + "`.",
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
		},
	}
}

func (p *slipway) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var m modelV0
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	connection, known, diags := p.connection(ctx, m.Connection)
	resp.Diagnostics.Append(diags...)
	databaseURL, folder, diags := p.journal(m)
	resp.Diagnostics.Append(diags...)
	data := resources.ProviderData{
		Connection:       connection,
		JournalDirectory: folder,
		JournalURL:       databaseURL,
		Unknown:          !known || m.Journal.IsUnknown() || m.JournalDirectory.IsUnknown(),
		Runs:             p.runs,
		Seen:             &engine.Seen{},
	}
	var more diag.Diagnostics
	data.Keys, more = p.keys(m.EncryptionKey)
	if resp.Diagnostics.Append(more...); resp.Diagnostics.HasError() {
		return
	}
	if engineKnown(ctx, m) {
		data.Handing, more = p.handing(ctx, m, data.Journals())
		resp.Diagnostics.Append(more...)
	} else {
		data.Unknown = true
	}
	if known && m.Engine.IsNull() { // else workers have the files
		resp.Diagnostics.Append(values.Diagnostics(engine.MissingDefaultFiles(connection))...)
	}
	resp.ResourceData, resp.DataSourceData, resp.ActionData, resp.ListResourceData = data, data, data, data
}

// connection returns the defaults for nodes: the configuration over the environment.
func (p *slipway) connection(ctx context.Context, configured types.Object) (c site.Connection, known bool,
	diags diag.Diagnostics) {
	environment, diags := connectionFromEnvironment(p.getenv)
	if configured.IsNull() || configured.IsUnknown() {
		return environment, configured.IsNull(), diags
	}
	value, err := values.Opened(ctx, configured)
	if err != nil {
		diags.AddError("Invalid connection", err.Error())
	}
	own, known, errs := document.NewValues(false).Connection(value) // what is unknown is left unset
	for _, wrong := range errs {
		diags.AddAttributeError(path.Root("connection"), "Invalid connection",
			"connection."+wrong.Attribute+": "+wrong.Message+".")
	}
	return own.Over(environment), known, diags
}

func (p *slipway) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		resources.NewNode,
		resources.NewGroup,
		resources.NewService,
		resources.NewOverride,
		resources.NewDeployment,
	}
}

func (p *slipway) Actions(context.Context) []func() action.Action { return resources.Actions() }

func (p *slipway) ListResources(context.Context) []func() list.ListResource {
	return resources.ListResources()
}

func (p *slipway) DataSources(context.Context) []func() datasource.DataSource {
	return datasources.All(resources.FactsType)
}
