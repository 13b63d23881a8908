package document

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// service returns what reads one service of a site: of an entity, or configuration as it is.
func (r *reader) service(s *Site) func(n *yaml.Node, path string) site.Service {
	return func(n *yaml.Node, path string) (out site.Service) {
		ofEntities := ofEntities()
		if !r.converts {
			ofEntities[0] = "lifecycle"
		}
		given := make(map[string]*yaml.Node)
		note := func(name string, read readFunc) key {
			return key{name, false, func(n *yaml.Node, path string) {
				given[name] = n
				read(n, path)
			}}
		}
		before := len(r.errs)
		r.object(n, path,
			key{"name", true, r.into(&out.Name)},
			key{"selectors", true, r.into(&out.Selectors)},
			note(entity, func(n *yaml.Node, path string) { out.Entity = r.entityOf(n, path, s) }),
			note(attributes, func(n *yaml.Node, path string) {
				// what may be null is for the entity to say
				r.withNulls(maxNesting+1, func() { out.Attributes = r.parameters(n, path) })
			}),
			note(configuration, r.intoConfiguration(&out.Configuration)),
			note(ofEntities[0], func(n *yaml.Node, path string) { out.Lifecycle = r.lifecycleOf(n, path, s) }),
			note(ofEntities[1], r.into(&out.Gates)),
			note(ofEntities[2], r.into(&out.RollbackOnFailure)),
			note(ofEntities[3], func(n *yaml.Node, path string) { out.TargetState = r.textWith(n, path, "filled") }),
		)
		if r.live && !r.someUnknown {
			for _, e := range ServiceAttributes(func(name string) Presence {
				if given[name] != nil {
					return Given
				}
				return Absent
			}) {
				r.report(n, e.Attribute, e.Code, "%s", e.Message)
			}
		}
		isOf, hasAttributes, has := given[entity] != nil, given[attributes] != nil, given[configuration] != nil
		switch {
		case r.live:
		case isOf && has:
			r.report(given[configuration], join(path, configuration), Schema,
				"stands beside entity; a service is of an entity or has configuration: leave one out, or make two services")
		case hasAttributes && !isOf:
			r.report(given[attributes], join(path, attributes), Schema,
				"stands without entity; attributes are those of an entity: name it, or leave them out")
		case !isOf && !has && len(r.errs) == before:
			r.report(n, path, invalid.MissingField, "has neither the key %q nor %q; give one of them", entity,
				configuration)
		}
		for _, name := range ofEntities {
			if given[name] != nil && !isOf && !r.converts { // what Terraform accepted has no effect
				r.report(given[name], join(path, name), Schema,
					"stands without entity; only services of entities have a lifecycle: leave it out")
			}
		}
		if !isOf {
			out.Lifecycle, out.Gates, out.RollbackOnFailure, out.TargetState = nil, nil, false, ""
		}
		if r.converts && out.Entity != nil {
			out.Attributes = out.Entity.FillNulls(out.Attributes)
		}
		return out
	}
}

const entity, attributes, configuration = "entity", "attributes", "configuration"

// ofEntities are the attributes of a service, as in Terraform, that only one of an entity has.
func ofEntities() []string {
	return []string{serviceLifecycle, "gates", "rollback_on_failure", "target_state"}
}

// Presence says whether an attribute is given.
type Presence int

// The presences of an attribute.
const (
	Absent Presence = iota
	Given
	Perhaps // it is not known whether it is null
)

// PresenceOf returns the presence of an attribute with a plain value.
func PresenceOf(value any) Presence {
	switch value.(type) {
	case nil:
		return Absent
	case resource.Unknown:
		return Perhaps
	}
	return Given
}

// ServiceAttributes reports which attributes of a slipway_service do not go together.
func ServiceAttributes(is func(name string) Presence) (errs invalid.Errors) {
	wrong := func(at string, code invalid.Code, message string) {
		errs = append(errs, invalid.Error{Attribute: at, Code: code, Message: message})
	}
	switch {
	case is(entity) == Given && is(configuration) == Given:
		wrong(configuration, invalid.BadStructure,
			"stands beside entity; a service is of an entity or has configuration: leave one out, and place two services where both are meant")
	case is(entity) != Absent:
		return errs
	case is(configuration) == Absent && is(attributes) == Given:
		wrong(entity, invalid.MissingField, "is required: attributes are those of an entity")
	case is(configuration) == Absent:
		wrong("", invalid.MissingField, "brings nothing; give entity, with attributes, or configuration")
	case is(attributes) == Given:
		wrong(attributes, invalid.BadStructure,
			"stands beside configuration; attributes are those of an entity: leave them out, or give entity in place of configuration")
	}
	for _, name := range ofEntities() {
		if is(entity) == Absent && is(name) == Given {
			wrong(name, invalid.BadStructure,
				"stands beside configuration; only a service of an entity has a lifecycle: leave it out, or give entity in place of configuration")
		}
	}
	return errs
}

// entityOf reads which entity a service is of: its name, or in Terraform's values an object with its definition.
// Services of one entity share it.
func (r *reader) entityOf(n *yaml.Node, path string, s *Site) *catalog.Entity {
	if !r.converts {
		name, ok := r.text(n, path)
		if !ok {
			return nil
		}
		out := &catalog.Entity{Name: name}
		s.named[out] = reference{path, place{file: r.file, node: n}}
		return out
	}
	const key = "definition"
	fs, ok := r.mapping(n, path)
	if !ok {
		return nil
	}
	value, ok := fs.get(key)
	if !ok {
		r.required(n, fs, path, key)
		return nil
	}
	text, ok := r.text(value, join(path, key))
	if !ok {
		return nil
	}
	entity, known := s.parsed[text]
	if !known {
		var errs []invalid.Error
		entity, errs = catalog.ParseDefinition(text)
		for _, m := range errs {
			r.report(value, join(path, key), m.Code, "%s", m.Error())
		}
		s.parsed[text] = entity
	}
	if entity == nil || !r.isEntity(n, fs, path, entity) {
		return nil
	}
	return entity
}

// isEntity checks what else is said of an entity that a service is of.
func (r *reader) isEntity(n *yaml.Node, fs *fields, path string, e *catalog.Entity) bool {
	const asItIs = "; give the value of an entity of a catalog, as it is"
	before := len(r.errs)
	for _, k := range []string{"name", "digest"} {
		value, given := fs.get(k)
		if !given {
			continue
		}
		text, ok := r.text(value, join(path, k))
		own, err := e.Digest()
		switch {
		case !ok:
		case k == "name" && text != e.Name:
			r.report(value, join(path, k), invalid.BadValue, "is %q, but the definition is that of %q"+asItIs, text, e.Name)
		case k == "digest" && (err != nil || text != own):
			r.report(value, join(path, k), invalid.BadValue, "is not that of the definition"+asItIs)
		}
	}
	if e.Abstract && len(r.errs) == before {
		r.report(n, path, invalid.BadValue,
			"%q is abstract: it is only there to be extended; give an entity that extends it", e.Name)
	}
	return len(r.errs) == before
}

// isCatalog reports whether a document holds a catalog and nothing else of a site.
func isCatalog(n *yaml.Node) bool {
	holds := func(keys []string) bool {
		return slices.ContainsFunc(keys, func(name string) bool {
			_, value := child(n, name)
			return value != nil
		})
	}
	return holds(catalogKeys()) && !holds(siteKeys())
}

// define takes a catalog document, or the part of a site document that is one.
func (s *Site) define(r *reader, data []byte, n *yaml.Node, path string) {
	if s.catalog == nil {
		s.catalog = newCatalog()
	}
	s.catalog.reader(r, data).document(n, path)
}

// resolve makes the catalog, and gives services the entities and lifecycles that they name, and the lifecycles of the
// documents that their entities name.
func (s *Site) resolve() invalid.Errors {
	if s.catalog != nil {
		if errs := s.catalog.resolve(); len(errs) > 0 {
			return errs
		}
		s.Catalog, s.Lifecycles = s.catalog.Catalog, s.catalog.Lifecycles
		if !s.Catalog.Ordering.Empty() {
			s.Site.Ordering = &s.Catalog.Ordering
		}
	}
	var errs invalid.Errors
	wrong := func(at reference, code invalid.Code, message string) {
		errs = append(errs, invalid.Error{File: at.file, Line: at.node.Line, Column: at.node.Column, Attribute: at.path,
			Code: code, Message: message})
	}
	for i := range s.Site.Services {
		service := &s.Site.Services[i]
		if at, named := s.named[service.Entity]; named {
			e, ok := s.entity(service.Entity.Name)
			if !ok {
				wrong(at, catalog.UnknownEntity, s.noEntity(service.Entity.Name, len(errs)))
			}
			service.Entity = e
		}
		if at, named := s.named[service.Lifecycle]; named {
			l := s.catalog.lifecycle(service.Lifecycle.Name)
			if shipped, ok := ShippedLifecycle(service.Lifecycle.Name); ok {
				l = &shipped
			}
			if l == nil {
				wrong(at, invalid.BadValue, noLifecycle(service.Lifecycle.Name, s.Lifecycles)+defineAnother)
			}
			service.Lifecycle = l
		} else if service.Lifecycle == nil && service.Entity != nil {
			service.Lifecycle = s.catalog.lifecycle(service.Entity.Lifecycle)
		}
	}
	return errs
}

func (s *Site) entity(name string) (*catalog.Entity, bool) {
	if s.Catalog == nil {
		return nil, false
	}
	return s.Catalog.Entity(name)
}

// noEntity says that there is no such entity, and, while there were few errors before, which one may be meant.
func (s *Site) noEntity(name string, before int) string {
	message := fmt.Sprintf("there is no entity %q", cut(name, maxWord))
	if s.Catalog == nil {
		return message + `; no document holds a catalog: name its files, too, or define it under the key "catalog"`
	}
	if before >= resource.MostHints {
		return message
	}
	var names []string
	for _, e := range s.Catalog.Entities {
		if !e.Abstract {
			names = append(names, e.Name)
		}
	}
	const most = 20
	hint := resource.DidYouMean(name, names)
	switch {
	case hint != "":
		return message + hint
	case len(names) == 0:
		return message + "; the catalog has none that a service can be of"
	case len(names) > most:
		return message
	}
	return message + "; use one of " + strings.Join(names, ", ")
}

// locateInCatalog finds the place of an error of a task of an entity.
func (s *Site) locateInCatalog(p invalid.Error) (invalid.Error, bool) {
	if s.Catalog == nil || p.Object != "service" || !strings.HasPrefix(p.Attribute, "entity.tasks") {
		return invalid.Error{}, false
	}
	for _, service := range s.Site.Services {
		if service.Name == p.Name && service.Entity != nil {
			return s.catalog.Locate(service.Entity.Name, p)
		}
	}
	return invalid.Error{}, false
}
