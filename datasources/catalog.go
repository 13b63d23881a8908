package datasources

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/resources/values"
)

// NewCatalog returns slipway_catalog: entities of catalog documents, each ready for the services that are of it.
func NewCatalog() datasource.DataSource { return catalogSource{"catalog"} }

type catalogSource struct{ named }

type catalogModelV0 struct {
	Documents types.List          `tfsdk:"documents"`
	Entities  map[string]entityV0 `tfsdk:"entities"`
	Ordering  *string             `tfsdk:"ordering"`
}

// entityV0 is an entity. Its name and definition are what a service keeps; the rest is for people.
type entityV0 struct {
	Name        string              `tfsdk:"name"`
	Description *string             `tfsdk:"description"`
	Version     int64               `tfsdk:"version"`
	Abstract    bool                `tfsdk:"abstract"`
	Lifecycle   string              `tfsdk:"lifecycle"`
	Section     string              `tfsdk:"section"`
	Digest      string              `tfsdk:"digest"`
	Definition  string              `tfsdk:"definition"`
	Attributes  []entityAttributeV0 `tfsdk:"attributes"`
}

type entityAttributeV0 struct {
	Name        string  `tfsdk:"name"`
	Type        string  `tfsdk:"type"`
	Modifier    string  `tfsdk:"modifier"`
	Required    bool    `tfsdk:"required"`
	Default     *string `tfsdk:"default"`
	Sensitive   bool    `tfsdk:"sensitive"`
	Description *string `tfsdk:"description"`
}

func (catalogSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A catalog: types of services, which `slipway_service` takes in `entity`. It connects to nothing. Everything that is wrong with the documents is reported, with document, line and column.",
		Attributes: map[string]schema.Attribute{
			"documents": schema.ListAttribute{Required: true, ElementType: types.StringType,
				MarkdownDescription: "Texts of YAML documents: `[file(\"catalog/ntp.yaml\")]`. All of them make one catalog.",
				Validators:          []validator.List{listvalidator.SizeAtLeast(1), values.NoNulls{}}},
			"ordering": text("What the documents say of the order of tasks beyond their requirements, as JSON: `ordering` of `slipway_deployment` takes it as it is. Null when they say nothing."),
			"entities": schema.MapNestedAttribute{Computed: true, MarkdownDescription: "The entities, by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"name":        text("Name of the entity."),
					"description": text("What the document says of it."),
					"version":     number("Version of the entity."),
					"abstract":    flag("Whether it is only there to be extended or embedded: no service is of it."),
					"lifecycle":   text("Lifecycle that its services go through."),
					"section":     text("Section of a node in which its tasks stand."),
					"digest":      text("SHA-256 of the definition."),
					"definition": schema.StringAttribute{Computed: true, Sensitive: true,
						MarkdownDescription: "The entity with all that it extends, as JSON: what a service keeps of it. Plans do not show it: it is long, and holds the " +
							"defaults of sensitive attributes."},
					"attributes": objects("Its attributes with those of embedded entities, in the order of the documents.", map[string]schema.Attribute{
						"name":        text("Name; that of a child's attribute stands behind its parent's: `servers.address`."),
						"type":        text("Type as in the document; `object` or `object[]` for an embedded entity, `service` or `service[]` for a relation."),
						"modifier":    text("`rw`: set when the service is made. `rw+`: may be changed. `r`: set by slipway."),
						"required":    flag("Whether the user must give it."),
						"default":     text("Default, as JSON; null where there is none, or where it is sensitive."),
						"sensitive":   flag("Whether it is never shown."),
						"description": text("What the document says of it."),
					}),
				}}},
		},
	}
}

func (catalogSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m catalogModelV0
	if !asked(ctx, req, resp, map[string]any{"documents": &m.Documents}) {
		return
	}
	var documents []string
	resp.Diagnostics.Append(m.Documents.ElementsAs(ctx, &documents, false)...)
	c := catalogOf(documents, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	m.Entities = make(map[string]entityV0, len(c.Entities))
	for _, e := range c.Entities {
		described, err := entityModel(e)
		if err != nil {
			resp.Diagnostics.AddAttributeError(path.Root("documents"), "Invalid catalog", err.Error())
			return
		}
		m.Entities[e.Name] = described
	}
	if !c.Ordering.Empty() {
		rules, err := c.Ordering.Definition()
		if err != nil {
			resp.Diagnostics.AddAttributeError(path.Root("documents"), "Invalid catalog", err.Error())
			return
		}
		m.Ordering = &rules
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// catalogOf reads documents into one catalog. Errors name the document.
func catalogOf(documents []string, diags *diag.Diagnostics) *catalog.Catalog {
	const name = "documents[%d]"
	sources := make([]document.Source, len(documents))
	for i, text := range documents {
		sources[i] = document.Source{Name: fmt.Sprintf(name, i), Data: []byte(text)}
	}
	c, err := document.ParseCatalog(sources)
	var errs invalid.Errors
	switch {
	case errors.As(err, &errs):
		for _, p := range errs {
			at, i := path.Root("documents"), 0
			if n, err := fmt.Sscanf(p.File, name, &i); n == 1 && err == nil {
				at = at.AtListIndex(i)
			}
			diags.AddAttributeError(at, "Invalid catalog", p.Error())
		}
		return nil
	case err != nil:
		diags.AddAttributeError(path.Root("documents"), "Invalid catalog", err.Error())
		return nil
	}
	return c.Catalog
}

func entityModel(e catalog.Entity) (entityV0, error) {
	m := entityV0{
		Name: e.Name, Description: given(e.Description), Version: int64(e.Version), Abstract: e.Abstract,
		Lifecycle: e.Lifecycle, Section: string(e.Section),
		Attributes: []entityAttributeV0{},
	}
	var err error
	if m.Definition, err = e.Definition(); err != nil {
		return m, err
	}
	if m.Digest, err = e.Digest(); err != nil {
		return m, err
	}
	m.Attributes, err = describe(m.Attributes, "", e.Structure)
	return m, err
}

// describe adds what people want to know of a structure.
func describe(to []entityAttributeV0, at string, s catalog.Structure) ([]entityAttributeV0, error) {
	for _, a := range s.Attributes {
		m := entityAttributeV0{
			Name: at + a.Name, Type: a.Type.Name, Modifier: string(a.Modifier),
			Required:  !a.HasDefault && a.Modifier != catalog.Allocated,
			Sensitive: a.Sensitive, Description: given(a.Description),
		}
		if a.HasDefault && !a.Sensitive {
			text, err := resource.CompactJSON(a.Default)
			if err != nil {
				return nil, fmt.Errorf("default of %s: %w", m.Name, err)
			}
			m.Default = &text
		}
		to = append(to, m)
	}
	for _, e := range s.Embedded {
		to = append(to, entityAttributeV0{
			Name: at + e.Name, Type: several("object", e.Single()), Modifier: string(e.Modifier),
			Required:    e.Lower > 0 && e.Modifier != catalog.Allocated,
			Description: given(e.Description),
		})
		var err error
		if to, err = describe(to, at+e.Name+".", e.Structure); err != nil {
			return nil, err
		}
	}
	for _, r := range s.Relations {
		to = append(to, entityAttributeV0{
			Name: at + r.Name, Type: several("service", r.Single()), Modifier: string(r.Modifier),
			Required:    r.Lower > 0 && r.Modifier != catalog.Allocated,
			Description: given(r.Description),
		})
	}
	return to, nil
}

func several(what string, single bool) string {
	if single {
		return what
	}
	return what + "[]"
}
