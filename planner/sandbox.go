package planner

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// needMachine returns an error for each type of which a service, or an override, has resources that a sandbox cannot
// have, and for each parameter that it cannot do.
func (b *desiredBuilder) needMachine(tasks []task.Task) (errs invalid.Errors) {
	type place struct{ object, name, typ string }
	needing := make(map[place][]string)
	var places []place
	for i := range tasks {
		r := tasks[i].Resource
		if onMachine := b.types[r.Type].OnMachine; onMachine != nil {
			if parameter, why := onMachine(r); parameter != "" {
				object, name := bringerOf(tasks[i])
				errs = append(errs, invalid.Error{Object: object, Name: name, Code: invalid.BadValue,
					Attribute: site.ConfigurationPath(r.Type, r.Title, parameter), Message: why})
			}
		}
		if !b.types[r.Type].NeedsMachine && !b.actionSchemas[r.Type].NeedsMachine {
			continue
		}
		p := place{typ: r.Type}
		p.object, p.name = bringerOf(tasks[i])
		if needing[p] == nil {
			places = append(places, p)
		}
		needing[p] = append(needing[p], string(r.ID()))
	}
	for _, p := range places {
		errs = append(errs, invalid.Error{Object: p.object, Name: p.name, Code: invalid.BadValue,
			Attribute: site.ConfigurationPath(p.typ, "", ""), Message: b.onSandbox(needing[p])})
	}
	return errs
}

// onSandbox says that a sandbox cannot have some resources, and what it can have.
func (b *desiredBuilder) onSandbox(resources []string) string {
	slices.Sort(resources)
	need := " need"
	if len(resources) == 1 {
		need += "s"
	}
	var have []string
	for _, name := range slices.Sorted(maps.Keys(b.types)) {
		if !b.types[name].NeedsMachine {
			have = append(have, name)
		}
	}
	return list(resources) + need + " a whole machine, and a sandbox is a folder; it has the types " +
		strings.Join(have, ", ")
}
