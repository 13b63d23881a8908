package resources

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// PluginsFrom reads the plugins of a deployment: what data.slipway_plugin gives, or objects with the keys of a plugin's
// document (`tasks` is what yamldecode makes of a tasks.yaml). See the functions in from.go for what it returns.
func PluginsFrom(ctx context.Context, at path.Path, v attr.Value) (plugins []site.Plugin, known bool,
	diags diag.Diagnostics) {
	raw, err := opened(ctx, v)
	if err != nil {
		diags.AddAttributeError(at, "Invalid "+at.String(), err.Error())
		return nil, false, diags
	}
	if !raw.IsKnown() {
		return nil, false, nil
	}
	if raw.IsNull() {
		return nil, true, nil
	}
	members, wrong := membersOf(at.String(), "plugin", raw)
	if wrong != nil {
		wrong.Message = strings.ReplaceAll(wrong.Message, "slipway_plugin", "data.slipway_plugin")
		diags.Append(diagnostic(at, *wrong, where(*wrong)+": "+wrong.Message))
		return nil, true, diags
	}
	known, plugins = true, make([]site.Plugin, 0, len(members))
	for _, m := range members {
		if !m.value.IsFullyKnown() {
			known = false
			continue
		}
		p, err := pluginOf(m.value)
		plugins = append(plugins, p)
		for _, wrong := range errsOf(err) {
			wrong.Object, wrong.Name = "plugin", p.Name
			if p.Name == "" {
				wrong.Object, wrong.Attribute = "deployment", under(m.key, wrong.Attribute)
			}
			diags.Append(diagnostic(at, wrong, where(wrong)+": "+wrong.Message))
		}
	}
	if !known || diags.HasError() {
		return nil, known, diags
	}
	return plugins, true, diags
}

// pluginOf reads one plugin.
func pluginOf(v tftypes.Value) (site.Plugin, error) {
	value, err := Plain(v)
	if err != nil {
		return site.Plugin{}, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return site.Plugin{}, err
	}
	return document.PluginValue(data)
}

// errsOf returns what is wrong with a value that was read as a document: by path, because the user never saw lines
// and columns of it.
func errsOf(err error) []invalid.Error {
	var found invalid.Errors
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &found):
		return []invalid.Error{{Code: invalid.BadStructure, Message: err.Error()}}
	}
	out := make([]invalid.Error, len(found))
	for i, p := range found {
		out[i] = invalid.Error{Attribute: p.Path(), Code: p.Code, Message: p.Message}
		if p.Code == document.Schema {
			out[i].Code = invalid.BadStructure
		}
	}
	return out
}
