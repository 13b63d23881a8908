// Command slipway-helper does the work of one session on a node behind SSH: it reads a manifest on standard input and
// writes a JSON line for every result, and one for the summary, to standard output (package converge). The controller
// puts it on the node; nobody starts it by hand. With --guard, it is the service of a guarded change (converge.Guard).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// The exit statuses. The summary says more; a controller that got none must not take any status for success.
const (
	statusDone   = 0 // the session ran to its end; single items may have failed
	statusFailed = 1 // the session could not do its work; the summary says why
	statusUsage  = 2
)

// version is set by the build.
var version = "dev"

func main() {
	system.Supervise()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, in io.Reader, out, complaints io.Writer) int {
	if len(args) == 1 && args[0] == "--version" {
		fmt.Fprintf(out, "slipway-helper %s protocol %d\n", version, converge.Protocol)
		return statusDone
	}
	guards := len(args) == 1 && args[0] == "--guard"
	if len(args) > 0 && !guards {
		fmt.Fprintln(complaints,
			"slipway-helper takes a manifest on standard input and no arguments but --version and --guard")
		return statusUsage
	}
	syscall.Umask(0o022) // commands must not depend on what the user's login scripts or sudo say
	ctx, stop := untilAsked(context.Background())
	defer stop()
	node, err := system.New("/")
	if err != nil {
		fmt.Fprintln(complaints, err)
		return statusFailed
	}
	defer node.Close()
	if guards {
		if err := converge.Guard(ctx, node, types.GuardLimit); err != nil && ctx.Err() == nil {
			fmt.Fprintln(complaints, err)
			return statusFailed
		}
		return statusDone
	}
	summary, err := converge.Serve(ctx, node, in, out, converge.SessionTimeout)
	if err != nil || summary.Error != nil {
		return statusFailed
	}
	return statusDone
}

// errAsked says that the process was asked to end.
var errAsked = errors.New("the session was asked to end")

// untilAsked returns a context that ends when the process is asked to. A closed pipe or terminal is not that: their
// signals must not kill the process before its ledger is written, and the end of standard input says the same anyway.
// They are caught rather than ignored, because what is ignored stays so in the commands that are run.
func untilAsked(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGTERM || s == syscall.SIGINT {
					cancel(errAsked)
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
