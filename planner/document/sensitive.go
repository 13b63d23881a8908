package document

import (
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// marks are the values that Terraform holds to be sensitive, by the kind and name of the object that they are written
// in.
type marks map[[2]string]*marked

type marked struct {
	anywhere  bool // perhaps in each resource that the object brings
	resources map[resource.ID]bool
}

// Secret reports whether a plan or state of Terraform marks something as sensitive that a service or override (the
// object) of some name puts into a resource. What is made from attributes of an entity may be in all resources of the
// service. Documents mark nothing: there the resource itself says that it is sensitive.
func (s *Site) Secret(object, name string, id resource.ID) bool {
	m, ok := s.marks[[2]string{object, name}]
	return ok && (m.anywhere || m.resources[id])
}

// mark notes what is sensitive in a deployment. sensitive has the form of its values, with true in the place of what is
// sensitive (https://developer.hashicorp.com/terraform/internals/json-format, sensitive_values).
func (s *Site) mark(values, sensitive *yaml.Node) {
	if sensitive == nil {
		return
	}
	if s.marks == nil {
		s.marks = make(marks)
	}
	for key, object := range map[string]string{"services": "service", "overrides": "override"} {
		_, list := child(values, key)
		_, mask := child(sensitive, key)
		if list == nil || mask == nil {
			continue
		}
		masks := children(mask)
		for member, value := range children(list) {
			at := masks[member]
			if mask.Kind == yaml.ScalarNode {
				at = mask // all of them
			}
			if _, name := child(value, "name"); name != nil && isMarked(at) {
				s.marks[[2]string{object, name.Value}] = markedIn(at)
			}
		}
	}
}

// markedIn sorts the marks of one service or override.
func markedIn(mask *yaml.Node) *marked {
	m := &marked{resources: make(map[resource.ID]bool)}
	m.anywhere = mask.Kind != yaml.MappingNode
	for attribute, value := range children(mask) {
		switch {
		case !isMarked(value):
		case attribute != "configuration" || value.Kind != yaml.MappingNode:
			m.anywhere = true
		default:
			for typ, titles := range children(value) {
				m.anywhere = m.anywhere || isMarked(titles) && titles.Kind != yaml.MappingNode
				for title, parameters := range children(titles) {
					m.resources[resource.MakeID(typ, title)] = isMarked(parameters)
				}
			}
		}
	}
	return m
}

// children are the members of an object by key, and those of a list by number.
func children(n *yaml.Node) map[string]*yaml.Node {
	out := make(map[string]*yaml.Node)
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = n.Content[i+1]
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			out[strconv.Itoa(i)] = item
		}
	}
	return out
}

// isMarked reports whether a mask is true somewhere.
func isMarked(mask *yaml.Node) bool {
	switch {
	case mask == nil:
		return false
	case mask.Kind == yaml.ScalarNode:
		return mask.Value == "true"
	case mask.Kind == yaml.MappingNode:
		for _, value := range children(mask) {
			if isMarked(value) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(mask.Content, isMarked)
}
