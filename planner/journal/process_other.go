//go:build !linux

package journal

// processIdentity is empty: only Linux has identities, elsewhere a lease ends when its holder is silent.
func processIdentity() string { return "" }

// processEnded is always false, because processes have no identity.
func processEnded(string) bool { return false }
