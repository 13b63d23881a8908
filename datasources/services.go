package datasources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// NewServices returns slipway_services: the services of a site as the journal records them.
func NewServices() datasource.DataSource { return &servicesSource{journals{named: "services"}} }

type servicesSource struct{ journals }

var _ datasource.DataSourceWithConfigure = (*servicesSource)(nil)

// revisionModel is a version of a service: its revision, the attribute sets as JSON texts, and the time to the second.
type revisionModel struct {
	services.Revision
	Name      string       `json:"name"`
	Candidate *string      `json:"candidate"`
	Active    *string      `json:"active"`
	Rollback  *string      `json:"rollback"`
	Updated   string       `json:"updated"`
	Time      string       `json:"time"` // the same
	Events    []eventModel `json:"events"`
}

func revisionOf(v services.Revision) (m revisionModel, err error) {
	v.Redacted = texts(v.Redacted)
	if v.Config == nil {
		v.Config = map[string]bool{}
	}
	at := v.Time.UTC().Format(time.RFC3339)
	m = revisionModel{Revision: v, Name: v.Service, Updated: at, Time: at, Events: []eventModel{}}
	m.Candidate, m.Active, m.Rollback, err = setTexts(v)
	return m, err
}

// fromJournal is the part of the descriptions of data sources about services that says where they look.
const fromJournal = " as the journal has them, which is in the provider's `journal_directory` on the machine that ran it. No node is asked. A data source is read before the " +
	"resources of the same apply change anything, so it shows what earlier runs did. Values of sensitive attributes are not in the journal."

func (s *servicesSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := pictureSchema()
	attributes["name"] = text("Name of the service.")
	attributes["entity"] = text("Entity that it is an instance of.")
	attributes["lifecycle"] = text("Name of its lifecycle.")
	attributes["updated"] = text("When this version was made, RFC 3339, UTC.")
	resp.Schema = schema.Schema{
		MarkdownDescription: "The services of a site with their states and attributes," + fromJournal,
		Attributes: map[string]schema.Attribute{
			"site":   name("Name of the site."),
			"entity": schema.StringAttribute{Optional: true, MarkdownDescription: "Only services of this entity."},
			"state": schema.StringAttribute{Optional: true,
				MarkdownDescription: "Only services in this state of their lifecycle."},
			"include_deleted": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether services that were deleted are listed, too, each as it was last. `false` when it is left out."},
			"services": objects("The services, sorted by name; `[]` when there are none, also before the first run.", attributes),
		},
	}
}

// pictureSchema is what services and the records of their history have in common.
func pictureSchema() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id":             text("Id of the instance."),
		"incarnation":    number("How often a service of this name was made anew before."),
		"entity_version": number("Version of the entity."),
		"identity":       text("Value of the identity attribute as text; null when the entity has none."),
		"state":          text("State of the lifecycle, such as `up`."),
		"label":          text("What the state means: `info`, `success`, `warning` or `danger`; null when the lifecycle does not say."),
		"version":        number("Version of the service. Every transfer makes a new one."),
		"deleted":        flag("Whether the service is deleted."),
		"candidate":      text("Attributes that are proposed, as JSON for `jsondecode`; null when there are none."),
		"active":         text("Attributes that are deployed, or being deployed, likewise."),
		"rollback":       text("Attributes that were active before, likewise."),
		"redacted":       list("Attributes that are missing in the three, because they are sensitive."),
		"run":            text("Id of the run that made this version."),
	}
}

func (s *servicesSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var site, entity, state types.String
	var deleted types.Bool
	if !asked(ctx, req, resp, map[string]any{"site": &site, "entity": &entity, "state": &state,
		"include_deleted": &deleted}) {
		return
	}
	facts := []revisionModel{}
	resp.Diagnostics.Append(s.read(ctx, "Services", site, false, func(store *journal.Store) error {
		all, err := store.Services(ctx, !deleted.ValueBool())
		for _, v := range all {
			if !entity.IsNull() && v.Entity != entity.ValueString() || !state.IsNull() && v.State != state.ValueString() {
				continue
			}
			fact, wrong := revisionOf(v)
			facts, err = append(facts, fact), errors.Join(err, wrong)
		}
		return err
	})...)
	if !resp.Diagnostics.HasError() {
		answer(ctx, req, resp, map[string]any{"services": facts})
	}
}

// setTexts returns the attribute sets of a service as JSON; nil for one that is not there.
func setTexts(v services.Revision) (candidate, active, rollback *string, err error) {
	for _, set := range []struct {
		into   **string
		values map[string]any
	}{{&candidate, v.Candidate}, {&active, v.Active}, {&rollback, v.Rollback}} {
		if set.values == nil {
			continue
		}
		text, err := resource.CompactJSON(set.values)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("service %q: version %d: %w", v.Service, v.Version, err)
		}
		*set.into = &text
	}
	return candidate, active, rollback, nil
}
