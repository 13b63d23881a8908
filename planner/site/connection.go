package site

import (
	"cmp"
	"fmt"
	"slices"
)

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
		out.PrivateKey = cmp.Or(c.PrivateKey, defaults.PrivateKey)
		out.PrivateKeyFile = cmp.Or(c.PrivateKeyFile, defaults.PrivateKeyFile)
		out.Passphrase = cmp.Or(c.Passphrase, defaults.Passphrase)
		out.Certificate = cmp.Or(c.Certificate, defaults.Certificate)
		out.Agent = cmp.Or(c.Agent, defaults.Agent)
	}
	if c.Transport != "ssh" {
		out.Root = cmp.Or(c.Root, defaults.Root)
	}
	out.Transport = cmp.Or(c.Transport, defaults.Transport)
	out.User = cmp.Or(c.User, defaults.User)
	out.Port = cmp.Or(c.Port, defaults.Port)
	out.KnownHostsFile = cmp.Or(c.KnownHostsFile, defaults.KnownHostsFile)
	out.HostKeyPolicy = cmp.Or(c.HostKeyPolicy, defaults.HostKeyPolicy)
	out.SSHConfig = cmp.Or(c.SSHConfig, defaults.SSHConfig)
	out.Sudo = cmp.Or(c.Sudo, defaults.Sudo)
	out.SudoPassword = cmp.Or(c.SudoPassword, defaults.SudoPassword)
	out.ConnectTimeout = cmp.Or(c.ConnectTimeout, defaults.ConnectTimeout)
	if c.KnownHosts == nil {
		out.KnownHosts = defaults.KnownHosts
	}
	if c.Bastions == nil {
		out.Bastions = defaults.Bastions
	}
	out.KnownHosts = slices.Clone(out.KnownHosts)
	out.Bastions = slices.Clone(out.Bastions)
	out.Agent = clonePointer(out.Agent)
	out.SSHConfig = clonePointer(out.SSHConfig)
	out.Sudo = clonePointer(out.Sudo)
	return out
}

// SSHConfigFile is the user's configuration of OpenSSH, which a connection with ssh_config reads.
const SSHConfigFile = "~/.ssh/config"

// ConnectionFile is a file that a connection names, on the controller.
type ConnectionFile struct {
	Attribute string // of the connection, such as bastions[0].private_key_file
	Name      string // as it was written; ~/ is the home directory of the user who runs slipway
}

// Files returns the files that must be there for a node to be reached. A local node needs none, and accept-new makes
// that of the known hosts.
func (c Connection) Files() (files []ConnectionFile) {
	if c.Transport == "local" {
		return nil
	}
	add := func(attribute, name string) {
		if name != "" {
			files = append(files, ConnectionFile{attribute, name})
		}
	}
	add("private_key_file", c.PrivateKeyFile)
	if c.HostKeyPolicy != "accept-new" {
		add("known_hosts_file", c.KnownHostsFile)
	}
	if c.SSHConfig != nil && *c.SSHConfig {
		add("ssh_config", SSHConfigFile)
	}
	for i, b := range c.Bastions {
		add(fmt.Sprintf("bastions[%d].private_key_file", i), b.PrivateKeyFile)
	}
	return files
}

// namesKey reports whether c says where a key comes from.
func (c Connection) namesKey() bool {
	return c.PrivateKey != "" || c.PrivateKeyFile != "" || (c.Agent != nil && *c.Agent)
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
