package site

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
	out.Names = nil
	own := c.given()
	for name := range out.given() {
		written := defaults.Names[name]
		if _, is := own[name]; is {
			written = c.Names[name]
		}
		if written != "" {
			if out.Names == nil {
				out.Names = map[string]string{}
			}
			out.Names[name] = written
		}
	}
	return out
}

// WrittenAs returns the connection with what it gives under the names that written has of the attributes.
func (c Connection) WrittenAs(written func(attribute string, secret bool) string) Connection {
	given := c.given()
	if c.Names = nil; len(given) > 0 {
		c.Names = make(map[string]string, len(given))
	}
	for name, secret := range given {
		c.Names[name] = written(name, secret)
	}
	return c
}

// OfNode returns the connection as that of a node: what it gives is named as attributes of connect.
func (c Connection) OfNode() Connection {
	return c.WrittenAs(func(attribute string, secret bool) string {
		if secret {
			return "connect.credentials." + attribute
		}
		return "connect." + attribute
	})
}

// Named returns an attribute as the user wrote it, such as `connect.user` for one that a node gives, for errors. One
// that nobody gives, or the provider does, is `connection.user`. It may be one of a bastion: `bastions[0].user`.
func (c Connection) Named(attribute string) string {
	whole, rest, _ := strings.Cut(attribute, "[")
	name, given := c.Names[whole]
	switch hop, secret := strings.CutSuffix(rest, "private_key"); {
	case !given:
		return "connection." + attribute
	case rest == "", name == SSHConfigFile:
		return name
	case secret && strings.HasPrefix(name, "connect."):
		return name + "[" + hop + "credentials.private_key"
	}
	return name + "[" + rest
}

// given returns the attributes that c says something of, and which of them are secrets.
func (c Connection) given() map[string]bool {
	out := map[string]bool{}
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("key"), ",")
		if name != "" && !v.Field(i).IsZero() {
			out[name] = options == "secret"
		}
	}
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
