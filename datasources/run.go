package datasources

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

// NewRun returns slipway_run: a run of a site as the journal records it.
func NewRun() datasource.DataSource { return &runSource{journals{named: "run"}} }

type runSource struct{ journals }

var _ datasource.DataSourceWithConfigure = (*runSource)(nil)

// ranModel is a run with what its events say.
type ranModel struct {
	journal.Run
	Started string            `json:"started"`
	Ended   string            `json:"ended,omitempty"`
	Groups  map[string]string `json:"groups"`
	Nodes   map[string]string `json:"nodes"`
}

func (s *runSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	stages := func(description string) schema.MapAttribute {
		return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A run on a site as the journal records it, which is in the provider's `journal_directory` on the machine that ran it. No node is asked. A data source is read before the resources of the same apply " +
			"change anything, so it shows earlier runs; what the last run came to is in `status`, `group_status` and `node_status` of `slipway_deployment`, too.",
		Attributes: map[string]schema.Attribute{
			"site": name("Name of the site."),
			"run": schema.StringAttribute{Optional: true,
				MarkdownDescription: "Id of a run, or a beginning of it that only one run has. Left out, the newest run; when there is none yet, everything below is null."},
			"id":        text("Id of the run."),
			"operation": text("`create`, `update` or `delete`."),
			"status":    text("`running`, `succeeded`, `degraded`, `failed`, `interrupted` or `abandoned`."),
			"started":   text("When it began, RFC 3339, UTC."),
			"ended":     text("When it ended, RFC 3339, UTC; null while it is running."),
			"digest":    text("SHA-256 over everything that it was to do."),
			"steps":     list("What it was to do, in order."),
			"groups":    stages("Stage that each group came to: `DEPLOYED`, `FAILED` and so on."),
			"nodes":     stages("Stage that each node came to."),
			"report":    text("How it went, for people."),
		},
	}
}

func (s *runSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var site, id types.String
	if !asked(ctx, req, resp, map[string]any{"site": &site, "run": &id}) {
		return
	}
	var ran *ranModel
	resp.Diagnostics.Append(s.read(ctx, "Run", site, !id.IsNull(), func(store *journal.Store) (err error) {
		ran, err = runOf(ctx, store, id)
		return err
	})...)
	switch {
	case resp.Diagnostics.HasError():
	case ran == nil:
		answer(ctx, req, resp, struct{}{})
	default:
		answer(ctx, req, resp, ran)
	}
}

// eventsAtOnce bounds how many events are read together.
const eventsAtOnce = 1000

// runOf takes a run from a journal. That there is no run is an error only where one is named.
func runOf(ctx context.Context, store *journal.Store, id types.String) (*ranModel, error) {
	run, err := store.Run(ctx, id.ValueString())
	if errors.Is(err, journal.ErrNoRun) && id.IsNull() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &ranModel{Run: run, Started: run.Started.UTC().Format(time.RFC3339), Groups: map[string]string{},
		Nodes: map[string]string{}}
	if !run.Ended.IsZero() {
		m.Ended = run.Ended.UTC().Format(time.RFC3339)
	}
	for after := int64(0); ; {
		events, err := store.Events(ctx, run.ID, after, eventsAtOnce)
		if err != nil {
			return nil, err
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
			return m, nil
		}
	}
}
