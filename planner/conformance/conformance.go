// Package conformance replays vector files against the planner's packages: behaviour as data, with one subtest per
// vector. It has tests only. `go test ./planner/conformance -run TestVectors/airship` replays one file of testdata; the
// environment variable SLIPWAY_VECTORS names another directory (an absolute path) to take all files from.
//
// A kind of vector that no code handles is a failure. To handle one, add it to the table in kinds_test.go.
package conformance
