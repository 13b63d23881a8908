package site

import "slices"

// Over returns the connection that counts for a node: c where c says something, else defaults, attribute by attribute.
//
// Three things belong together and are not mixed. A connection that names a source of keys (a private key, a key file,
// or agent = true) takes none of the defaults' sources, nor their passphrase and certificate: a key that the user did
// not mean for a node is never offered to it. Known hosts and bastions are replaced whole; an empty list that is not
// nil says "none". The defaults' Root is not taken by a connection that asks for SSH, where a root has no meaning.
//
// The result shares no memory with c or defaults.
func (c Connection) Over(defaults Connection) Connection {
	out := c
	if !c.namesKey() {
		out.PrivateKey = or(c.PrivateKey, defaults.PrivateKey)
		out.PrivateKeyFile = or(c.PrivateKeyFile, defaults.PrivateKeyFile)
		out.Passphrase = or(c.Passphrase, defaults.Passphrase)
		out.Certificate = or(c.Certificate, defaults.Certificate)
		out.Agent = or(c.Agent, defaults.Agent)
	}
	if c.Transport != "ssh" {
		out.Root = or(c.Root, defaults.Root)
	}
	out.Transport = or(c.Transport, defaults.Transport)
	out.User = or(c.User, defaults.User)
	out.Port = or(c.Port, defaults.Port)
	out.KnownHostsFile = or(c.KnownHostsFile, defaults.KnownHostsFile)
	out.HostKeyPolicy = or(c.HostKeyPolicy, defaults.HostKeyPolicy)
	out.Sudo = or(c.Sudo, defaults.Sudo)
	out.SudoPassword = or(c.SudoPassword, defaults.SudoPassword)
	out.ConnectTimeout = or(c.ConnectTimeout, defaults.ConnectTimeout)
	if c.KnownHosts == nil {
		out.KnownHosts = defaults.KnownHosts
	}
	if c.Bastions == nil {
		out.Bastions = defaults.Bastions
	}
	out.KnownHosts = slices.Clone(out.KnownHosts)
	out.Bastions = slices.Clone(out.Bastions)
	out.Agent = clonePointer(out.Agent)
	out.Sudo = clonePointer(out.Sudo)
	return out
}

// namesKey reports whether c says where a key comes from.
func (c Connection) namesKey() bool {
	return c.PrivateKey != "" || c.PrivateKeyFile != "" || (c.Agent != nil && *c.Agent)
}

// or returns value when it is set, else the default.
func or[T comparable](value, otherwise T) T {
	var unset T
	if value != unset {
		return value
	}
	return otherwise
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
