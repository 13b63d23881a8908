package edit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// Migrate looks at the attribute sets that a service gets with another version of its entity (lsm.md 2, "Multi-version"). given has one or more of
// candidate, active and rollback, and replaces all three: a set that is not in it is no more. The sets come back complete, as to has them; paths of mistakes begin
// with the name of the set. prior are the sets that the service has: its identity stays, and values with the modifier r are taken as they are given.
func Migrate(from, to *catalog.Entity, prior, given map[string]map[string]any) (map[string]map[string]any, []catalog.Mistake) {
	var mistakes []catalog.Mistake
	report := func(path string, code catalog.Code, format string, args ...any) {
		mistakes = append(mistakes, catalog.Mistake{Path: path, Code: code, Message: fmt.Sprintf(format, args...)})
	}
	switch {
	case from.Name != to.Name:
		report("", catalog.BadValue, "is a service of the entity %q and cannot become one of %q; make a new service", from.Name, to.Name)
	case from.Version == to.Version:
		report("", catalog.BadValue, "is of version %d of the entity already", to.Version)
	}
	if from.Identity != "" && to.Identity != from.Identity {
		report("", catalog.IdentityFixed, "version %d of the entity has another identity than %q; it may not change or go (lsm.md 14)", to.Version, from.Identity)
	}
	names := []string{"candidate", "active", "rollback"}
	if len(given) == 0 {
		report("", catalog.MissingAttribute, "needs at least one of candidate, active and rollback as version %d has it", to.Version)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			report(name, catalog.BadValue, "is no attribute set; use candidate, active or rollback")
		}
	}
	out := make(map[string]map[string]any, len(given))
	for _, name := range names {
		set, ok := given[name]
		if !ok {
			continue
		}
		complete, wrong := to.Check(set)
		out[name] = complete
		for _, m := range wrong {
			m.Path = name + "." + m.Path
			mistakes = append(mistakes, m)
		}
		if id := from.Identity; id != "" && id == to.Identity {
			for _, other := range names {
				value, had := prior[other][id]
				if had && catalog.Canonical(value) != catalog.Canonical(complete[id]) {
					report(name+"."+id, catalog.IdentityFixed, "is the identity of the service and never changes; keep its value")
					break
				}
			}
		}
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return out, nil
}
