package types

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// actions is the table of the resource types that remote tasks are made of. Nobody writes them as configuration:
// plugins and services bring them as tasks. What may be written of them is in package schema.
var actions = map[string]Type{
	"puppet": puppetType{},
	"reboot": rebootType{},
	"shell":  shellType{},
}

// All holds all that a manifest may name.
var All = func() map[string]Type {
	all := maps.Clone(configuration)
	maps.Copy(all, actions)
	return all
}()

// Acting is implemented by types that do something whenever a session in mode Apply asks for it, instead of bringing
// something into a state. What they did is nobody's, so a second site may do it too, and there is nothing to undo.
type Acting interface{ acts() }

// action is what all actions have in common. That one is done is in the ledger and nowhere else: it never drifts, and
// its removal only forgets it.
type action struct{}

func (action) acts() {}

func (action) Capture(context.Context, *Session, resource.Resource) (json.RawMessage, error) {
	return nil, nil
}

func (action) Undo(context.Context, *Session, string, json.RawMessage) error { return nil }

func (action) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	if s.due(r) {
		return []Difference{{Parameter: returnsParameter, Is: "notrun", Should: "0"}}, nil
	}
	return nil, nil
}

// due reports whether an action is to be done: always in mode Apply, once for each session, and otherwise when the
// ledger does not say that it was done in this form.
func (s *Session) due(r resource.Resource) bool {
	if s.Ran[r.ID()] {
		return false
	}
	return s.Applying || s.Applied(r.ID()) != s.digestOf(r)
}

// shellType runs a line of the shell (fuel.md A4).
type shellType struct{ action }

func (shellType) Schema() resource.Schema { return schema.Shell() }

func (shellType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	return s.inFolder(r, func(folder string) error {
		c := tryCommand(r, folder, "/bin/sh", "-c", r.Parameters.String("command"))
		return tries(ctx, r, schema.ShellRetries, func() error {
			out, err := s.Run(ctx, c)
			s.Forget()
			if err == nil && out.Status != 0 {
				err = fmt.Errorf("it ended with status %d", out.Status)
			}
			return commandError(r, r.Parameters.String("command"), out, err)
		})
	})
}

// tryCommand is one try.
func tryCommand(r resource.Resource, folder string, argv ...string) system.Command {
	c := system.Command{Argv: argv, Dir: folder, Env: []string{"PATH=" + system.ProgramPath}, Timeout: -1, EndsWithSession: true}
	if r.Parameters.Has("cwd") {
		c.Dir = reach(r, folder, r.Parameters.String("cwd"))
	}
	if n := r.Parameters.IntOr("timeout", 300); n > 0 {
		c.Timeout = time.Duration(n) * time.Second
	}
	return c
}

// tries calls try until it succeeds, it was tried as often as r says, or ctx ends. The error says how often it was
// tried.
func tries(ctx context.Context, r resource.Resource, retries int64, try func() error) error {
	most := 1 + r.Parameters.IntOr("retries", retries)
	interval := time.NewTimer(0)
	defer interval.Stop()
	for n := int64(1); ; n++ {
		select {
		case <-interval.C:
		case <-ctx.Done():
			return fmt.Errorf("given up before try %d of %d: %w", n, most, context.Cause(ctx))
		}
		err := try()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("given up in try %d of %d: %w", n, most, err)
		case n == most && most == 1:
			return err
		case n == most:
			return fmt.Errorf("failed after %d tries: %w", n, err)
		}
		interval.Reset(time.Duration(r.Parameters.IntOr("interval", 1)) * time.Second)
	}
}
