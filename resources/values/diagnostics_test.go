package values

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

func TestDiagnostics(t *testing.T) {
	errs := invalid.Errors{
		{Object: "group", Name: "a", Attribute: "depends_on_groups[0]", Code: invalid.UnknownDependency, Message: `there is no group "b"; did you mean "c"?`},
		{Object: "service", Name: "s", Attribute: `configuration.file["/x"].mode`, Code: invalid.BadParameter, Message: "must be a string, in quotes, not 644"},
		{Object: "group", Name: "a", Code: invalid.NoNodes, Message: "no node is selected", Warning: true},
		{Object: "node", Name: "n", Attribute: "connection.port", Code: invalid.BadValue, Message: "0 is not a port"},
		{Object: "deployment", Name: "lon1", Attribute: "site", Code: invalid.BadName, Message: "a name is needed"},
		{Object: "plugin", Name: "p", Attribute: "tasks[0].type", Code: invalid.UnknownType, Message: `there is no task type "shel"`, Warning: true},
		{Object: "deployment", Name: "lon1", Code: "new_code", Message: "all wrong"},
	}
	const want = `groups| Unknown group| group "a", depends_on_groups[0]: there is no group "b"; did you mean "c"?
services| Invalid parameter| service "s", configuration.file["/x"].mode: must be a string, in quotes, not 644.
groups| No node selected| group "a": no node is selected.
nodes| Invalid value| node "n", connect.port: 0 is not a port.
site| Invalid name| site: a name is needed.
plugins| Unknown task type| plugin "p", tasks[0].type: there is no task type "shel".
| Invalid deployment| deployment "lon1": all wrong.`
	got := Diagnostics(errs)
	if diff := cmp.Diff(want, details(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, d := range got {
		if warning := d.Severity() == diag.SeverityWarning; warning != errs[i].Warning {
			t.Errorf("%s: warning = %v", d.Detail(), warning)
		}
	}
}
