package datasources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
	"github.com/slipway/terraform-provider-slipway/planner/site"
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

type eventModel struct {
	journal.RecordedServiceEvent
	Time    string `json:"time"`
	Attempt string `json:"attempt,omitempty"`
}

func (s *serviceLogSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	events := map[string]schema.Attribute{
		"time":        text("When, RFC 3339, UTC."),
		"type":        text("`CREATE_TRANSITION`, `AUTO_TRANSITION`, `API_SET_STATE_TRANSITION`, `ON_UPDATE_TRANSITION`, `ON_DELETE_TRANSITION`, `RESOURCE_TRANSITION` and so on."),
		"source":      text("State from which the transfer leads; null when the event is of none."),
		"destination": text("State to which it leads, likewise."),
		"message":     text("What there is to say; null when there is nothing."),
		"ignored":     flag("Whether the event changed nothing, so that it made no version."),
		"error":       flag("Whether the transfer took its error edge: validation or deployment failed."),
		"severity":    number("3 trace, 10 debug, 20 info, 30 warning, 40 error, 50 critical."),
		"attempt":     text("The same for all events of one attempt of a transfer."),
		"run":         text("Id of the run in which it happened."),
	}
	records := pictureSchema()
	maps.Copy(records, map[string]schema.Attribute{
		"desired_version": number("Counter of what is to be deployed; a version that changes only the state keeps it."),
		"reason":          text("Why the last transfer happened, such as `auto`; null when the lifecycle does not say."),
		"config": schema.MapAttribute{Computed: true, ElementType: types.BoolType,
			MarkdownDescription: "Gates of the lifecycle that the service sets itself."},
		"time":   text("When this version was made, RFC 3339, UTC."),
		"owner":  text("Who made it: host and process of the run."),
		"events": objects("What made this version, oldest first, and after it what made no other one.", events),
	})
	resp.Schema = schema.Schema{
		MarkdownDescription: "The versions of a service, newest first, each with its attributes and events," + fromJournal,
		Attributes: map[string]schema.Attribute{
			"site":    name("Name of the site."),
			"service": name("Name of the service."),
			"limit": schema.Int64Attribute{Optional: true, Validators: []validator.Int64{int64validator.Between(1, recordsMost)},
				MarkdownDescription: fmt.Sprintf("At most so many versions, 1 to %d. %d when it is left out.", recordsMost,
					recordsUsual)},
			"records": objects("The versions, newest first, also those of earlier services of this name. `[]` as long as the service was never deployed; a name that the journal does not know while it knows others is warned of.", records),
		},
	}
}

func (s *serviceLogSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var site, service types.String
	var limit types.Int64
	if !asked(ctx, req, resp, map[string]any{"site": &site, "service": &service, "limit": &limit}) {
		return
	}
	most := recordsUsual
	if !limit.IsNull() {
		most = int(limit.ValueInt64())
	}
	var warning string
	records := []revisionModel{}
	resp.Diagnostics.Append(s.read(ctx, "Service log", site, false, func(store *journal.Store) error {
		log, err := store.ServiceLog(ctx, service.ValueString(), journal.Point{}, most)
		for _, r := range log {
			record, wrong := revisionOf(r.Revision)
			for _, e := range r.Events {
				record.Events = append(record.Events, eventModel{e, e.Time.UTC().Format(time.RFC3339), e.Correlation})
			}
			records, err = append(records, record), errors.Join(err, wrong)
		}
		if err != nil || len(log) > 0 {
			return err
		}
		all, err := store.Services(ctx, false)
		warning = unknown(site.ValueString(), service.ValueString(), all)
		return err
	})...)
	if resp.Diagnostics.HasError() {
		return
	}
	if warning != "" {
		resp.Diagnostics.AddAttributeWarning(path.Root("service"), "No such service", warning)
	}
	answer(ctx, req, resp, map[string]any{"records": records})
}

// unknown is the warning that a service is not among those of the journal; empty as long as there are none at all.
func unknown(siteName, service string, all []services.Revision) string {
	if len(all) == 0 {
		return ""
	}
	names := site.NamesOf(all, func(v services.Revision) string { return v.Service })
	text := fmt.Sprintf("The journal of the site %q has no service %q, so the log is empty", siteName, service)
	if hint := resource.DidYouMean(service, names); hint != "" {
		return text + hint
	}
	return text + ". A service is in it after the first run that deploys it."
}
