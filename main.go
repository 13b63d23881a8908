// Command terraform-provider-slipway is the slipway provider when Terraform starts it, and its companion when a person does.
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
	"github.com/slipway/terraform-provider-slipway/planner/converge/supervisor"
	"github.com/slipway/terraform-provider-slipway/provider"
	"github.com/slipway/terraform-provider-slipway/resources"
)

// version is set by the build.
var version = "dev"

// farewell is how long the process outlives the connection to Terraform while a run writes down what it reached. Terraform kills it after
// two seconds (terraform.md 5.7).
const farewell = 1800 * time.Millisecond

func main() {
	supervisor.Main()
	if os.Getenv("TF_PLUGIN_MAGIC_COOKIE") != "" || len(os.Args) == 2 && os.Args[1] == "-debug" {
		serve()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command.New(version).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "slipway:", err)
		stop()
		os.Exit(command.ExitStatus(err))
	}
}

// serve is the provider's life.
func serve() {
	debugged := flag.Bool("debug", false, "wait for a debugger's Terraform instead of being started by one")
	flag.Parse()
	if err := quiet(); err != nil {
		log.Fatal(err)
	}
	unhurried()
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
	runs.GiveUp(farewell)
	if err != nil {
		log.Fatal(err)
	}
}

// stopOnSignal stops runs when this process is asked to end. systemd, a container and a closed terminal ask Terraform and its providers alike, and a
// provider that ended at once would take with it what its run reached. Terraform, which ends its providers, decides when this one ends.
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

// quiet keeps the plugin libraries from tracing every step to a Terraform that does not log: they do unless they are told a level, each by a variable of its
// own, and Terraform reads the lines and throws them away.
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

// Settings of [unhurried]: the garbage that may pile up, in percent of what is in use, and the memory, in bytes, from which on less may.
const (
	garbage = 400
	ceiling = 2 << 30
)

// unhurried lets more garbage pile up before it is collected, unless the user set GOGC or GOMEMLIMIT. The provider lives for one command of Terraform,
// keeps little and makes much garbage: for a plan of a thousand nodes without changes its calls took 1.9 s of processor time in place of 2.4 s. From the ceiling
// on memory is collected as early as it must be to stay below; what is in use does not count against it, so a larger site only loses the saving and then time,
// at most half of it.
func unhurried() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(garbage)
	debug.SetMemoryLimit(ceiling)
}
