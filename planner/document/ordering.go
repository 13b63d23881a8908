package document

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// orderingObject is the object of errors with the ordering rules of a catalog. Each rule has a position by its kind
// and its index in the whole catalog: `waits[0]`.
const orderingObject = "ordering"

// ordering reads the ordering rules of tasks.
func (r *catalogReader) ordering(n *yaml.Node, path string) {
	o := &r.definitions.Ordering
	r.add(orderingObject, "", n, n)
	rule := func(kind string, own int, n *yaml.Node) {
		// Rules of this document and of earlier ones come before it.
		for number := own; number < catalog.MaxRules; number++ {
			if name := index(kind, number); len(r.places[[2]string{orderingObject, name}]) == 0 {
				r.add(orderingObject, name, n, n)
				return
			}
		}
	}
	r.object(n, path,
		key{"classes", false, r.each(func(n *yaml.Node, path string) {
			var c catalog.Class
			rule("classes", len(o.Classes), n)
			r.object(n, path, key{"name", true, r.intoText(&c.Name)}, key{"tasks", true, r.selector(&c.Tasks)})
			o.Classes = append(o.Classes, c)
		})},
		key{"waits", false, r.each(func(n *yaml.Node, path string) {
			var w catalog.Wait
			rule("waits", len(o.Waits), n)
			r.object(n, path, key{"tasks", true, r.selector(&w.Tasks)}, key{"for", true, r.selector(&w.For)})
			o.Waits = append(o.Waits, w)
		})},
		key{"unordered", false, r.each(func(n *yaml.Node, path string) {
			rule("unordered", len(o.Unordered), n)
			typ, _ := r.text(n, path)
			o.Unordered = append(o.Unordered, typ)
		})},
		key{"counts_as", false, r.each(func(n *yaml.Node, path string) {
			var c catalog.Counting
			rule("counts_as", len(o.Counts), n)
			r.object(n, path, key{"tasks", true, r.selector(&c.Tasks)},
				key{"section", true, intoNamed(r.reader, &c.Section)})
			o.Counts = append(o.Counts, c)
		})},
	)
}

// selector reads a selector of tasks.
func (r *reader) selector(into *catalog.Selector) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		r.object(n, path,
			key{"types", false, r.intoTexts(&into.Types)},
			key{"entities", false, r.intoTexts(&into.Entities)},
			key{"sections", false, r.each(func(n *yaml.Node, path string) {
				text, _ := r.text(n, path)
				into.Sections = append(into.Sections, catalog.Section(text))
			})},
		)
	}
}

// rule splits the path of an error into the rule that has a position, and the rest. The rules as a whole have a
// position too.
func (ps catalogPlaces) rule(path string) (name, rest string) {
	name, rest, found := strings.Cut(path, "]")
	if name += "]"; !found || len(ps[[2]string{orderingObject, name}]) == 0 {
		return "", path
	}
	return name, strings.TrimPrefix(rest, ".")
}

// locateRule returns the position of an error of the site with an ordering rule.
func (s *Site) locateRule(p invalid.Error) (invalid.Error, bool) {
	path, ok := strings.CutPrefix(p.Attribute, orderingObject)
	if s.catalog == nil || p.Object != deployment || !ok {
		return invalid.Error{}, false
	}
	found := s.catalog.places.locate(invalid.Error{Object: orderingObject, Attribute: strings.TrimPrefix(path, "."),
		Code: p.Code, Message: p.Message})
	found.Warning = p.Warning
	return found, found.File != ""
}

// orderingText reads the attribute ordering of a deployment: a catalog's rules as JSON.
func (r *reader) orderingText(n *yaml.Node, path string) *catalog.Ordering {
	text, ok := r.text(n, path)
	if !ok {
		return nil
	}
	o, errs := catalog.ParseOrdering(text)
	for _, m := range errs {
		r.report(n, path, m.Code, "%s", m.Error())
	}
	return o
}
