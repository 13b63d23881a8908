// Package override lays overrides over configuration tasks: it changes parameters of resources that services bring, or
// adds resources (seed 004). It is pure.
//
// The overrides that concern a node form layers, the weakest first: those of the whole site, of its groups in the order
// of the run, of any of its roles, of the node itself; within a scope they go by name. An override's filters and its
// create options concern its own entries only. What the layers say of one title is then merged (fuel.md B4); with
// `merge = "title"` a layer drops what weaker ones said of the title. Precedence of a parameter: merged entries, then
// merged defaults, then the value that the service gave. References of require, before, notify and subscribe are added
// to those of the service, never replaced (fuel.md B2, F-15). A resource that is not there is created when one of the
// layers that still count may create it.
package override

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Set is the validated overrides of a site. Overrides are identified by their index in the order of their names.
type Set struct {
	schemas   map[string]resource.Schema
	overrides []override
	scopes    scopes
}

type override struct {
	site.Override
	roles   []site.RolePattern
	entries []entry // sorted by type and title
}

// entry is what one override says of one resource.
type entry struct {
	id         resource.ID
	typ, title string
	data       resource.Parameters // normalised; not those that the schema refused
	defaults   resource.Parameters // of the type; normalised
	create     bool
	broken     bool // something in it was refused, so its result is not judged
}

// New validates overrides by themselves and applies their filters. It ignores invalid role patterns:
// [site.Site.Validate] reports them. beside is the configuration of services: no error shows a value of a resource
// that is sensitive there or in any override.
func New(overrides []site.Override, schemas map[string]resource.Schema,
	beside ...resource.Configuration) (*Set, invalid.Errors) {
	s := &Set{schemas: schemas, scopes: scopes{groups: make(map[string][]int), nodes: make(map[string][]int)}}
	var errs invalid.Errors
	sorted := slices.Clone(overrides)
	slices.SortStableFunc(sorted, func(a, b site.Override) int { return strings.Compare(a.Name, b.Name) })
	secret := make(secrets)
	for _, c := range beside {
		secret.add(c)
	}
	for _, o := range overrides {
		secret.add(o.Configuration)
	}
	for _, o := range sorted {
		made := override{Override: o}
		for _, text := range o.Roles {
			if p, err := site.ParseRolePattern(text); err == nil {
				made.roles = append(made.roles, p)
			}
		}
		r := reader{override: o, schemas: schemas, secret: secret}
		made.entries = r.read()
		errs = append(errs, r.errs...)
		s.scopes.add(len(s.overrides), made)
		s.overrides = append(s.overrides, made)
	}
	return s, errs
}

// Len returns the number of overrides.
func (s *Set) Len() int { return len(s.overrides) }

// Name returns the name of an override.
func (s *Set) Name(index int) string { return s.overrides[index].Name }

// reader turns one override into entries.
type reader struct {
	override site.Override
	schemas  map[string]resource.Schema
	secret   secrets
	errs     invalid.Errors
}

// secrets are the resources whose values must not be shown. An empty title marks a type that has any.
type secrets map[resource.ID]bool

func (s secrets) add(c resource.Configuration) {
	for typ, titles := range c {
		for title, p := range titles {
			if (resource.Resource{Parameters: p}).Sensitive() {
				s[resource.MakeID(typ, title)], s[resource.MakeID(typ, "")] = true, true
			}
		}
	}
}

func (r *reader) read() []entry {
	defaults := r.readDefaults()
	options := r.override.Options
	var entries []entry
	for _, typ := range slices.Sorted(maps.Keys(r.override.Configuration)) {
		if typ == "" {
			r.unknownType(site.ConfigurationPath(typ, "", ""), typ)
			continue
		}
		if filtered(options.TypesFilter, typ) {
			continue
		}
		schema, known := r.schemas[typ]
		if !known {
			r.unknownType(site.ConfigurationPath(typ, "", ""), typ)
		}
		titles := r.override.Configuration[typ]
		for _, title := range slices.Sorted(maps.Keys(titles)) {
			if title != "" && filtered(options.TitlesFilter, title) {
				continue
			}
			e := entry{id: resource.MakeID(typ, title), typ: typ, title: title, create: mayCreate(options, typ, title),
				broken: true}
			if known {
				data, ok := r.parameters(schema, title, titles[title], "", r.secret[e.id])
				d, given := defaults[typ]
				e.data, e.defaults, e.broken = data, d, !ok || (given && d == nil)
			}
			entries = append(entries, e)
		}
	}
	return entries
}

// readDefaults validates the defaults of all types. Invalid defaults of a type are nil.
func (r *reader) readDefaults() map[string]resource.Parameters {
	out := make(map[string]resource.Parameters, len(r.override.Options.Defaults))
	for _, typ := range slices.Sorted(maps.Keys(r.override.Options.Defaults)) {
		path := "options.defaults." + typ
		schema, known := r.schemas[typ]
		if !known {
			r.unknownType(path, typ)
			continue
		}
		// Any title does: a default has none of its own.
		data, ok := r.parameters(schema, "default", r.override.Options.Defaults[typ], path,
			r.secret[resource.MakeID(typ, "")])
		if !ok {
			data = nil
		}
		out[typ] = data
	}
	return out
}

// parameters validates parameters one by one, without requiring those that only a whole resource needs. It returns the
// valid ones in their normal form. Nulls stay, because merging decides whether they count. With secret, no message
// shows a value.
func (r *reader) parameters(schema resource.Schema, title string, p resource.Parameters, path string,
	secret bool) (resource.Parameters, bool) {
	given := maps.Clone(p)
	nulls := make(resource.Parameters)
	for name, v := range p {
		if v == nil {
			nulls[name] = nil
			delete(given, name)
		}
	}
	if !declares(schema, "name") {
		// The title is the identity; Puppet's `name` cannot change it (fuel.md B2).
		delete(given, "name")
	}
	schema.Check = nil
	fits, checked := true, given
	if said, ok := given[resource.Sensitive]; secret && (!ok || said == false) {
		checked = resource.Parameters{resource.Sensitive: true}
		for name, v := range given {
			if name != resource.Sensitive {
				checked[name] = v
			}
		}
	}
	for _, e := range schema.Validate(resource.Resource{Type: schema.Type, Title: title, Parameters: checked}) {
		if e.Code == invalid.MissingParameter {
			continue
		}
		fits = false
		wrong := site.ParameterError("override", r.override.Name, schema.Type, title, e)
		if path != "" {
			wrong.Attribute = path + "." + e.Attribute
		}
		r.errs = append(r.errs, wrong)
		base, _, _ := strings.Cut(e.Attribute, "[")
		delete(given, base)
	}
	out := schema.Normalize(resource.Resource{Type: schema.Type, Title: title, Parameters: given}).Parameters
	if out == nil {
		out = make(resource.Parameters, len(nulls))
	}
	maps.Copy(out, nulls)
	return out, fits
}

func (r *reader) unknownType(attribute, typ string) {
	r.errs = append(r.errs, site.UnknownTypeError("override", r.override.Name, attribute, typ, r.schemas))
}

func declares(schema resource.Schema, parameter string) bool {
	return slices.ContainsFunc(schema.Parameters, func(p resource.Parameter) bool { return p.Name == parameter })
}

// filtered reports whether a filter that is not empty leaves the name out.
func filtered(filter []string, name string) bool {
	return len(filter) > 0 && !slices.Contains(filter, name)
}

// mayCreate implements the rule of seed 004 (fuel.md F-11): with create, a listed type or title is not created; without
// it, only a listed one is.
func mayCreate(o site.OverrideOptions, typ, title string) bool {
	listed := slices.Contains(o.TypesCreateException, typ) || slices.Contains(o.TitlesCreateException, title)
	create := o.Create == nil || *o.Create
	return create != listed
}

// nullError returns the error for a null that no other layer replaces.
func nullError(name, typ, title, parameter string) invalid.Error {
	return invalid.Error{
		Object: "override", Name: name, Attribute: site.ConfigurationPath(typ, title, parameter), Code: invalid.NullValue,
		Message: fmt.Sprintf("is null; give a value, or leave %s out", parameter),
	}
}
