package passthrough

import "github.com/hashicorp/terraform-plugin-go/tftypes"

// Same reports whether two values are equal but for attributes of objects that are null in one and missing in the
// other. A later version of slipway adds such attributes to its resources, and so to what a state has of them.
func (v Value) Same(o Value) bool {
	if v.Equal(o) {
		return true
	}
	a, err := v.Decode()
	if err != nil {
		return false
	}
	b, err := o.Decode()
	return err == nil && same(a, b)
}

func same(a, b tftypes.Value) bool {
	if a.IsNull() || b.IsNull() || !a.IsKnown() || !b.IsKnown() {
		return a.IsNull() && b.IsNull() || a.Equal(b)
	}
	var left, right map[string]tftypes.Value
	if a.Type().Is(tftypes.Object{}) && b.Type().Is(tftypes.Object{}) {
		if a.As(&left) != nil || b.As(&right) != nil {
			return false
		}
		return sameAttributes(left, right) && sameAttributes(right, left)
	}
	if a.Type().Is(tftypes.Map{}) && b.Type().Is(tftypes.Map{}) {
		if a.As(&left) != nil || b.As(&right) != nil || len(left) != len(right) {
			return false
		}
		for key, value := range left {
			if other, ok := right[key]; !ok || !same(value, other) {
				return false
			}
		}
		return true
	}
	var first, second []tftypes.Value
	if a.As(&first) != nil || b.As(&second) != nil {
		return a.Equal(b)
	}
	if len(first) != len(second) {
		return false
	}
	for i := range first {
		if !same(first[i], second[i]) {
			return false
		}
	}
	return true
}

// sameAttributes reports whether each attribute of an object is the same in another, or null and missing there.
func sameAttributes(object, other map[string]tftypes.Value) bool {
	for name, value := range object {
		if there, ok := other[name]; ok && !same(value, there) || !ok && !value.IsNull() {
			return false
		}
	}
	return true
}
