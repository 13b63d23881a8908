//go:build !linux

package converge

// What follows is never called: a node runs Linux.

func machineName() string { return "" }

func links() []link { return nil }
