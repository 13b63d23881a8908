// Command terraform-provider-slipway is the slipway provider when Terraform starts it, and its companion when a person
// does.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/slipway/terraform-provider-slipway/planner/command"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/provider"
	"github.com/slipway/terraform-provider-slipway/resources"
)

// version is set by the build.
var version = "dev"

// stopLimit is how long the process outlives the connection to Terraform while a run records its result. Terraform
// kills it after two seconds (terraform.md 5.7).
const stopLimit = 1800 * time.Millisecond

func main() {
	system.Supervise()
	if os.Getenv("TF_PLUGIN_MAGIC_COOKIE") != "" || len(os.Args) == 2 && os.Args[1] == "-debug" {
		serve()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	environment := func() (site.Connection, error) { return provider.ConnectionFromEnvironment(os.Getenv) }
	if err := command.New(version, environment).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "slipway:", err)
		stop()
		os.Exit(command.ExitStatus(err))
	}
}

// serve serves the provider until Terraform ends it.
func serve() {
	debugged := flag.Bool("debug", false, "wait for a debugger's Terraform instead of being started by one")
	flag.Parse()
	if err := quiet(); err != nil {
		log.Fatal(err)
	}
	relaxGC()
	runs := &resources.Runs{}
	server, err := provider.NewServer(context.Background(), version, runs)
	if err != nil {
		log.Fatal(err)
	}
	var options []tf6server.ServeOpt
	if *debugged {
		options = append(options, tf6server.WithManagedDebug())
	} else {
		go endWithParent(os.Getppid(), runs)
		go stopOnSignal(runs)
	}
	err = tf6server.Serve(provider.Address, func() tfprotov6.ProviderServer { return server }, options...)
	runs.GiveUp(stopLimit)
	if err != nil {
		log.Fatal(err)
	}
}

// stopOnSignal stops runs on SIGTERM and SIGHUP. systemd, a container and a closed terminal signal Terraform and its
// providers alike; a provider that exited at once would lose the result of its run. Terraform decides when this process
// ends.
func stopOnSignal(runs *resources.Runs) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(asked, syscall.SIGHUP)
	}
	for range asked {
		runs.Stop()
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
