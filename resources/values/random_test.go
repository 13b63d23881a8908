package values

import (
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// random makes values of any type, with null and, where allowed, unknown values at any depth.
type random struct {
	*rand.Rand
	unknown bool
}

var texts = []string{"", "a", "name", "ü\x00\n", "\u2028\"quoted\"", "nodes[0].address", "\U0001F6A2", strings.Repeat("long ", 100), `{"type":"string","value":1}`}

var numbers = []string{"0", "-0.5", "1", "127", "128", "-129", "65536", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-1e30", "0.1", "1e400",
	"3.14159265358979323846264338327950288419716939937510582097494459", "123456789012345678901234567890.123456789", "1e-400", "4.9e-324"}

func (r random) typ(depth int) tftypes.Type {
	kind := r.IntN(8)
	if depth <= 0 {
		kind = r.IntN(3)
	}
	switch kind {
	case 0:
		return tftypes.String
	case 1:
		return tftypes.Number
	case 2:
		return tftypes.Bool
	case 3:
		return tftypes.List{ElementType: r.typ(depth - 1)}
	case 4:
		return tftypes.Set{ElementType: r.typ(depth - 1)}
	case 5:
		return tftypes.Map{ElementType: r.typ(depth - 1)}
	case 6:
		members := map[string]tftypes.Type{}
		for range r.IntN(5) {
			members[texts[r.IntN(len(texts))]] = r.typ(depth - 1)
		}
		return tftypes.Object{AttributeTypes: members}
	}
	elements := make([]tftypes.Type, r.IntN(5))
	for i := range elements {
		elements[i] = r.typ(depth - 1)
	}
	return tftypes.Tuple{ElementTypes: elements}
}

func (r random) value(typ tftypes.Type) tftypes.Value {
	switch dice := r.IntN(12); {
	case dice == 0:
		return tftypes.NewValue(typ, nil)
	case dice == 1 && r.unknown:
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	}
	switch typ := typ.(type) {
	case tftypes.List:
		return tftypes.NewValue(typ, r.elements(typ.ElementType))
	case tftypes.Set:
		return tftypes.NewValue(typ, r.elements(typ.ElementType))
	case tftypes.Map:
		members := map[string]tftypes.Value{}
		for range r.IntN(4) {
			members[texts[r.IntN(len(texts))]] = r.value(typ.ElementType)
		}
		return tftypes.NewValue(typ, members)
	case tftypes.Object:
		members := map[string]tftypes.Value{}
		for name, member := range typ.AttributeTypes {
			members[name] = r.value(member)
		}
		return tftypes.NewValue(typ, members)
	case tftypes.Tuple:
		elements := make([]tftypes.Value, len(typ.ElementTypes))
		for i, element := range typ.ElementTypes {
			elements[i] = r.value(element)
		}
		return tftypes.NewValue(typ, elements)
	}
	switch {
	case typ.Is(tftypes.Bool):
		return tftypes.NewValue(typ, r.IntN(2) == 0)
	case typ.Is(tftypes.Number):
		n, _, err := big.ParseFloat(numbers[r.IntN(len(numbers))], 10, 512, big.ToNearestEven)
		if err != nil {
			panic(err)
		}
		return tftypes.NewValue(typ, n)
	}
	return tftypes.NewValue(typ, texts[r.IntN(len(texts))])
}

func (r random) elements(typ tftypes.Type) []tftypes.Value {
	out := make([]tftypes.Value, r.IntN(4))
	for i := range out {
		out[i] = r.value(typ)
	}
	return out
}

// any is a value of any type, or one without a type that is null or unknown.
func (r random) any() tftypes.Value {
	switch dice := r.IntN(20); {
	case dice == 0:
		return tftypes.NewValue(tftypes.DynamicPseudoType, nil)
	case dice == 1 && r.unknown:
		return tftypes.NewValue(tftypes.DynamicPseudoType, tftypes.UnknownValue)
	}
	return r.value(r.typ(4))
}
