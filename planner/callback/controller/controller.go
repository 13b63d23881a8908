// Package controller carries callbacks out, on the machine that the planner runs on (litp.md 46, 114). What a callback
// can do, and its parameters, are declared in planner/callback.
package controller

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// DefaultGrace is how long a command may take to end after it was asked to.
const DefaultGrace = 10 * time.Second

// Clock waits between tries, and for the function sleep.
type Clock interface {
	// Sleep returns after d, or earlier with the cause when ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// Resolver looks names up; *net.Resolver is one.
type Resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
}

// Options are what callbacks need of the outside. Fields left out have their defaults.
type Options struct {
	Clock       Clock                                 // default: the machine's
	Environment []string                              // slipway's own environment; nil is os.Environ
	Grace       time.Duration                         // 0 is DefaultGrace
	Resolver    Resolver                              // default: the machine's
	Proxy       func(*http.Request) (*url.URL, error) // nil is http.ProxyFromEnvironment
}

// Controller carries callbacks out. It has no state, so any number of calls may run at once.
type Controller struct{ Options }

// New returns a controller.
func New(o Options) *Controller {
	if o.Clock == nil {
		o.Clock = machineClock{}
	}
	if o.Environment == nil {
		o.Environment = os.Environ()
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	return &Controller{o}
}

// worker does one try of a callback, whose parameters are valid and in their normal form.
type worker interface {
	try(ctx context.Context) (map[string]any, error)
}

// workers is the table of the types in planner/callback.
var workers = map[string]func(*Controller, resource.Resource) (worker, error){
	callback.Command:  newCommand,
	callback.HTTP:     newRequest,
	callback.Function: newFunction,
}

// Call carries out a callback and returns its values: string, bool, int64, float64, []any and map[string]any only, as
// in [resource.Parameters]. It tries again as the callback says, and returns within the grace when ctx ends, with an
// error that wraps the cause. No error shows a sensitive parameter; that of a resource with `sensitive = true` shows no
// output either.
func (c *Controller) Call(ctx context.Context, t task.Task) (map[string]any, error) {
	prepare, known := workers[t.Resource.Type]
	schema := callback.Schemas()[t.Resource.Type]
	if !known || t.Kind != task.Callback {
		return nil, fmt.Errorf("%s is not a callback", t.Resource.ID())
	}
	// The planner has checked what is written; values that are read when the phase starts come on top.
	if errs := schema.Validate(t.Resource); len(errs) > 0 {
		return nil, invalid(errs)
	}
	r := schema.Normalize(t.Resource)
	w, err := prepare(c, r)
	if err != nil {
		return nil, err
	}
	values, err := c.repeat(ctx, callback.SettingsOf(r.Parameters), w)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Type, err)
	}
	return values, nil
}

// invalid are the mistakes in the parameters of a callback.
type invalid []resource.ParameterError

func (es invalid) Error() string {
	s := "the parameters do not fit"
	for i, e := range es {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		s += sep + e.Error()
	}
	return s
}
