package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/callback"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// builtin is the implementation of a function.
type builtin struct {
	// ask makes one attempt. With a wait it is repeated at intervals until it succeeds or the timeout ends.
	ask  func(ctx context.Context, c *Controller, arguments map[string]string) (map[string]any, error)
	wait bool
}

// builtins implements the functions of planner/callback.
var builtins = map[string]builtin{
	callback.WaitTCP:    {waitTCP, true},
	callback.WaitHTTP:   {waitHTTP, true},
	callback.ResolveDNS: {resolveDNS, true},
	callback.Sleep:      {sleep, false},
}

type function struct {
	*Controller
	builtin
	concealer
	name      string
	arguments map[string]string
	settings  callback.Settings
}

func newFunction(c *Controller, r resource.Resource) (worker, error) {
	name := r.Parameters.String("function")
	b, ok := builtins[name]
	if !ok {
		return nil, fmt.Errorf("there is no function %q", name)
	}
	return function{c, b, conceal(r), name, r.Parameters.StringMap("arguments"), callback.SettingsOf(r.Parameters)}, nil
}

func (f function) try(ctx context.Context, _ io.Writer) (map[string]any, error) {
	if !f.wait {
		return f.ask(ctx, f.Controller, f.arguments)
	}
	for {
		values, err := f.look(ctx)
		if err == nil {
			return values, nil
		}
		if p := (permanent{}); errors.As(err, &p) {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if f.all {
			err = errors.New(f.text(""))
		}
		if ctx.Err() != nil || f.Clock.Sleep(ctx, f.settings.Interval) != nil {
			return nil, fmt.Errorf("%s: %w; at last: %w", f.name, context.Cause(ctx), err)
		}
	}
}

func (f function) look(ctx context.Context) (map[string]any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callback.LongestTry,
		fmt.Errorf("there is no answer within %s", callback.LongestTry))
	defer cancel()
	return f.ask(ctx, f.Controller, f.arguments)
}

func waitTCP(ctx context.Context, _ *Controller, arguments map[string]string) (map[string]any, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(arguments["host"], arguments["port"]))
	if err != nil {
		return nil, err
	}
	return nil, conn.Close()
}

func waitHTTP(ctx context.Context, c *Controller, arguments map[string]string) (map[string]any, error) {
	parameters := resource.Parameters{"url": arguments["url"]}
	if status, ok := arguments["status"]; ok {
		parameters["status"] = []any{status}
	}
	w, err := newRequest(c, resource.Resource{Type: callback.HTTP, Parameters: parameters})
	if err != nil {
		return nil, err
	}
	return w.try(ctx, io.Discard)
}

func resolveDNS(ctx context.Context, c *Controller, arguments map[string]string) (map[string]any, error) {
	addresses, err := c.Resolver.LookupHost(ctx, arguments["name"])
	if err != nil {
		return nil, err
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("%q has no address", arguments["name"])
	}
	addresses = slices.Compact(slices.Sorted(slices.Values(addresses)))
	list := make([]any, len(addresses))
	for i, a := range addresses {
		list[i] = a
	}
	return map[string]any{"address": addresses[0], "addresses": list}, nil
}

func sleep(ctx context.Context, c *Controller, arguments map[string]string) (map[string]any, error) {
	seconds, err := strconv.Atoi(arguments["seconds"])
	if err != nil {
		return nil, err
	}
	return nil, c.Clock.Sleep(ctx, time.Duration(seconds)*time.Second)
}
