package main

import (
	"os"
	"time"

	"github.com/slipway/terraform-provider-slipway/resources"
)

// orphanCheck is the interval of checks whether Terraform still runs.
const orphanCheck = time.Second

// endWithParent ends the process after its parent has ended and no run is active any more. A killed Terraform, for
// example by the end of its terminal (terraform.md 5.7), does not notify its providers, and their library would wait
// forever. The run loses its connection and stops by itself. Where getppid never changes, as on Windows, this does
// nothing.
func endWithParent(parent int, runs *resources.Runs) {
	for range time.Tick(orphanCheck) {
		if os.Getppid() != parent {
			runs.Wait()
			os.Exit(1)
		}
	}
}
