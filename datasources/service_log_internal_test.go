package datasources

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
)

func TestUnknownServiceIsWarnedOf(t *testing.T) {
	t.Parallel()
	known := []journal.ServiceVersion{{Service: "ntp"}, {Service: "web"}}
	for _, c := range []struct {
		service string
		known   []journal.ServiceVersion
		want    string
	}{
		{"nttp", known, `has no service "nttp", so the log is empty; did you mean "ntp"?`},
		{"mail", known, "A service is in it after the first run"},
		{"ntp", nil, ""},
	} {
		m := serviceLogModelV0{Site: types.StringValue("lon1"), Service: types.StringValue(c.service)}
		if got := m.unknown(c.known); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q", c.service, got)
		}
	}
}
