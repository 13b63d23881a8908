package datasources

import (
	"context"
	"errors"
	"time"

	"github.com/slipway/terraform-provider-slipway/resources/values"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// NewRun returns slipway_run: a run of a site as the journal records it.
func NewRun() datasource.DataSource { return &runSource{journals{named: "run"}} }

type runSource struct{ journals }

var _ datasource.DataSourceWithConfigure = (*runSource)(nil)

type runModelV0 struct {
	Site      types.String      `tfsdk:"site"`
	Run       types.String      `tfsdk:"run"`
	ID        *string           `tfsdk:"id"`
	Operation *string           `tfsdk:"operation"`
	Status    *string           `tfsdk:"status"`
	Started   *string           `tfsdk:"started"`
	Ended     *string           `tfsdk:"ended"`
	Digest    *string           `tfsdk:"digest"`
	Steps     []string          `tfsdk:"steps"`
	Groups    map[string]string `tfsdk:"groups"`
	Nodes     map[string]string `tfsdk:"nodes"`
	Report    *string           `tfsdk:"report"`
}

func (s *runSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	stages := func(description string) schema.MapAttribute {
		return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A run on a site as the journal records it, which is in the provider's `journal_directory` on the machine that ran it. No node is asked. A data source is read before the resources of the same apply " +
			"change anything, so it shows earlier runs; what the last run came to is in `status`, `group_status` and `node_status` of `slipway_deployment`, too.",
		Attributes: map[string]schema.Attribute{
			"site": schema.StringAttribute{Required: true, Validators: []validator.String{values.NameValidator()},
				MarkdownDescription: "Name of the site."},
			"run": schema.StringAttribute{Optional: true,
				MarkdownDescription: "Id of a run, or a beginning of it that only one run has. Left out, the newest run; when there is none yet, everything below is null."},
			"id":        text("Id of the run."),
			"operation": text("`create`, `update` or `delete`."),
			"status":    text("`running`, `succeeded`, `degraded`, `failed`, `interrupted` or `abandoned`."),
			"started":   text("When it began, RFC 3339, UTC."),
			"ended":     text("When it ended, RFC 3339, UTC; null while it is running."),
			"digest":    text("SHA-256 over everything that it was to do."),
			"steps": schema.ListAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "What it was to do, in order."},
			"groups": stages("Stage that each group came to: `DEPLOYED`, `FAILED` and so on."),
			"nodes":  stages("Stage that each node came to."),
			"report": text("How it went, for people."),
		},
	}
}

func (s *runSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m runModelV0
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(s.read(ctx, "Run", m.Site, !m.Run.IsNull(), func(store *journal.Store) error {
		return m.read(ctx, store)
	})...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// eventsAtOnce bounds how many events are read together.
const eventsAtOnce = 1000

// read takes the run that the model names from a journal. That there is no run is an error only where one is named.
func (m *runModelV0) read(ctx context.Context, store *journal.Store) error {
	run, err := store.Run(ctx, m.Run.ValueString())
	if errors.Is(err, journal.ErrNoRun) && m.Run.IsNull() {
		return nil
	}
	if err != nil {
		return err
	}
	started := run.Started.UTC().Format(time.RFC3339)
	m.ID, m.Operation, m.Status, m.Started, m.Digest, m.Report = &run.ID, &run.Operation, &run.Status, &started,
		given(run.Digest), given(run.Report)
	if !run.Ended.IsZero() {
		ended := run.Ended.UTC().Format(time.RFC3339)
		m.Ended = &ended
	}
	m.Steps, m.Groups, m.Nodes = texts(run.Steps), map[string]string{}, map[string]string{}
	for after := int64(0); ; {
		events, err := store.Events(ctx, run.ID, after, eventsAtOnce)
		if err != nil {
			return err
		}
		for _, e := range events {
			after = e.Seq
			switch e.Kind {
			case journal.GroupFinished:
				m.Groups[e.Group] = e.Status
			case journal.NodeFinished:
				m.Nodes[e.Node] = e.Status
			}
		}
		if len(events) < eventsAtOnce {
			return nil
		}
	}
}
