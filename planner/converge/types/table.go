package types

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// table is a file with an entry on each line, which has named parts: /etc/hosts and /etc/fstab.
type table struct {
	path  string
	parts []string // that a resource gives; it gives the first in any case, and what it says nothing of stays
	fresh row      // a new line of which nothing is said; its name is the title
	alone bool     // an entry has one line: further ones go
	// separator stands between the values of a part that is a list.
	separator string
	parse     func(text string) (row, bool)
	format    func(row) string
}

// row is a line of a table by its parts, and name.
type row map[string]string

// find finds the lines for which is holds.
func (t table) find(is func(row) bool) finder {
	return func(l lines) []span {
		var out []span
		for i, x := range l {
			if e, ok := t.parse(x.text); ok && is(e) {
				out = append(out, span{i, i + 1})
			}
		}
		return out
	}
}

// at returns the line that was found, as it is and as r wants it; without one, it is a new one.
func (t table) at(l lines, found []span, r resource.Resource) (is, should row) {
	if is = maps.Clone(t.fresh); len(found) > 0 {
		is, _ = t.parse(l[found[0].from].text)
	} else {
		is["name"] = r.Parameters.StringOr("name", r.Title)
	}
	should = maps.Clone(is)
	for _, name := range t.parts {
		if r.Parameters.Has(name) {
			if should[name] = strings.Join(r.Parameters.Strings(name), t.separator); name == "comment" {
				should[name] = strings.TrimSpace(should[name])
			}
		}
	}
	return is, should
}

// compare notes how the line that was found differs.
func (t table) compare(c *comparison, l lines, found []span) (is, should row) {
	is, should = t.at(l, found, c.resource)
	for _, name := range t.parts {
		c.text(name, is[name], should[name])
	}
	if t.alone && len(found) > 1 {
		c.oneLine(t.parts[0], len(found))
	}
	return is, should
}

// set brings the first of the lines found into the form that r wants, or adds it; an absent entry loses all its lines.
func (t table) set(l lines, found []span, r resource.Resource) lines {
	is, should := t.at(l, found, r)
	absent := schema.WantsAbsent(r)
	if !absent && len(found) == 0 {
		return l.insert(len(l), t.format(should))
	}
	for i, x := range slices.Backward(found) {
		if absent || t.alone && i > 0 {
			l = l.remove(x)
		}
	}
	if absent || maps.Equal(is, should) {
		return l
	}
	return l.replace(found[0], t.format(should))
}

// widen notes which of the parts of a line r says something of for the first time: in the former line, they are as they
// are now.
func (t table) widen(e *entries, r resource.Resource, l lines, found []span) {
	var fresh []string
	for _, name := range t.parts[1:] {
		if (r.Parameters.Has(name) || schema.WantsAbsent(r)) && !slices.Contains(e.Fields, name) {
			fresh = append(fresh, name)
		}
	}
	e.Fields = append(e.Fields, fresh...)
	if len(fresh) > 0 && len(found) > 0 && len(e.Former) > 0 {
		e.Former[0].Lines = []string{t.take(e.Former[0].Lines[0], l[found[0].from].text, fresh)}
	}
}

// release forgets the parts of a line that r says nothing of, and returns them as they were, or as a new line has them.
func (t table) release(s *Session, e *entries, r resource.Resource, find finder) (resource.Parameters, error) {
	former, err := e.former(s, find)
	if err != nil {
		return nil, err
	}
	was := t.fresh
	if len(former) > 0 {
		was, _ = t.parse(former[0].Lines[0])
	}
	returning := resource.Parameters{}
	e.Fields = slices.DeleteFunc(e.Fields, func(name string) bool {
		if r.Parameters.Has(name) || schema.WantsAbsent(r) {
			return false
		}
		switch n, err := strconv.ParseInt(was[name], 10, 64); {
		case name == "host_aliases":
			returning[name] = texts(strings.Fields(was[name]))
		case name == "options" && t.separator == ",":
			returning[name] = texts(slices.DeleteFunc([]string{was[name]}, func(text string) bool { return text == "" }))
		case err == nil && (name == "dump" || name == "pass"):
			returning[name] = n
		default:
			returning[name] = was[name]
		}
		return true
	})
	return returning, nil
}

// take returns a line with some parts of another one.
func (t table) take(line, from string, parts []string) string {
	is, _ := t.parse(line)
	other, _ := t.parse(from)
	taken := maps.Clone(is)
	for _, name := range parts {
		taken[name] = other[name]
	}
	switch {
	case maps.Equal(taken, is):
		return line
	case maps.Equal(taken, other):
		return from
	}
	return t.format(taken)
}

// undo brings former lines back in place of slipway's, the first of those found. Further ones are not slipway's and
// stay; a former line that is among them is back already. fields are what slipway changed in its line, besides the
// first part.
func (t table) undo(l lines, found []span, former []block, fields []string) lines {
	if len(found) == 0 || len(former) == 0 {
		return l.restore(found, former, 1)
	}
	text := func(x span) string { return l[x.from].text }
	own := max(0, slices.IndexFunc(found, func(x span) bool { return text(x) == former[0].Lines[0] }))
	others := slices.Delete(slices.Clone(found), own, own+1)
	first := former[0]
	first.Lines = []string{t.take(text(found[own]), first.Lines[0], append([]string{t.parts[0]}, fields...))}
	missing := []block{first}
	for _, b := range former[1:] {
		i := slices.IndexFunc(others, func(x span) bool { return text(x) == b.Lines[0] })
		if i < 0 {
			missing = append(missing, b)
			continue
		}
		others = slices.Delete(others, i, i+1)
	}
	return l.restore(found[own:own+1], missing, 1)
}
