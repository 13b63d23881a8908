package lifecycle

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// StoreReturned writes values that became known during a deployment into the active set: values of top-level attributes
// with the modifier r, and no others (lsm.md 12, `update_read_only_attribute`). It is not a transfer, the version
// remains, and Call.Version is ignored.
func (v *Inventory) StoreReturned(c Call, values map[string]any) (Result, error) {
	in, ok := v.instances[c.ID]
	switch {
	case !ok:
		return Result{}, refuse(UnknownInstance, c.ID, "there is no such service")
	case in.Deleted || in.Active == nil:
		return Result{}, refuse(NothingToExport, c.ID, "has no active attributes (state %s)", in.State)
	}
	w := v.begin(in, c.At, c.Message)
	next := maps.Clone(in.Active)
	var learned []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		a, ok := w.entity.Attribute(name)
		if !ok || a.Modifier != catalog.Allocated {
			return Result{}, refuse(catalog.ReadOnly, c.ID, "the attribute %s is not one that slipway sets", name)
		}
		if catalog.Canonical(next[name]) != catalog.Canonical(values[name]) {
			next[name] = values[name]
			learned = append(learned, name)
		}
	}
	if len(learned) == 0 {
		return w.result, nil
	}
	complete, err := v.complete(w.entity, c.ID, next)
	if err != nil {
		return Result{}, err
	}
	w.in.Active = complete
	w.log(Event{Type: AllocationUpdate, Step: Executed, Message: "learned " + strings.Join(learned, ", ") +
		w.reason()})
	return w.commit()
}
