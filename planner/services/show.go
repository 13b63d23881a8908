package services

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// Steps describes the changes of the plan, one line each. No line contains a value.
func (t *Transition) Steps() []string {
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

// Allocated returns the known values of the allocated attributes (modifier r) of a service by path, such as `port` or
// `sites[host=a].port`. It leaves out sensitive attributes. A child without key attributes has its index in the path:
// `sites[0].port`.
func (t *Transition) Allocated(service string) map[string]any {
	in, ok := t.engine.Instance(service)
	if !ok {
		return nil
	}
	out := make(map[string]any)
	collectAllocated(t.definition(service).entity.Structure, in.Base(), "", out)
	return out
}

// escaped escapes a name or value in a path, such as `files[name=a\.txt].uid`, so that special characters in it do not
// end it.
var escaped = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `.`, `\.`, `*`, `\*`, `=`, `\=`)

func collectAllocated(s catalog.Structure, set map[string]any, at string, out map[string]any) {
	for _, a := range s.Attributes {
		if value := set[a.Name]; a.Modifier == catalog.Allocated && !a.Sensitive && value != nil {
			out[at+a.Name] = value
		}
	}
	for _, e := range s.Embedded {
		switch v := set[e.Name].(type) {
		case map[string]any:
			collectAllocated(e.Structure, v, at+e.Name+".", out)
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
				collectAllocated(e.Structure, child, at+place+".", out)
			}
		}
	}
}

// Status is what the outputs of a deployment show of a service.
type Status struct {
	Entity   string
	Identity string // as text; empty if not set or sensitive
	State    string
	Label    lifecycle.Label
	Version  int
}

// Status returns the status of a service. It is zero if there is no such service.
func (t *Transition) Status(name string) Status {
	in, ok := t.engine.Instance(name)
	if !ok {
		return Status{}
	}
	b := t.definition(name)
	state, _ := b.entity.Machine.State(in.State)
	out := Status{Entity: in.Entity, State: in.State, Label: state.Label, Version: in.Version}
	if value, ok := t.engine.Identity(name); ok {
		if a, _ := b.entity.Attribute(b.entity.Identity); !a.Sensitive {
			out.Identity = fmt.Sprint(value)
		}
	}
	return out
}

// Wanted reports whether the configuration has a service with the name that belongs to an entity.
func (t *Transition) Wanted(name string) bool {
	_, ok := t.wanted[name]
	return ok
}
