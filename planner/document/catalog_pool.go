package document

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// pool reads a pool of a catalog.
func (r *catalogReader) pool(name string, n *yaml.Node, path string) catalog.Pool {
	out := catalog.Pool{Name: name}
	r.object(n, path, append(r.poolKeys(&out), key{"description", false, r.intoText(&out.Description)})...)
	return out
}

// poolKeys are the keys of a pool, named or inline.
func (r *catalogReader) poolKeys(into *catalog.Pool) []key {
	return []key{
		{"integer", false, func(n *yaml.Node, path string) {
			p := new(catalog.IntegerPool)
			into.Integer = p
			r.object(n, path, key{"from", true, r.intoWhole(&p.From)}, key{"to", true, r.intoWhole(&p.To)},
				key{"excluded", false, func(n *yaml.Node, path string) { p.Excluded = r.numbersOrTexts(n, path) }})
		}},
		{"address", false, func(n *yaml.Node, path string) {
			p := new(catalog.AddressPool)
			into.Address = p
			r.object(n, path, key{"networks", true, r.intoTexts(&p.Networks)},
				key{"excluded", false, r.intoTexts(&p.Excluded)},
				key{"whole", false, r.intoBoolean(&p.Whole)})
		}},
		{"prefix", false, func(n *yaml.Node, path string) {
			p := new(catalog.PrefixPool)
			into.Prefix = p
			r.object(n, path, key{"networks", true, r.intoTexts(&p.Networks)},
				key{"length", true, r.intoCount(&p.Length)},
				key{"excluded", false, r.intoTexts(&p.Excluded)})
		}},
		{"pick", false, intoNamed(r.reader, &into.Pick)},
	}
}

// allocation reads the allocation of an attribute: from a named or an inline pool.
func (r *catalogReader) allocation(n *yaml.Node, path string) *catalog.Allocation {
	out := new(catalog.Allocation)
	var own catalog.Pool
	keys := append(r.poolKeys(&own), key{"pool", false, r.intoText(&out.Pool)},
		key{"per", false, r.intoTexts(&out.Per)})
	r.object(n, path, keys...)
	if own.Integer != nil || own.Address != nil || own.Prefix != nil || own.Pick != "" {
		out.Own = &own
	}
	return out
}

// intoWhole reads a signed 64-bit integer.
func (r *reader) intoWhole(target *int64) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		value, ok := r.value(n, path, 0)
		number, whole := value.(int64)
		if ok && !whole {
			r.wrongKind(n, r.resolve(n), path, "a whole number")
		}
		*target = number
	}
}

// numbersOrTexts reads a list whose items may be numbers.
func (r *reader) numbersOrTexts(n *yaml.Node, path string) []string {
	var out []string
	for i, element := range r.list(n, path) {
		switch v, ok := r.value(element, index(path, i), 0); value := v.(type) {
		case int64:
			out = append(out, fmt.Sprint(value))
		case string:
			out = append(out, value)
		default:
			if ok {
				r.wrongKind(element, r.resolve(element), index(path, i),
					"a number or a range in quotes, such as \"10-19\"")
			}
		}
	}
	return out
}
