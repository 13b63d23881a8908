//go:build race

package system

// supervisorEnv keeps the race detector from its sleep of a second at the end of each supervisor.
var supervisorEnv = []string{"GORACE=atexit_sleep_ms=10"}
