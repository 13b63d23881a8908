// Package golden holds what an earlier slipway left on disk, and tests that this one goes on from it: Terraform's
// state with its private state, the ledgers of the nodes, the journals, and what plans of many changes showed.
//
// The site in testdata/site has something of everything that a configuration can have. It has two deployments.
// "folders" is on sandbox nodes, which the tests put back and refresh, change and destroy. "machines" is on nodes that
// run commands; they are there only when the files are made, and because its drift detection is off, plans never
// contact them.
//
// testdata/shared has the node of two sites, with the ledger that both have there.
//
// The files below testdata, the configurations excepted, are made by
//
//	go test ./test/golden -update
//
// as root, with SLIPWAY_MIRROR set as by `make test`, and written whole. They come from the commit that
// testdata/README names. A change of slipway that makes a test fail is an error, unless users are meant to see it:
// then only the files that it concerns are made anew, by
//
//	go test ./test/golden -update-plans
//
// which plans from the stored states and writes what the plans and the companion show. Only what an earlier slipway
// wrote proves that this one reads it, so new states are a last resort.
package golden
