//go:build !linux

package supervisor

// Main does nothing: commands are run on Linux only.
func Main() {}
