package lifecycle

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// CheckUpdate returns an error for each change from prior to next that users may not make (lsm.md 3, 13, 14). Both are
// complete attributes, as catalog.Structure.Check returns them; next went through [CarryAllocated] before. An unchanged
// value is never an error. A value that prior lacks altogether, because the entity got it later, may be set.
//
//   - identity_immutable: the identity attribute; it comes first.
//   - readonly_attribute: values with the modifier r. In a new child they must be null or the default.
//   - immutable_attribute: values with the modifier rw. An embedded entity with rw keeps its children, and stays null
//     or not null, while attributes of the children follow their own modifiers. In an existing child only rw+ may
//     change; a new child accepts rw too.
//
// In a loose entity the modifier of the outermost embedded entity applies to everything in it, except to values with
// the modifier r. The order of children and of related services does not count.
//
// The attribute of an error is its exact path in next (`files[2].mode`).
func CheckUpdate(entity *catalog.Entity, prior, next map[string]any) []invalid.Error {
	c := updateChecker{loose: entity.Loose}
	top := entity.Structure
	if a, ok := entity.Attribute(entity.Identity); ok {
		c.attribute(a.Name, a, prior, next, catalog.IdentityFixed)
		top.Attributes = slices.DeleteFunc(slices.Clone(top.Attributes),
			func(other catalog.Attribute) bool { return other.Name == a.Name })
	}
	c.structure("", top, prior, next)
	if len(c.errs) > maxErrors {
		c.errs = c.errs[:maxErrors]
	}
	return c.errs
}

// ReplacementPaths returns the exact paths in next of the changes that need a new service: those of values with the
// modifier rw. They force replacement in Terraform (lsm.md 20). Each added child has its own path (`disks[1]`); removed
// children have the path of the list.
func ReplacementPaths(entity *catalog.Entity, prior, next map[string]any) []string {
	var out []string
	for _, m := range CheckUpdate(entity, prior, next) {
		if m.Code != catalog.ReadOnly && !slices.Contains(out, m.Attribute) {
			out = append(out, m.Attribute)
		}
	}
	return out
}

// Replaced returns the places of the changes that only a new service can have. A fixed attribute that is not known yet
// counts as changed.
func Replaced(e *catalog.Entity, was, is catalog.Partial) []string {
	before, errs := e.Check(e.FillNulls(was.Given))
	if len(errs) > 0 {
		return nil // the entity changed, so the old attributes say nothing
	}
	after := e.FillNulls(is.Given)
	var out []string
	for _, unknown := range is.Unknown {
		name, _, _ := strings.Cut(strings.ReplaceAll(unknown, "[", "."), ".")
		if a, ok := e.Attribute(name); ok && a.Modifier == catalog.Fixed {
			out = append(out, name)
		}
		after[name] = before[name]
	}
	if complete, errs := e.Check(after); len(errs) == 0 {
		out = append(out, ReplacementPaths(e, before, complete)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type updateChecker struct {
	loose bool
	errs  []invalid.Error
}

func (c *updateChecker) add(p string, code invalid.Code, message string) {
	c.errs = append(c.errs, invalid.Error{Attribute: p, Code: code, Message: message})
}

const (
	readOnly  = "is set by slipway and read-only (r); leave it out"
	immutable = "is set once and fixed from then on (rw); keep its value, or replace the service"
)

func (c *updateChecker) structure(p string, s catalog.Structure, prior, next map[string]any) {
	for _, a := range s.Attributes {
		c.attribute(invalid.PathTo(p, a.Name), a, prior, next, catalog.Immutable)
	}
	for _, r := range s.Relations {
		c.relation(invalid.PathTo(p, r.Name), r, prior, next)
	}
	for _, e := range s.Embedded {
		at := invalid.PathTo(p, e.Name)
		switch {
		case e.Modifier == catalog.Allocated:
			c.untouched(at, e, prior, next, catalog.ReadOnly)
		case c.loose && e.Modifier == catalog.Fixed && !c.untouched(at, e, prior, next, catalog.Immutable):
		case e.Single():
			c.single(at, e, prior, next)
		default:
			c.list(at, e, prior, next)
		}
	}
}

func (c *updateChecker) attribute(p string, a catalog.Attribute, prior, next map[string]any,
	fixed invalid.Code) {
	old, had := prior[a.Name]
	now, given := next[a.Name]
	if !given || resource.Canonical(old) == resource.Canonical(now) {
		return
	}
	switch a.Modifier {
	case catalog.Allocated:
		if !had && a.HasDefault && resource.Canonical(a.Default) == resource.Canonical(now) {
			return
		}
		c.add(p, catalog.ReadOnly, readOnly)
	case catalog.Fixed:
		switch {
		case !had:
		case fixed == catalog.IdentityFixed:
			c.add(p, fixed, "is the identity of the service and never changes; keep its value, or replace the service")
		default:
			c.add(p, fixed, immutable)
		}
	}
}

func (c *updateChecker) relation(p string, r catalog.Relation, prior, next map[string]any) {
	old, had := prior[r.Name]
	now, given := next[r.Name]
	if !given || relatedText(old) == relatedText(now) {
		return
	}
	switch {
	case r.Modifier == catalog.Allocated:
		c.add(p, catalog.ReadOnly, readOnly)
	case r.Modifier == catalog.Fixed && had:
		c.add(p, catalog.Immutable, immutable)
	}
}

// relatedText returns a text that is equal for two values of a relation if both name the same services.
func relatedText(value any) string {
	list, ok := value.([]any)
	if !ok {
		return resource.Canonical(value)
	}
	if len(list) == 0 {
		return resource.Canonical(nil)
	}
	return resource.Canonical(sortedTexts(list))
}

// untouched reports whether an embedded entity is unchanged, and adds an error if it is not. Allocated values in it
// count only for the code readonly_attribute.
func (c *updateChecker) untouched(p string, e catalog.Embedded, prior, next map[string]any,
	code invalid.Code) bool {
	old, had := prior[e.Name]
	now, given := next[e.Name]
	if !given || code == catalog.Immutable && !had {
		return true
	}
	s := catalog.Structure{Embedded: []catalog.Embedded{e}}
	text := func(value any) string {
		if list, ok := value.([]any); ok && len(list) == 0 {
			value = nil
		}
		tree := map[string]any{e.Name: value}
		if code == catalog.Immutable {
			tree = withoutAllocated(s, tree)
		}
		return resource.Canonical(unordered(s, tree))
	}
	if text(old) == text(now) {
		return true
	}
	if code == catalog.ReadOnly {
		c.add(p, code, readOnly)
	} else {
		c.add(p, code,
			"is fixed with all that is in it (rw, without strict enforcement); keep it, or replace the service")
	}
	return false
}

func (c *updateChecker) single(p string, e catalog.Embedded, prior, next map[string]any) {
	value, had := prior[e.Name]
	old, _ := value.(map[string]any)
	now, _ := next[e.Name].(map[string]any)
	_, given := next[e.Name]
	switch {
	case !given || old == nil && now == nil:
	case old != nil && now != nil:
		c.children(p, e, old, now)
	case e.Modifier == catalog.Fixed && had:
		c.add(p, catalog.Immutable,
			"comes with the service and stays as long (rw): it cannot be added or removed; keep it, or replace the service")
	case now != nil:
		c.fresh(p, e.Structure, now)
	}
}

func (c *updateChecker) list(p string, e catalog.Embedded, prior, next map[string]any) {
	value, had := prior[e.Name]
	old, _ := value.([]any)
	now, _ := next[e.Name].([]any)
	if _, given := next[e.Name]; !given {
		return
	}
	same, gone := MatchChildren(e, old, now)
	kept := e.Modifier == catalog.Fixed && had
	const fixed = "has the same children for as long as the service lives (rw): none can be added or removed; keep them, or replace the service"
	if kept && len(gone) > 0 {
		c.add(p, catalog.Immutable, fixed)
	}
	for i, element := range now {
		child, ok := element.(map[string]any)
		switch {
		case !ok: // the type check reports it
		case same[i] >= 0:
			from, _ := old[same[i]].(map[string]any)
			c.children(invalid.PathAt(p, i), e, from, child)
		case kept && len(gone) == 0:
			c.add(invalid.PathAt(p, i), catalog.Immutable, fixed)
		case kept: // reported with the removed children
		default:
			c.fresh(invalid.PathAt(p, i), e.Structure, child)
		}
	}
}

// children compares a child with its prior value.
func (c *updateChecker) children(p string, e catalog.Embedded, old, now map[string]any) {
	s := e.Structure
	if c.loose {
		s = withoutFixed(s)
	}
	c.structure(p, s, old, now)
}

// withoutFixed returns a structure in which users may change everything that slipway does not allocate.
func withoutFixed(s catalog.Structure) catalog.Structure {
	s = catalog.Structure{Attributes: slices.Clone(s.Attributes), Embedded: slices.Clone(s.Embedded),
		Relations: slices.Clone(s.Relations)}
	for e := range s.Elements() {
		if *e.Modifier == catalog.Fixed {
			*e.Modifier = catalog.Changing
		}
	}
	return s
}

// fresh checks a new child: users may set everything that slipway does not allocate.
func (c *updateChecker) fresh(p string, s catalog.Structure, child map[string]any) {
	for _, m := range s.ReadOnly(child) {
		c.add(invalid.PathTo(p, m.Attribute), catalog.ReadOnly, readOnly)
	}
}
