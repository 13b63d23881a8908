package workers

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/command"
	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/temporal/temporaltest"
	"github.com/slipway/terraform-provider-slipway/provider"
)

// processVariable makes this program the companion's command worker, with the value companion the companion, and with the
// value provider the provider.
const processVariable = "SLIPWAY_TEST_PROCESS"

// build is the version of slipway in the tests, buildVariable that of a worker of another one.
const (
	build         = "1.1.0"
	buildVariable = "SLIPWAY_TEST_BUILD"
)

// gateVariable names a file for which a worker waits before the first session that changes a node; it writes beside it
// that it has come that far, and how the session ended.
const gateVariable = "SLIPWAY_TEST_GATE"

// What the tests share: each has a database, a site and a prefix of task queues of its own. The error says why there is
// no server.
var shared struct {
	database *postgrestest.Cluster
	server   *temporaltest.Server
	err      error
}

func TestMain(m *testing.M) {
	system.Supervise()
	if os.Getenv(processVariable) != "" {
		os.Exit(worker())
	}
	flag.Parse()
	os.Exit(tests(m))
}

func tests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "workers")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // of tests
	database := filepath.Join(dir, "pg")
	if err := os.Mkdir(database, 0o700); err != nil {
		panic(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // the user postgres passes through
		panic(err)
	}
	shared.database, shared.err = postgrestest.New(database)
	if shared.err == nil {
		defer func() { report(shared.database.Stop()) }()
		shared.server, shared.err = temporaltest.New(dir)
	}
	if shared.server != nil {
		defer func() { report(shared.server.End(syscall.SIGKILL)) }()
	}
	return m.Run()
}

func report(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// worker is the command worker as main has it, but for nodes that have commands.
func worker() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	version, database := cmp.Or(os.Getenv(buildVariable), build), os.Getenv(command.JournalVariable)
	if os.Getenv(processVariable) == "provider" {
		if err := provider.Serve(version, false); err != nil {
			report(err)
			return 1
		}
		return 0
	}
	cmd := command.NewWorker(version, nil, database, func() rollout.Executor { return folders{} })
	if os.Getenv(processVariable) == "companion" {
		cmd = command.New(version, nil, database)
	}
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	if err := cmd.ExecuteContext(ctx); err != nil {
		command.PrintError(os.Stderr, err)
		return command.ExitStatus(err)
	}
	return 0
}

// folders is the executor of nodes whose addresses are folders, and which have the commands of this machine.
type folders struct{}

func (folders) Close() error { return nil }

func (folders) Converge(ctx context.Context, n site.Node, m converge.Manifest, each func(converge.Result)) (
	_ converge.Summary, err error) {
	if gate := os.Getenv(gateVariable); gate != "" && len(m.Items) > 0 && m.Mode == converge.Apply {
		defer func() { report(os.WriteFile(gate+".ended", fmt.Appendln(nil, err), 0o600)) }()
		if err := pass(gate); err != nil {
			return converge.Summary{}, err
		}
	}
	s, err := system.New(n.Address)
	if err != nil {
		return converge.Summary{}, err
	}
	s.Commands = s.Execute
	summary := converge.Run(ctx, s, m, each)
	if summary.Error != nil {
		return summary, errors.Join(s.Close(), summary.Error)
	}
	return summary, s.Close()
}

// pass waits for a gate, as a process that stalls does: whatever happens meanwhile.
func pass(gate string) error {
	if err := os.WriteFile(gate+".reached", nil, 0o600); err != nil {
		return err
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := os.Stat(gate); err == nil {
			break
		}
	}
	return nil
}
