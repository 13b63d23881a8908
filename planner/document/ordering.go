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
func (r *catalogReader) ordering(o *catalog.Ordering, n *yaml.Node, path string) {
	r.add(orderingObject, "", n, n)
	r.object(n, path,
		key{"classes", false, rulesInto(r, "classes", &o.Classes)},
		key{"waits", false, rulesInto(r, "waits", &o.Waits)},
		key{"unordered", false, rulesInto(r, "unordered", &o.Unordered)},
		key{"counts_as", false, rulesInto(r, "counts_as", &o.Counts)},
	)
}

// rulesInto reads the rules of a kind and notes their positions.
func rulesInto[T any](r *catalogReader, kind string, target *[]T) readFunc {
	return listInto(r.reader, target, func(n *yaml.Node, path string) (rule T) {
		// Rules of this document and of earlier ones come before it.
		for number := len(*target); number < catalog.MaxRules; number++ {
			if name := index(kind, number); len(r.out.places[[2]string{orderingObject, name}]) == 0 {
				r.add(orderingObject, name, n, n)
				break
			}
		}
		r.into(&rule)(n, path)
		return rule
	})
}

// rule splits the path of an error into the rule that has a position, and the rest. The rules as a whole have a
// position too.
func (ps places) rule(path string) (name, rest string) {
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
func (r *reader) orderingText(s *Site) readFunc {
	return func(n *yaml.Node, path string) {
		text, ok := r.text(n, path)
		if !ok {
			return
		}
		var errs []invalid.Error
		s.Site.Ordering, errs = catalog.ParseOrdering(text)
		for _, m := range errs {
			r.report(n, path, m.Code, "%s", m.Error())
		}
	}
}
