package datasources

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/services"
)

func TestUnknownServiceIsWarnedOf(t *testing.T) {
	t.Parallel()
	known := []services.Revision{{Service: "ntp"}, {Service: "web"}}
	for _, c := range []struct {
		service string
		known   []services.Revision
		want    string
	}{
		{"nttp", known, `has no service "nttp", so the log is empty; did you mean "ntp"?`},
		{"mail", known, "A service is in it after the first run"},
		{"ntp", nil, ""},
	} {
		if got := unknown("lon1", c.service, c.known); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q", c.service, got)
		}
	}
}
