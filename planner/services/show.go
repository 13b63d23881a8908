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

// Identity returns the value of the identity attribute of a service as text; empty if not set or sensitive.
func (t *Transition) Identity(name string) string {
	value, ok := t.engine.Identity(name)
	if !ok {
		return ""
	}
	e := t.definition(name).entity
	if a, _ := e.Attribute(e.Identity); a.Sensitive {
		return ""
	}
	return fmt.Sprint(value)
}

// StateOf returns the state of a service in its lifecycle. It is zero if there is no such service.
func (t *Transition) StateOf(name string) lifecycle.State {
	in, ok := t.engine.Instance(name)
	if !ok {
		return lifecycle.State{}
	}
	state, _ := t.definition(name).entity.Machine.State(in.State)
	return state
}

// Wanted reports whether the configuration has a service with the name that belongs to an entity.
func (t *Transition) Wanted(name string) bool {
	_, ok := t.wanted[name]
	return ok
}
