package main

import (
	"os"
	"time"

	"github.com/slipway/terraform-provider-slipway/resources"
)

// orphanCheck is the time between two looks at whether Terraform is still there.
const orphanCheck = time.Second

// endWithParent ends the process when the one that started it is gone and no run is at work any more. A Terraform that is killed, by the end of its
// terminal say (terraform.md 5.7), tells its providers nothing, and their library would wait for it for ever. It costs the run its connection, so that
// it comes to an orderly end by itself. Where a process does not learn that its parent is gone, as on Windows, nothing happens.
func endWithParent(parent int, runs *resources.Runs) {
	for range time.Tick(orphanCheck) {
		if os.Getppid() != parent {
			runs.Wait()
			os.Exit(1)
		}
	}
}
