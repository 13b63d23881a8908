package resources

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A service that is written by hand may leave configuration out; it stays as it is when it is known.
func TestLackingTakesAServiceWithoutConfiguration(t *testing.T) {
	service := objectOf(map[string]tftypes.Value{
		"name":   tftypes.NewValue(tftypes.String, "ntp"),
		"entity": objectOf(map[string]tftypes.Value{"definition": tftypes.NewValue(tftypes.String, "{}")}),
	})
	var l lacking
	known, ok := l.service(t.Context(), entry{"services[0]", service})
	if !ok || !known.Equal(service) || l.services != (share{0, 1}) || !l.brings.none() {
		t.Errorf("got %s, %v, %+v", known, ok, l)
	}
}
