package rollout_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/simulate"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// sandboxes is the in-process executor on sandbox nodes, folders with the names of the nodes. What is scripted is what a
// folder has not: a connection that is lost, commands, and a change that was put back by a timer.
type sandboxes struct {
	*rollout.InProcess
	outcomes simulate.Outcomes
	guarded  []string // nodes whose changes are put back

	mu    sync.Mutex
	tries map[at]int // sessions that were lost
}

func newSandboxes(root string, nodes []site.Node, outcomes simulate.Outcomes) (*sandboxes, error) {
	s := &sandboxes{outcomes: outcomes, tries: map[at]int{}}
	s.InProcess = rollout.WithSystem(s.system)
	if err := os.RemoveAll(root); err != nil {
		return nil, err
	}
	for i, n := range nodes {
		root := filepath.Join(root, n.Name)
		nodes[i].Connection.Transport, nodes[i].Connection.Root = "local", root
		if outcomes[simulate.Prepare][n.Name] != simulate.Failure { // else it cannot be reached
			if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
				return nil, err
			}
		}
		if outcomes[simulate.Deploy][n.Name] == simulate.Failure { // nothing can be written there
			if err := os.MkdirAll(filepath.Join(root, "etc", "a"), 0o755); err != nil {
				return nil, err
			}
		}
		if outcomes[simulate.Restore][n.Name] == simulate.Failure {
			if err := os.WriteFile(filepath.Join(root, "etc", "a"), []byte("before\n"), 0o600); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// system opens the system of a node. Its health check and its lock commands succeed, unless the check is to fail.
func (s *sandboxes) system(root string) (*system.System, error) {
	out, err := system.New(root)
	if err != nil {
		return nil, err
	}
	result := s.outcomes[simulate.HealthCheck][filepath.Base(root)]
	out.Commands = func(_ context.Context, c system.Command) (system.Output, error) {
		if slices.Contains(c.Argv, "works") && result == simulate.Failure {
			return system.Output{Status: 1}, nil
		}
		return system.Output{}, nil
	}
	return out, nil
}

// Converge implements [rollout.Executor].
func (s *sandboxes) Converge(ctx context.Context, n site.Node, c converge.Manifest,
	each func(converge.Result)) (converge.Summary, error) {
	kind := kindOf(c)
	result := s.outcomes[map[string]simulate.Phase{preparing: simulate.Prepare, deploying: simulate.Deploy,
		checking: simulate.HealthCheck, restoring: simulate.Restore}[kind]][n.Name]
	s.mu.Lock()
	here := at{n.Name, kind}
	s.tries[here]++
	first := s.tries[here] == 1
	s.mu.Unlock()
	switch {
	case result == simulate.Lost || result == simulate.LostOnce && first:
		return converge.Summary{}, &transport.Error{Kind: transport.Unreachable, Node: n.Name, Early: true,
			Message: "connection refused"}
	case kind == restoring && result == simulate.Failure: // the file cannot come back: a folder with files is there
		path := filepath.Join(n.Connection.Root, "etc", "a")
		if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "b"), 0o755)); err != nil {
			return converge.Summary{}, err
		}
	case kind == deploying && slices.Contains(s.guarded, n.Name):
		return s.InProcess.Converge(ctx, n, c, func(r converge.Result) {
			guarded := r
			guarded.Status, guarded.Guarded = converge.Changed, true
			each(guarded)
			each(r)
		})
	}
	return s.InProcess.Converge(ctx, n, c, each)
}
