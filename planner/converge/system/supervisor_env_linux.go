//go:build !race

package system

// supervisorEnv is the environment of a supervisor, which needs none.
var supervisorEnv = []string{}
