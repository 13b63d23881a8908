// Command terraform-provider-slipway is the slipway provider when Terraform starts it, and its companion when a person
// does, or whoever starts it under the name slipway.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // of maintenance windows, where the machine has none

	"github.com/slipway/terraform-provider-slipway/planner/command"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/provider"
)

// version is set by the build.
var version = "dev"

func main() {
	system.Supervise()
	name := command.Name(os.Args[0])
	if name != "slipway" && os.Getenv("TF_PLUGIN_MAGIC_COOKIE") != "" || len(os.Args) == 2 && os.Args[1] == "-debug" {
		debugged := flag.Bool("debug", false, "wait for a debugger's Terraform instead of being started by one")
		flag.Parse()
		if err := provider.Serve(version, *debugged); err != nil {
			log.Fatal(err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	environment := func() (site.Connection, error) { return provider.ConnectionFromEnvironment(os.Getenv) }
	companion := command.New(version, environment, os.Getenv(command.JournalVariable))
	companion.Use = name
	if err := companion.ExecuteContext(ctx); err != nil {
		command.PrintError(os.Stderr, err)
		stop()
		os.Exit(command.ExitStatus(err))
	}
}
