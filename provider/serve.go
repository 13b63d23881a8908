package provider

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
)

// stopLimit is how long the process outlives the connection to Terraform while a run records its result. Terraform
// kills it after two seconds (terraform.md 5.7).
const stopLimit = 1800 * time.Millisecond

// Serve serves the provider until Terraform, or the debugger's one, ends it. It changes settings of the whole process.
func Serve(version string, debugged bool) error {
	if err := quiet(); err != nil {
		return err
	}
	relaxGC()
	runs := &engine.Runs{}
	server, err := NewServer(context.Background(), version, runs)
	if err != nil {
		return err
	}
	var options []tf6server.ServeOpt
	if debugged {
		options = append(options, tf6server.WithManagedDebug())
	} else {
		go endWithParent(os.Getppid(), runs)
		go stopOnSignal(runs)
	}
	err = tf6server.Serve(Address, func() tfprotov6.ProviderServer { return server }, options...)
	runs.GiveUp(stopLimit)
	return err
}

// stopOnSignal stops runs on SIGTERM and SIGHUP. systemd, a container and a closed terminal signal Terraform and its
// providers alike; a provider that exited at once would lose the result of its run. Terraform decides when this process
// ends.
func stopOnSignal(runs *engine.Runs) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(asked, syscall.SIGHUP)
	}
	for signal := range asked {
		if signal == syscall.SIGTERM {
			runs.Ask()
		}
		runs.Stop()
	}
}

// orphanCheck is the interval of checks whether Terraform still runs.
const orphanCheck = time.Second

// endWithParent ends the process after its parent has ended and no run is active any more. A killed Terraform, for
// example by the end of its terminal (terraform.md 5.7), does not notify its providers, and their library would wait
// forever. The run loses its connection and stops by itself. Where getppid never changes, as on Windows, this does
// nothing.
func endWithParent(parent int, runs *engine.Runs) {
	for range time.Tick(orphanCheck) {
		if os.Getppid() != parent {
			runs.Wait()
			os.Exit(1)
		}
	}
}

// quiet keeps the plugin libraries from tracing every call when Terraform does not log. They trace unless a level is
// set, each in its own variable, and Terraform discards the lines.
func quiet() error {
	levels := []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK"}
	for _, name := range append([]string{"TF_LOG", "TF_LOG_PROVIDER"}, levels...) {
		if os.Getenv(name) != "" {
			return nil
		}
	}
	for _, name := range levels {
		if err := os.Setenv(name, "ERROR"); err != nil {
			return err
		}
	}
	return nil
}

// Settings of [relaxGC]: garbage in percent of the memory in use, and the soft limit of memory in bytes.
const (
	gcPercent   = 400
	memoryLimit = 2 << 30
)

// relaxGC makes garbage collection rarer, unless the user set GOGC or GOMEMLIMIT. The provider lives for one command of
// Terraform, keeps little and produces much garbage: the calls for a plan of a thousand nodes without changes took 1.9
// s of processor time instead of 2.4 s. Above memoryLimit, garbage is collected as early as needed to stay below it,
// with at most half of the processor time.
func relaxGC() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
}
