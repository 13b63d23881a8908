package rollout

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Caller carries out callbacks, on the controller (litp.md 46).
type Caller interface {
	// Call carries out one callback and returns the values that it yields, by name; nil is none. A run calls it for one
	// task at a time. When ctx ends, the callback is given up and Call returns within a short grace. The text of an error goes to
	// the journal and the report: it must not hold a sensitive value.
	Call(ctx context.Context, t task.Task) (values map[string]any, err error)
}

// Values are what callbacks yielded: service -> name -> value. They may be sensitive, so their text tells only how many there are.
type Values map[string]map[string]any

// String tells how many values there are.
func (v Values) String() string {
	n := 0
	for _, named := range v {
		n += len(named)
	}
	return fmt.Sprintf("%d values", n)
}

// GoString is String: %#v shows no value either.
func (v Values) GoString() string { return v.String() }

// clone copies the maps; the values themselves are shared and never changed.
func (v Values) clone() Values {
	out := make(Values, len(v))
	for service, named := range v {
		out[service] = maps.Clone(named)
	}
	return out
}

// add lays the values of a callback over those that are there.
func (v Values) add(t task.Task, values map[string]any) {
	if len(values) == 0 {
		return
	}
	owner := owner(t)
	if v[owner] == nil {
		v[owner] = make(map[string]any, len(values))
	}
	maps.Copy(v[owner], values)
}

// owner names whose values a callback yields: its service, or the plugin that stands before the slash of its name.
func owner(t task.Task) string {
	if t.Service != "" {
		return t.Service
	}
	plugin, _, _ := strings.Cut(t.Name, "/")
	return plugin
}
