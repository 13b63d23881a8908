package refine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// with returns the instance with values of attributes that slipway sets. Other values are left out, because the entity
// may have changed since.
func (in Instance) with(values map[string]any) Instance {
	if len(values) == 0 {
		return in
	}
	in.Attributes = maps.Clone(in.Attributes)
	if in.Attributes == nil {
		in.Attributes = make(map[string]any, len(values))
	}
	for name, value := range values {
		if a, ok := in.Entity.Attribute(name); ok && a.Modifier == catalog.Allocated {
			in.Attributes[name] = value
		}
	}
	return in
}

// Again refines a service with what its callbacks returned, by the names of the values. It returns nil for a service
// without an entity. The error names attributes and never values.
func (s *Services) Again(name string, returned map[string]any) (*Refined, error) {
	i, ok := slices.BinarySearchFunc(s.services, name,
		func(a service, name string) int { return strings.Compare(a.name, name) })
	if !ok || s.services[i].refined == nil {
		return nil, nil
	}
	old := s.services[i]
	values := make(map[string]any)
	for _, t := range old.refined.central {
		for attribute, value := range t.Returns {
			if v, ok := returned[value]; ok {
				values[attribute] = v
			}
		}
	}
	if len(values) == 0 {
		return old.refined, nil
	}
	refined, errs := NewInstance(old.instance.with(values), s.schemas)
	if len(errs) == 0 {
		return refined, nil
	}
	wrong := make([]string, len(errs))
	for i, p := range errs {
		wrong[i] = fmt.Sprintf("%s (%s)", p.Attribute, p.Code)
	}
	return nil, fmt.Errorf("the service %q cannot take what its callbacks returned for %s: see %s", name,
		strings.Join(slices.Sorted(maps.Keys(values)), ", "), strings.Join(wrong, ", "))
}
