package resources

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Plain returns a value that is known as strings, bools, int64, float64, []any and map[string]any. What is null is nil;
// in objects and maps it is left out, because there null means not given.
func Plain(v tftypes.Value) (any, error) {
	if !v.IsKnown() {
		return nil, errors.New("holds a value that is not known yet")
	}
	if v.IsNull() {
		return nil, nil
	}
	var (
		members  map[string]tftypes.Value
		elements []tftypes.Value
		number   big.Float
		text     string
		flag     bool
	)
	switch {
	case v.As(&text) == nil:
		return text, nil
	case v.As(&flag) == nil:
		return flag, nil
	case v.As(&number) == nil:
		return planresource.Number(&number), nil
	case v.As(&members) == nil:
		out := make(map[string]any, len(members))
		for _, key := range slices.Sorted(maps.Keys(members)) {
			value, err := Plain(members[key])
			if err != nil {
				return nil, err
			}
			if value != nil {
				out[key] = value
			}
		}
		return out, nil
	case v.As(&elements) == nil:
		out := make([]any, len(elements))
		for i, e := range elements {
			value, err := Plain(e)
			if err != nil {
				return nil, err
			}
			out[i] = value
		}
		return out, nil
	}
	return nil, fmt.Errorf("holds a value of the type %s, which no document has", v.Type())
}
