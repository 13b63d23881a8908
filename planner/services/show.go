package services

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// Steps describes the changes of the plan, a line each. No line holds a value.
func (t *Turn) Steps() []string {
	var out []string
	for _, c := range t.Changes() {
		out = append(out, c.String())
	}
	return out
}

func (c Change) String() string {
	line := fmt.Sprintf("service %s: %s", c.Service, c.Kind)
	if c.Kind == Update && len(c.Attributes) > 0 {
		line += " " + strings.Join(c.Attributes, ", ")
	}
	from := ""
	if c.From != "" {
		from = c.From + " to "
	}
	return fmt.Sprintf("%s (version %d, %s%s)", line, c.Version, from, c.To)
}

// Allocated returns the values of attributes with the modifier r that slipway chose for a service, by their place,
// `port` or `sites[host=a].port`, as far as they are known; those of sensitive attributes are left out. A child without
// key attributes is told by its number, `sites[0].port`.
func (t *Turn) Allocated(service string) map[string]any {
	in, ok := t.inventory.Instance(service)
	if !ok {
		return nil
	}
	out := make(map[string]any)
	allocated(t.bases[t.records[service].Under].entity.Structure, in.Base(), "", out)
	return out
}

// escaped writes a name or value of a place, `files[name=a\.txt].uid`, so that it ends where it seems to.
var escaped = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `.`, `\.`, `*`, `\*`, `=`, `\=`)

func allocated(s catalog.Structure, set map[string]any, at string, out map[string]any) {
	for _, a := range s.Attributes {
		if value := set[a.Name]; a.Modifier == catalog.Allocated && !a.Sensitive && value != nil {
			out[at+a.Name] = value
		}
	}
	for _, e := range s.Embedded {
		switch v := set[e.Name].(type) {
		case map[string]any:
			allocated(e.Structure, v, at+e.Name+".", out)
		case []any:
			for i, element := range v {
				child, ok := element.(map[string]any)
				if !ok {
					continue
				}
				place := escaped.Replace(e.Name)
				for _, key := range e.Key {
					place += "[" + escaped.Replace(key) + "=" + escaped.Replace(fmt.Sprint(child[key])) + "]"
				}
				if len(e.Key) == 0 {
					place = fmt.Sprintf("%s[%d]", e.Name, i)
				}
				allocated(e.Structure, child, at+place+".", out)
			}
		}
	}
}

// Status is what a service shows to the outside.
type Status struct {
	Entity   string
	Identity string // as text; empty for none, and for a sensitive one
	State    string
	Label    lifecycle.Label
	Version  int
}

// Status returns how a service stands; it is zero when there is no such service.
func (t *Turn) Status(name string) Status {
	in, ok := t.inventory.Instance(name)
	if !ok {
		return Status{}
	}
	b := t.bases[t.records[name].Under]
	state, _ := b.machine.State(in.State)
	out := Status{Entity: in.Entity, State: in.State, Label: state.Label, Version: in.Version}
	if value, ok := t.inventory.Identity(name); ok {
		if a, _ := b.entity.Attribute(b.entity.Identity); !a.Sensitive {
			out.Identity = fmt.Sprint(value)
		}
	}
	return out
}

// Wanted reports whether the configuration has a service of an entity with the name.
func (t *Turn) Wanted(name string) bool {
	_, ok := t.wanted[name]
	return ok
}
