package types

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

func TestExecWithoutTimeout(t *testing.T) {
	r := resource.Resource{Type: "exec", Title: "x", Parameters: resource.Parameters{"timeout": int64(0)}}
	if c := (execType{}).command(r, []string{"x"}); c.Timeout >= 0 {
		t.Errorf("timeout 0 gives %s", c.Timeout)
	}
}
