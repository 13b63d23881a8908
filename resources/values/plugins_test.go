package values

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func TestPluginsFrom(t *testing.T) {
	v := hcl{t.Context()}
	task := func(timeout attr.Value) attr.Value {
		return v.object(members("role", str("*"), "stage", str("pre_deployment"), "type", str("shell"), "fail_on_error", str("false"),
			"parameters", v.object(members("cmd", number(1), "timeout", timeout, "cwd", types.StringNull()))))
	}
	whole := func(timeout attr.Value) attr.Value {
		return v.object(members("name", str("net"), "version", str("1.0"), "path", str("/plugins/net"), "tasks", v.tuple(task(timeout)), "graph_tasks", types.ListNull(types.StringType),
			"files", types.MapValueMust(types.StringType, map[string]attr.Value{"a": str("eA==")})))
	}
	want := site.Plugin{Name: "net", Version: "1.0", AllowUnknownTasks: true, Files: map[string]string{"a": "eA=="}, Tasks: []site.Task{
		{Role: []string{"*"}, Stage: "pre_deployment", Type: "shell", Parameters: site.Parameters{"cmd": "1", "timeout": int64(5)}},
	}}
	for name, tt := range map[string]struct {
		in      types.Dynamic
		want    []site.Plugin
		unknown bool
		diags   string
	}{
		"null":           {in: types.DynamicNull()},
		"unknown":        {in: types.DynamicUnknown(), unknown: true},
		"empty":          {in: types.DynamicValue(v.tuple()), want: []site.Plugin{}},
		"a list":         {in: types.DynamicValue(v.tuple(whole(number(5)))), want: []site.Plugin{want}},
		"a map":          {in: types.DynamicValue(v.object(map[string]attr.Value{"x": whole(str("5"))})), want: []site.Plugin{want}},
		"unknown inside": {in: types.DynamicValue(v.tuple(whole(types.StringUnknown()))), unknown: true},
		"one plugin":     {in: types.DynamicValue(whole(number(5))), diags: "plugins: is one plugin; put it into a list: plugins = [data.slipway_plugin.example]."},
		"no number":      {in: types.DynamicValue(v.tuple(v.object(members("name", str("p"), "tasks", number(5))))), diags: `plugin "p", tasks: is a number; write a list.`},
		"no name":        {in: types.DynamicValue(v.object(map[string]attr.Value{"k": v.object(members("version", str("1")))})), diags: `plugins["k"].name: is required.`},
		"null inside":    {in: types.DynamicValue(v.tuple(types.StringNull())), diags: "plugins[0]: is null; leave it out instead."},
	} {
		t.Run(name, func(t *testing.T) {
			got, known, diags := From(t.Context(), tt.in, (*document.Values).Plugins)
			if known == tt.unknown {
				t.Errorf("known is %t", known)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if got := details(diags); (tt.diags == "") != (got == "") || !strings.HasSuffix(got, tt.diags) {
				t.Errorf("got %s, want %s", got, tt.diags)
			}
		})
	}
}
