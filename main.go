// Command terraform-provider-slipway is the slipway provider when Terraform starts it, and its companion when a person does.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/slipway/terraform-provider-slipway/planner/command"
	"github.com/slipway/terraform-provider-slipway/provider"
	"github.com/slipway/terraform-provider-slipway/resources"
)

// version is set by the build.
var version = "dev"

// farewell is how long the process outlives the connection to Terraform while a run writes down what it reached. Terraform kills it after
// two seconds (terraform.md 5.7).
const farewell = 1800 * time.Millisecond

func main() {
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
	debug := flag.Bool("debug", false, "wait for a debugger's Terraform instead of being started by one")
	flag.Parse()
	runs := &resources.Runs{}
	err := providerserver.Serve(context.Background(), provider.New(version, runs), providerserver.ServeOpts{
		Address: provider.Address, Debug: *debug, ProtocolVersion: 6,
	})
	runs.GiveUp(farewell)
	if err != nil {
		log.Fatal(err)
	}
}
