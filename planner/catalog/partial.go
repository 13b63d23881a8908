package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Partial are attributes of a service as far as they are known.
type Partial struct {
	Given map[string]any // without null, and without what is not known, which is nil in a list
	// Unknown are the places of what is not known yet, `servers[1].address`; empty for the whole.
	Unknown []string
}

// PartOf returns what is known of attributes as Terraform has them, with [resource.Unknown] for what is not.
func PartOf(attributes any) (p Partial) {
	p.Given, _ = p.known("", attributes).(map[string]any)
	return p
}

func (p *Partial) known(at string, v any) any {
	switch v := v.(type) {
	case resource.Unknown:
		p.Unknown = append(p.Unknown, at)
		return nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = p.known(fmt.Sprintf("%s[%d]", at, i), e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if value := p.known(strings.TrimPrefix(at+"."+name, "."), v[name]); value != nil {
				out[name] = value
			}
		}
		return out
	}
	return v
}

// Check returns what is wrong with the attributes of a service of an entity. What depends on anything unknown is left
// for later.
func (p Partial) Check(e *Entity) []invalid.Error {
	given := e.FillNulls(p.Given)
	_, wrong := e.Check(given)
	return slices.DeleteFunc(append(wrong, e.ReadOnly(given)...), p.early)
}

// early reports whether an error may be none once everything is known.
func (p Partial) early(m invalid.Error) bool {
	return slices.ContainsFunc(p.Unknown, func(unknown string) bool {
		// These look at all that is inside.
		whole := m.Code == DuplicateKey || m.Code == ValidationFailed
		return inside(m.Attribute, unknown) || whole && inside(unknown, m.Attribute)
	})
}

// inside reports whether a place is inside of another one, or the same.
func inside(place, other string) bool {
	rest, ok := strings.CutPrefix(place, other)
	return ok && (rest == "" || other == "" || rest[0] == '.' || rest[0] == '[')
}
