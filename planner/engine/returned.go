package engine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// returning is an attribute of a service that a callback sets.
type returning struct {
	catalog.Attribute
	task  string // the callback, by its name in the entity
	value string // name of the value that the callback returns
}

// returned lists the attributes of an entity that callbacks set, by name. Only callbacks of the service as a whole do:
// one for each node would return several values for one attribute.
func returned(e *catalog.Entity) []returning {
	var out []returning
	var walk func(tasks []catalog.Task)
	walk = func(tasks []catalog.Task) {
		for _, t := range tasks {
			walk(t.Steps)
			if t.Callback == nil || t.Callback.PerNode {
				continue
			}
			for name, value := range t.Callback.Returns {
				if a, ok := e.Attribute(name); ok && a.Modifier == catalog.Allocated {
					out = append(out, returning{a, t.Name, value})
				}
			}
		}
	}
	walk(e.Tasks)
	slices.SortFunc(out, func(a, b returning) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// keeper carries callbacks out, and makes one fail that does not give what it was called for: its service would wait
// for ever, and every plan would call it again without a word.
type keeper struct {
	rollout.Caller
	promised map[string][]returning // by name of the callback
}

// promising makes the callbacks of a site's services give what their entities say that they return.
func promising(s site.Site, c rollout.Caller) rollout.Caller {
	k := keeper{c, make(map[string][]returning)}
	for _, service := range s.Services {
		if service.Entity == nil {
			continue
		}
		for _, r := range returned(service.Entity) {
			name := service.Name + "/" + r.task
			k.promised[name] = append(k.promised[name], r)
		}
	}
	return k
}

// Call carries out a callback.
func (k keeper) Call(ctx context.Context, printed io.Writer, t task.Task) (map[string]any, error) {
	values, err := k.Caller.Call(ctx, printed, t)
	if err != nil {
		return nil, err
	}
	var lacking []string
	for _, r := range k.promised[t.Name] {
		if values[r.value] == nil {
			lacking = append(lacking, fmt.Sprintf("%q, for the attribute %s", r.value, r.Name))
		}
	}
	if len(lacking) == 0 {
		return values, nil
	}
	gave := "it returned no value"
	if names := slices.Sorted(maps.Keys(values)); len(names) > 0 {
		gave = "it returned " + namesOf(names)
	}
	return nil, fmt.Errorf("%s: it succeeded and did not return what it is called for: %s; %s. "+
		"Fix the callback, or the names below returns in the catalog", t.Resource.Type, strings.Join(lacking, "; "), gave)
}

// namesOf joins names, sorted, at most 20 of them.
func namesOf(names []string) string {
	const most = 20
	slices.Sort(names)
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// misfit is a returned value that its attribute cannot take.
type misfit struct {
	service string
	returning
	wrong invalid.Error
}

// callback is the name of the callback that returned it.
func (m misfit) callback() string { return m.service + "/" + m.task }

func (m misfit) String() string {
	return fmt.Sprintf("Service %q, callback %q: the returned value %q is that of the attribute %s.",
		m.service, m.task, m.value, m.wrong.Error())
}

// learn returns the values of attributes of the site's services: what callbacks returned now, over what was known
// before. Values of sensitive attributes are not kept: a run that needs one calls again. Nor are those that their
// attributes cannot take, which is also how a value ends whose attribute has become another one.
func learn(s site.Site, before map[string]map[string]any, now rollout.Values) (
	values map[string]map[string]any, misfits []misfit) {
	values = make(map[string]map[string]any)
	for _, service := range s.Services {
		if service.Entity == nil {
			continue
		}
		for _, r := range returned(service.Entity) {
			value, known := now[service.Name][r.value]
			if !known {
				value, known = before[service.Name][r.Name]
			}
			if !known {
				continue
			}
			checked, errs := catalog.Structure{Attributes: []catalog.Attribute{r.Attribute}}.Check(
				map[string]any{r.Name: value})
			switch {
			case len(errs) > 0:
				misfits = append(misfits, misfit{service.Name, r, errs[0]})
			case r.Sensitive:
			case values[service.Name] == nil:
				values[service.Name] = map[string]any{r.Name: checked[r.Name]}
			default:
				values[service.Name][r.Name] = checked[r.Name]
			}
		}
	}
	return values, misfits
}

// of returns what of the state counts for a site: values that its services can take. The callbacks of others count as
// not finished.
func (m State) of(s site.Site) State {
	m.Applied = m.planned(s)
	var misfits []misfit
	if m.Values, misfits = learn(s, m.Values, nil); len(misfits) == 0 {
		return m
	}
	ran := maps.Clone(m.Applied[planner.Controller])
	if len(ran) == 0 {
		return m
	}
	for _, wrong := range misfits {
		undone(ran, wrong.callback())
	}
	m.Applied = maps.Clone(m.Applied)
	m.Applied[planner.Controller] = ran
	return m
}

// undone makes callbacks of a name count as begun and not finished: `<service>/<task>`, and those of its for_each.
func undone(done map[resource.ID]string, name string) {
	for id := range done {
		_, title, _ := strings.Cut(strings.TrimSuffix(string(id), "]"), "[")
		if title == name || strings.HasPrefix(title, name+"[") {
			done[id] = ""
		}
	}
}
