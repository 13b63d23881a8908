package datasources

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway/terraform-provider-slipway/resources/values"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// NewServices returns slipway_services: the services of a site as the journal records them.
func NewServices() datasource.DataSource { return &servicesSource{journals{named: "services"}} }

type servicesSource struct{ journals }

var _ datasource.DataSourceWithConfigure = (*servicesSource)(nil)

type servicesModelV0 struct {
	Site           types.String    `tfsdk:"site"`
	Entity         types.String    `tfsdk:"entity"`
	State          types.String    `tfsdk:"state"`
	IncludeDeleted types.Bool      `tfsdk:"include_deleted"`
	Services       []serviceFactV0 `tfsdk:"services"`
}

// serviceFactV0 is the newest version of a service.
type serviceFactV0 struct {
	Name          string   `tfsdk:"name"`
	ID            string   `tfsdk:"id"`
	Incarnation   int64    `tfsdk:"incarnation"`
	Entity        string   `tfsdk:"entity"`
	EntityVersion int64    `tfsdk:"entity_version"`
	Identity      *string  `tfsdk:"identity"`
	Lifecycle     string   `tfsdk:"lifecycle"`
	State         string   `tfsdk:"state"`
	Label         *string  `tfsdk:"label"`
	Version       int64    `tfsdk:"version"`
	Deleted       bool     `tfsdk:"deleted"`
	Candidate     *string  `tfsdk:"candidate"`
	Active        *string  `tfsdk:"active"`
	Rollback      *string  `tfsdk:"rollback"`
	Redacted      []string `tfsdk:"redacted"`
	Updated       string   `tfsdk:"updated"`
	Run           string   `tfsdk:"run"`
}

// fromJournal is the part of the descriptions of data sources about services that says where they look.
const fromJournal = " as the journal has them, which is in the provider's `journal_directory` on the machine that ran it. No node is asked. A data source is read before the " +
	"resources of the same apply change anything, so it shows what earlier runs did. Values of sensitive attributes are not in the journal."

func (s *servicesSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := pictureSchema()
	attributes["name"] = schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the service."}
	attributes["entity"] = schema.StringAttribute{Computed: true, MarkdownDescription: "Entity that it is an instance of."}
	attributes["lifecycle"] = schema.StringAttribute{Computed: true, MarkdownDescription: "Name of its lifecycle."}
	attributes["updated"] = schema.StringAttribute{Computed: true,
		MarkdownDescription: "When this version was made, RFC 3339, UTC."}
	resp.Schema = schema.Schema{
		MarkdownDescription: "The services of a site with their states and attributes," + fromJournal,
		Attributes: map[string]schema.Attribute{
			"site": schema.StringAttribute{Required: true, Validators: []validator.String{values.NameValidator()},
				MarkdownDescription: "Name of the site."},
			"entity": schema.StringAttribute{Optional: true, MarkdownDescription: "Only services of this entity."},
			"state": schema.StringAttribute{Optional: true,
				MarkdownDescription: "Only services in this state of their lifecycle."},
			"include_deleted": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether services that were deleted are listed, too, each as it was last. `false` when it is left out."},
			"services": schema.ListNestedAttribute{Computed: true,
				NestedObject:        schema.NestedAttributeObject{Attributes: attributes},
				MarkdownDescription: "The services, sorted by name; `[]` when there are none, also before the first run."},
		},
	}
}

// pictureSchema is what services and the records of their history have in common.
func pictureSchema() map[string]schema.Attribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"id":             text("Id of the instance."),
		"incarnation":    number("How often a service of this name was made anew before."),
		"entity_version": number("Version of the entity."),
		"identity":       text("Value of the identity attribute as text; null when the entity has none."),
		"state":          text("State of the lifecycle, such as `up`."),
		"label":          text("What the state means: `info`, `success`, `warning` or `danger`; null when the lifecycle does not say."),
		"version":        number("Version of the service. Every transfer makes a new one."),
		"deleted":        schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the service is deleted."},
		"candidate":      text("Attributes that are proposed, as JSON for `jsondecode`; null when there are none."),
		"active":         text("Attributes that are deployed, or being deployed, likewise."),
		"rollback":       text("Attributes that were active before, likewise."),
		"redacted": schema.ListAttribute{Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Attributes that are missing in the three, because they are sensitive."},
		"run": text("Id of the run that made this version."),
	}
}

func (s *servicesSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m servicesModelV0
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	m.Services = []serviceFactV0{}
	resp.Diagnostics.Append(s.read(ctx, "Services", m.Site, false, func(store *journal.Store) error {
		return m.read(ctx, store)
	})...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// read takes the services that the model wants from a journal.
func (m *servicesModelV0) read(ctx context.Context, store *journal.Store) error {
	services, err := store.Services(ctx, !m.IncludeDeleted.ValueBool())
	if err != nil {
		return err
	}
	for _, v := range services {
		if !m.Entity.IsNull() && v.Entity != m.Entity.ValueString() || !m.State.IsNull() && v.State != m.State.ValueString() {
			continue
		}
		about := serviceFactV0{
			Name: v.Service, ID: v.ID, Incarnation: int64(v.Incarnation), Entity: v.Entity,
			EntityVersion: int64(v.EntityVersion), Identity: given(v.Identity),
			Lifecycle: v.Lifecycle, State: v.State, Label: given(v.Label), Version: int64(v.Version), Deleted: v.Deleted,
			Redacted: texts(v.Redacted), Updated: v.Time.UTC().Format(time.RFC3339), Run: v.Run,
		}
		about.Candidate, about.Active, about.Rollback, err = setTexts(v)
		if err != nil {
			return err
		}
		m.Services = append(m.Services, about)
	}
	return nil
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
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(set.values); err != nil {
			return nil, nil, nil, fmt.Errorf("service %q: version %d: %w", v.Service, v.Version, err)
		}
		text := string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
		*set.into = &text
	}
	return candidate, active, rollback, nil
}
