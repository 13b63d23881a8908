package resource

import (
	"maps"
	"slices"
)

// Unknown stands for the value of a parameter that is not known yet. It fits every parameter that a type has, and a
// resource that has one is not judged as a whole. Its digest is that of no known resource. It is for plans that are
// shown: no node takes it. One with Secret fits only parameters that take a secret of the deployment.
type Unknown struct {
	Secret bool `json:"-"` // it refers to a secret, of which name or version are not known
}

// Unknown returns the names of the parameters that are not known yet, sorted.
func (p Parameters) Unknown() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if isUnknown(p[name]) {
			names = append(names, name)
		}
	}
	return names
}

func isUnknown(value any) bool {
	_, unknown := value.(Unknown)
	return unknown
}
