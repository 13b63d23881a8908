// Package controller executes callbacks on the machine that the planner runs on (litp.md 46, 114). Package
// planner/callback declares the callbacks and their parameters.
package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// DefaultGrace is the time that a command has to end after SIGTERM.
const DefaultGrace = 10 * time.Second

// Clock waits between tries and for the function sleep.
type Clock interface {
	// Sleep returns after d, or with the cause when ctx ends first.
	Sleep(ctx context.Context, d time.Duration) error
}

// Resolver resolves host names, as *net.Resolver does.
type Resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
}

// Options are the dependencies of callbacks. Empty fields have defaults.
type Options struct {
	Clock       Clock                                 // default: the machine's
	Environment []string                              // slipway's own environment; nil is os.Environ
	Grace       time.Duration                         // 0: DefaultGrace
	Resolver    Resolver                              // default: the machine's
	Proxy       func(*http.Request) (*url.URL, error) // nil is http.ProxyFromEnvironment
}

// Controller executes callbacks. It has no state and is safe for concurrent use.
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

// worker makes one try of a callback. Its parameters are valid and normalized.
type worker interface {
	// try may write what the callback prints, without secrets.
	try(ctx context.Context, printed io.Writer) (map[string]any, error)
}

// workers is the table of the types in planner/callback.
var workers = map[string]func(*Controller, resource.Resource) (worker, error){
	callback.Command:  newCommand,
	callback.HTTP:     newRequest,
	callback.Function: newFunction,
}

// Call executes a callback and returns its values: string, bool, int64, float64, []any and map[string]any only, as in
// [resource.Parameters]. It retries as the callback's settings say. When ctx ends, Call returns within the grace
// period, with an error that wraps the cause.
//
// printed gets what a command prints as it comes, but for a standard output that becomes values. Neither it nor an
// error has a sensitive parameter; of a resource with `sensitive = true` they have nothing that the callback says.
// Programs and servers say what they like: what acts on terminals ([resource.Visible]) is left out of values, their
// names and errors.
func (c *Controller) Call(ctx context.Context, printed io.Writer, t task.Task) (map[string]any, error) {
	values, err := c.call(ctx, printed, t)
	if err != nil {
		return nil, failure{err}
	}
	return visibleMembers(values), nil
}

// failure is the error of a callback.
type failure struct{ error }

func (f failure) Error() string { return resource.Visible(f.error.Error()) }

func (f failure) Unwrap() error { return f.error }

func (c *Controller) call(ctx context.Context, printed io.Writer, t task.Task) (map[string]any, error) {
	prepare, known := workers[t.Resource.Type]
	schema := callback.Schemas()[t.Resource.Type]
	if !known || t.Kind != task.Callback {
		return nil, fmt.Errorf("%s is not a callback", t.Resource.ID())
	}
	// The planner has checked the configuration; this also checks values that are read when the phase starts.
	if errs := schema.Validate(t.Resource); len(errs) > 0 {
		return nil, parametersError(errs)
	}
	r := schema.Normalize(t.Resource)
	w, err := prepare(c, r)
	if err != nil {
		return nil, err
	}
	if r.Sensitive() {
		printed = io.Discard
	}
	values, err := c.repeat(ctx, callback.SettingsOf(r.Parameters), w, printed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Type, err)
	}
	return values, nil
}

// parametersError is the error for invalid parameters of a callback.
type parametersError []invalid.Error

func (es parametersError) Error() string {
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

// errTimeout is the error of a try that took too long.
var errTimeout = errors.New("ran into its timeout")

// permanent is a failure that another try would repeat.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// repeat tries until a try succeeds, fails permanently, or was the last one.
func (c *Controller) repeat(ctx context.Context, s callback.Settings, w worker, printed io.Writer) (map[string]any,
	error) {
	for tries := 1; ; tries++ {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("not started: %w", context.Cause(ctx))
		}
		values, err := once(ctx, s.Timeout, w, printed)
		if err == nil {
			return values, nil
		}
		if ctx.Err() != nil {
			return nil, endedBy(ctx, err)
		}
		if p := (permanent{}); errors.As(err, &p) {
			return nil, err
		}
		if tries > s.Retries {
			if tries > 1 {
				err = fmt.Errorf("%w (the last of %d tries)", err, tries)
			}
			return nil, err
		}
		if c.Clock.Sleep(ctx, s.Interval) != nil {
			return nil, endedBy(ctx, err)
		}
	}
}

func once(ctx context.Context, limit time.Duration, w worker, printed io.Writer) (map[string]any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w of %s", errTimeout, limit))
	defer cancel()
	return w.try(ctx, printed)
}

// endedBy returns the error of a callback whose context ended.
func endedBy(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("ended: %w; before that: %w", cause, err)
}

type machineClock struct{}

func (machineClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
