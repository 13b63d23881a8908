package document

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// pool reads a pool of a catalog.
func (r *catalogReader) pool(f field, path string) catalog.Pool {
	out := catalog.Pool{Name: f.name}
	r.object(f.value, path, r.poolKeys(&out)...)
	return out
}

// poolKeys are the keys of a pool, named or inline.
func (r *catalogReader) poolKeys(into *catalog.Pool) []key {
	return r.keys(into, key{"integer", false, func(n *yaml.Node, path string) {
		p := new(catalog.IntegerPool)
		into.Integer = p
		r.object(n, path, r.keys(p, key{"excluded", false, listInto(r.reader, &p.Excluded, r.numberOrText)})...)
	}})
}

// allocation reads the allocation of an attribute: from a named or an inline pool.
func (r *catalogReader) allocation(n *yaml.Node, path string) *catalog.Allocation {
	out := new(catalog.Allocation)
	var own catalog.Pool
	ofPool := slices.DeleteFunc(r.poolKeys(&own), func(k key) bool { return k.name == "description" })
	r.object(n, path, r.keys(out, ofPool...)...)
	if own.Integer != nil || own.Address != nil || own.Prefix != nil || own.Pick != "" {
		out.Own = &own
	}
	return out
}

// numberOrText reads an item of a list that may be a number.
func (r *reader) numberOrText(n *yaml.Node, path string) string {
	value, ok := r.value(n, path, 0)
	switch value.(type) {
	case int64, string:
		return fmt.Sprint(value)
	}
	if ok {
		r.wrongKind(n, r.resolve(n), path, "a number or a range in quotes, such as \"10-19\"")
	}
	return ""
}
