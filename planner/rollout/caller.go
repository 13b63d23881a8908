package rollout

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Caller runs callbacks, on the controller (litp.md 46).
type Caller interface {
	// Call runs one callback and returns the values that it yields by name, or nil. A run calls it for one task at a
	// time. When ctx ends, Call gives the callback up and returns within a short grace. printed gets what the callback
	// prints, as it comes. That and the text of an error go to the journal and the report: they must not contain a
	// sensitive value.
	Call(ctx context.Context, printed io.Writer, t task.Task) (values map[string]any, err error)
}

// Values are the results of callbacks: service -> name -> value. They may be sensitive, so String only counts them.
type Values map[string]map[string]any

// String returns the number of values.
func (v Values) String() string {
	n := 0
	for _, named := range v {
		n += len(named)
	}
	return fmt.Sprintf("%d values", n)
}

// GoString is String, so that %#v shows no value.
func (v Values) GoString() string { return v.String() }

// with returns a copy with the values of a callback, which replace those of the same name. The values themselves are
// shared and never changed.
func (v Values) with(t task.Task, values map[string]any) Values {
	out := make(Values, len(v)+1)
	for service, named := range v {
		out[service] = maps.Clone(named)
	}
	owner := owner(t)
	if out[owner] == nil {
		out[owner] = make(map[string]any, len(values))
	}
	maps.Copy(out[owner], values)
	return out
}

// owner returns the owner of the values of a callback: its service, or the plugin before the slash of its name.
func owner(t task.Task) string {
	if t.Service != "" {
		return t.Service
	}
	plugin, _, _ := strings.Cut(t.Name, "/")
	return plugin
}
