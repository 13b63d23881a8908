package resources

import (
	"math/big"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func bigFloat(n float64) *big.Float { return big.NewFloat(n) }

// nullObject is an object of the type whose attributes are all null.
func nullObject(t *testing.T, typ attr.Type) tftypes.Value {
	t.Helper()
	o, ok := typ.TerraformType(t.Context()).(tftypes.Object)
	if !ok {
		t.Fatalf("%s is no object", typ)
	}
	values := map[string]tftypes.Value{}
	for name, a := range o.AttributeTypes {
		values[name] = tftypes.NewValue(a, nil)
	}
	return tftypes.NewValue(o, values)
}
