package datasources

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/slipway/terraform-provider-slipway/resources/values"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// Bounds of limit: how many versions slipway_service_log returns.
const (
	recordsUsual = 20
	recordsMost  = 1000
)

// NewServiceLog returns slipway_service_log: the history of a service as the journal records it.
func NewServiceLog() datasource.DataSource {
	return &serviceLogSource{journals{named: "service_log"}}
}

type serviceLogSource struct{ journals }

var _ datasource.DataSourceWithConfigure = (*serviceLogSource)(nil)

type serviceLogModelV0 struct {
	Site    types.String      `tfsdk:"site"`
	Service types.String      `tfsdk:"service"`
	Limit   types.Int64       `tfsdk:"limit"`
	Records []serviceRecordV0 `tfsdk:"records"`
}

// serviceRecordV0 is one version of a service with its events.
type serviceRecordV0 struct {
	Incarnation    int64            `tfsdk:"incarnation"`
	ID             string           `tfsdk:"id"`
	Version        int64            `tfsdk:"version"`
	DesiredVersion int64            `tfsdk:"desired_version"`
	EntityVersion  int64            `tfsdk:"entity_version"`
	Identity       *string          `tfsdk:"identity"`
	State          string           `tfsdk:"state"`
	Label          *string          `tfsdk:"label"`
	Deleted        bool             `tfsdk:"deleted"`
	Reason         *string          `tfsdk:"reason"`
	Candidate      *string          `tfsdk:"candidate"`
	Active         *string          `tfsdk:"active"`
	Rollback       *string          `tfsdk:"rollback"`
	Redacted       []string         `tfsdk:"redacted"`
	Config         map[string]bool  `tfsdk:"config"`
	Time           string           `tfsdk:"time"`
	Run            string           `tfsdk:"run"`
	Owner          string           `tfsdk:"owner"`
	Events         []serviceEventV0 `tfsdk:"events"`
}

type serviceEventV0 struct {
	Time        string  `tfsdk:"time"`
	Type        string  `tfsdk:"type"`
	Source      *string `tfsdk:"source"`
	Destination *string `tfsdk:"destination"`
	Message     *string `tfsdk:"message"`
	Ignored     bool    `tfsdk:"ignored"`
	Error       bool    `tfsdk:"error"`
	Severity    int64   `tfsdk:"severity"`
	Attempt     *string `tfsdk:"attempt"`
	Run         string  `tfsdk:"run"`
}

func (s *serviceLogSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	flag := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
	}
	events := map[string]schema.Attribute{
		"time":        text("When, RFC 3339, UTC."),
		"type":        text("`CREATE_TRANSITION`, `AUTO_TRANSITION`, `API_SET_STATE_TRANSITION`, `ON_UPDATE_TRANSITION`, `ON_DELETE_TRANSITION`, `RESOURCE_TRANSITION` and so on."),
		"source":      text("State from which the transfer leads; null when the event is of none."),
		"destination": text("State to which it leads, likewise."),
		"message":     text("What there is to say; null when there is nothing."),
		"ignored":     flag("Whether the event changed nothing, so that it made no version."),
		"error":       flag("Whether the transfer took its error edge: validation or deployment failed."),
		"severity": schema.Int64Attribute{Computed: true,
			MarkdownDescription: "3 trace, 10 debug, 20 info, 30 warning, 40 error, 50 critical."},
		"attempt": text("The same for all events of one attempt of a transfer."),
		"run":     text("Id of the run in which it happened."),
	}
	records := pictureSchema()
	maps.Copy(records, map[string]schema.Attribute{
		"desired_version": schema.Int64Attribute{Computed: true, MarkdownDescription: "Counter of what is to be deployed; a version that changes only the state keeps it."},
		"reason":          text("Why the last transfer happened, such as `auto`; null when the lifecycle does not say."),
		"config": schema.MapAttribute{Computed: true, ElementType: types.BoolType,
			MarkdownDescription: "Gates of the lifecycle that the service sets itself."},
		"time":  text("When this version was made, RFC 3339, UTC."),
		"owner": text("Who made it: host and process of the run."),
		"events": schema.ListNestedAttribute{Computed: true, NestedObject: schema.NestedAttributeObject{Attributes: events},
			MarkdownDescription: "What made this version, oldest first, and after it what made no other one."},
	})
	resp.Schema = schema.Schema{
		MarkdownDescription: "The versions of a service, newest first, each with its attributes and events," + fromJournal,
		Attributes: map[string]schema.Attribute{
			"site": schema.StringAttribute{Required: true, Validators: []validator.String{values.NameValidator()},
				MarkdownDescription: "Name of the site."},
			"service": schema.StringAttribute{Required: true, Validators: []validator.String{values.NameValidator()},
				MarkdownDescription: "Name of the service."},
			"limit": schema.Int64Attribute{Optional: true, Validators: []validator.Int64{int64validator.Between(1, recordsMost)},
				MarkdownDescription: fmt.Sprintf("At most so many versions, 1 to %d. %d when it is left out.", recordsMost,
					recordsUsual)},
			"records": schema.ListNestedAttribute{Computed: true,
				NestedObject:        schema.NestedAttributeObject{Attributes: records},
				MarkdownDescription: "The versions, newest first, also those of earlier services of this name. `[]` as long as the service was never deployed; a name that the journal does not know while it knows others is warned of."},
		},
	}
}

func (s *serviceLogSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m serviceLogModelV0
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	var warning string
	m.Records = []serviceRecordV0{}
	resp.Diagnostics.Append(s.read(ctx, "Service log", m.Site, false, func(store *journal.Store) (err error) {
		warning, err = m.read(ctx, store)
		return err
	})...)
	if resp.Diagnostics.HasError() {
		return
	}
	if warning != "" {
		resp.Diagnostics.AddAttributeWarning(path.Root("service"), "No such service", warning)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// read takes the history of the service from a journal. A service that is not among those that the journal knows is
// warned of.
func (m *serviceLogModelV0) read(ctx context.Context, store *journal.Store) (warning string, err error) {
	limit := recordsUsual
	if !m.Limit.IsNull() {
		limit = int(m.Limit.ValueInt64())
	}
	log, err := store.ServiceLog(ctx, m.Service.ValueString(), journal.Point{}, limit)
	if err != nil {
		return "", err
	}
	for _, r := range log {
		about, err := recordModel(r)
		if err != nil {
			return "", err
		}
		m.Records = append(m.Records, about)
	}
	if len(log) > 0 {
		return "", nil
	}
	all, err := store.Services(ctx, false)
	return m.unknown(all), err
}

// unknown is the warning that a service is not among those of the journal; empty as long as there are none at all.
func (m *serviceLogModelV0) unknown(all []services.Revision) string {
	if len(all) == 0 {
		return ""
	}
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.Service
	}
	text := fmt.Sprintf("The journal of the site %q has no service %q, so the log is empty", m.Site.ValueString(),
		m.Service.ValueString())
	if hint := resource.DidYouMean(m.Service.ValueString(), names); hint != "" {
		return text + hint
	}
	return text + ". A service is in it after the first run that deploys it."
}

func recordModel(r journal.ServiceRecord) (serviceRecordV0, error) {
	out := serviceRecordV0{
		Incarnation: int64(r.Incarnation), ID: r.ID, Version: int64(r.Version), DesiredVersion: int64(r.DesiredVersion),
		EntityVersion: int64(r.EntityVersion),
		Identity:      given(r.Identity), State: r.State, Label: given(r.Label), Deleted: r.Deleted,
		Reason: given(r.TransferContext), Redacted: texts(r.Redacted),
		Config: r.Config, Time: r.Time.UTC().Format(time.RFC3339), Run: r.Run, Owner: r.Owner, Events: []serviceEventV0{},
	}
	if out.Config == nil {
		out.Config = map[string]bool{}
	}
	for _, e := range r.Events {
		out.Events = append(out.Events, serviceEventV0{Time: e.Time.UTC().Format(time.RFC3339), Type: e.Type,
			Source: given(e.Source), Destination: given(e.Destination),
			Message: given(e.Message), Ignored: e.Ignored, Error: e.IsError, Severity: int64(e.Severity),
			Attempt: given(e.Correlation), Run: e.Run})
	}
	var err error
	out.Candidate, out.Active, out.Rollback, err = setTexts(r.Revision)
	return out, err
}
