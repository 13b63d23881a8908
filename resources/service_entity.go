package resources

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// entities are the entities of several services by definition, so that each is read once. One that is wrong is nil.
type entities map[string]*catalog.Entity

// parse reads the entity of a service. With errors there is none.
func (known entities) parse(m entityModelV0) (*catalog.Entity, invalid.Errors) {
	definition := m.Definition.ValueString()
	e, ok := known[definition]
	var errs invalid.Errors
	report := func(at string, code invalid.Code, message string) {
		errs = append(errs, invalid.Error{Object: "service", Attribute: at, Code: code, Message: message})
	}
	if !ok || e == nil {
		var faults []invalid.Error
		e, faults = catalog.ParseDefinition(definition)
		for _, m := range faults {
			report("entity.definition", m.Code, m.Error())
		}
		known[definition] = e
	}
	switch {
	case e == nil:
	case !m.Name.IsNull() && m.Name.ValueString() != e.Name:
		report("entity.name", invalid.BadValue,
			fmt.Sprintf("is %q, but the definition is that of %q; give the value of an entity of a catalog, as it is",
				m.Name.ValueString(), e.Name))
	case !m.Digest.IsNull() && !digestIs(e, m.Digest.ValueString()):
		report("entity.digest", invalid.BadValue,
			"is not that of the definition; give the value of an entity of a catalog, as it is")
	case e.Abstract:
		report("entity", invalid.BadValue,
			fmt.Sprintf("%q is abstract: it is only there to be extended; give an entity that extends it", e.Name))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return e, nil
}

// digestIs reports whether an entity has a digest.
func digestIs(e *catalog.Entity, digest string) bool {
	own, err := e.Digest()
	return err == nil && own == digest
}

// presence says whether an attribute is given.
type presence int

const (
	absent presence = iota
	present
	perhaps // it is not known whether it is null
)

func given(yes bool) presence {
	if yes {
		return present
	}
	return absent
}

func givenValue(v attr.Value) presence {
	if v.IsUnknown() {
		return perhaps
	}
	return given(!v.IsNull())
}

// oneSource sees that a service is of an entity, or has configuration, and not both.
func oneSource(entity, attributes, configuration presence) invalid.Errors {
	wrong := func(at string, code invalid.Code, message string) invalid.Errors {
		return invalid.Errors{{Object: "service", Attribute: at, Code: code, Message: message}}
	}
	switch {
	case entity == absent && configuration == absent && attributes == present:
		return wrong("entity", invalid.MissingField, "is required: attributes are those of an entity")
	case entity == absent && configuration == absent:
		return wrong("", invalid.MissingField, "brings nothing; give entity, with attributes, or configuration")
	case entity == present && configuration == present:
		return wrong("configuration", invalid.BadStructure,
			"stands beside entity; a service is of an entity or has configuration: leave one out, and place two services where both are meant")
	case entity == absent && attributes == present:
		return wrong("attributes", invalid.BadStructure,
			"stands beside configuration; attributes are those of an entity: leave them out, or give entity in place of configuration")
	}
	return nil
}

// validateService checks a configuration as far as it is known.
func validateService(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var entity types.Object
	var attributes, configuration types.Dynamic
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("entity"), &entity)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("attributes"), &attributes)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("configuration"), &configuration)...)
	if resp.Diagnostics.HasError() {
		return
	}
	report := func(errs invalid.Errors) {
		for _, p := range errs {
			// Terraform shows the line of a top-level attribute; for a place inside of one it only finds the beginning
			// of the resource.
			name, _, _ := strings.Cut(p.Attribute, ".")
			at, detail := path.Root(name), p.Attribute+": "+p.Message
			if name == "" {
				at, detail = path.Empty(), "The service "+p.Message
			}
			resp.Diagnostics.Append(diagnostic(at, p, detail))
		}
	}
	report(oneSource(givenValue(entity), givenValue(attributes), givenValue(configuration)))
	if entity.IsNull() {
		var l, state types.String
		var gates types.Map
		var rollback types.Bool
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root(lifecycleAttribute), &l)...)
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("target_state"), &state)...)
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("gates"), &gates)...)
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("rollback_on_failure"), &rollback)...)
		report(ofEntities(map[string]presence{
			lifecycleAttribute: givenValue(l), "gates": givenValue(gates), "rollback_on_failure": givenValue(rollback),
			"target_state": givenValue(state),
		}))
	}
	if entity.IsNull() || entity.IsUnknown() {
		return
	}
	var m entityModelV0
	resp.Diagnostics.Append(entity.As(ctx, &m, asGiven)...)
	if resp.Diagnostics.HasError() || m.Definition.IsUnknown() || m.Name.IsUnknown() || m.Digest.IsUnknown() {
		return
	}
	e, errs := entities{}.parse(m)
	report(errs)
	if e == nil {
		return
	}
	value, err := attributes.ToTerraformValue(ctx)
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("attributes"), "Invalid attributes", err.Error())
		return
	}
	read := attributesOf(value)
	if report(read.errs()); read.wrong == nil {
		report(attributeErrors(read.check(e)))
	}
}
