package item

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// kinds is what the six kinds of elements have in common and what not.
var kinds = map[Kind]struct {
	items      bool // holds items
	many       bool // any number of them: the element is a collection, an item itself
	references bool // they are inherited
}{
	Property:      {},
	View:          {},
	Child:         {items: true},
	Collection:    {items: true, many: true},
	Reference:     {items: true, references: true},
	RefCollection: {items: true, many: true, references: true},
}

// elementFields lists what counts for some kinds of elements only.
var elementFields = []struct {
	name  string
	set   func(e Element) bool
	kinds []Kind
}{
	{"required", func(e Element) bool { return e.Required }, []Kind{Property, Child, Reference}},
	{"default", func(e Element) bool { return e.Default != nil }, []Kind{Property}},
	{"value", func(e Element) bool { return e.Value != nil }, []Kind{View}},
	{"user_read_only", func(e Element) bool { return e.UserReadOnly }, []Kind{Property}},
	{"plugin_updatable", func(e Element) bool { return e.PluginUpdatable }, []Kind{Property}},
	{"data", func(e Element) bool { return e.Data }, []Kind{Property}},
	{"site_specific", func(e Element) bool { return e.SiteSpecific }, []Kind{Property}},
	{"managed", func(e Element) bool { return e.Managed }, []Kind{Property}},
	{"unique", func(e Element) bool { return e.Unique != "" }, []Kind{Property}},
	{"fold_case", func(e Element) bool { return e.FoldCase }, []Kind{Property}},
	{"ids_of", func(e Element) bool { return e.IDsOf != "" }, []Kind{Property}},
	{"read_only", func(e Element) bool { return e.ReadOnly }, []Kind{Reference, RefCollection}},
	{"permanent", func(e Element) bool { return e.Permanent }, []Kind{Child}},
	{"min", func(e Element) bool { return e.Min != 0 }, []Kind{Collection, RefCollection}},
	{"max", func(e Element) bool { return e.Max != 0 }, []Kind{Collection, RefCollection}},
	{"require", func(e Element) bool { return len(e.Require) > 0 }, []Kind{Child, Collection, Reference, RefCollection}},
}

// element checks one element by itself.
func (c *definitionCheck) element(e Element) {
	kind, known := kinds[e.Kind]
	if !known {
		c.add(e.Name+".kind", site.UnknownType, "%q is not a kind of element; use property, view, child, collection, reference or ref_collection", e.Kind)
		return
	}
	for _, f := range elementFields {
		if f.set(e) && !slices.Contains(f.kinds, e.Kind) {
			c.add(e.Name+"."+f.name, site.BadStructure, "has no meaning for a %s; it belongs to %s", e.Kind, listed(f.kinds))
		}
	}
	switch {
	case kind.items:
		if _, known := c.types[e.Type]; !known {
			c.add(e.Name+".type", site.UnknownType, "%q: no such item type%s", e.Type, meant(resource.Nearest(e.Type, c.typeIDs)))
		}
		if e.Min < 0 || e.limit() < e.Min {
			c.add(e.Name+".min", site.BadValue, "min is %d and max is %d; min must be between 0 and max", e.Min, e.limit())
		}
	case e.Kind == View:
		if e.Type != "" {
			c.add(e.Name+".type", site.BadStructure, "a view has no type; leave it out")
		}
	default:
		c.property(e)
	}
}

func (c *definitionCheck) property(e Element) {
	t := c.properties[e.Type]
	if t == nil {
		c.add(e.Name+".type", site.UnknownType, "%q: no such property type%s", e.Type, meant(resource.Nearest(e.Type, c.propertyIDs)))
	} else if e.Default != nil {
		if m := t.mistake(*e.Default); m != "" {
			c.add(e.Name+".default", site.BadValue, "the default %s", m)
		}
	}
	if e.FoldCase && e.Unique == "" {
		c.add(e.Name+".fold_case", site.BadStructure, "has no meaning without unique")
	}
}

// limit is the largest number of items in a collection.
func (e Element) limit() int {
	if e.Max == 0 {
		return MaxItems
	}
	return e.Max
}

func listed(kinds []Kind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
