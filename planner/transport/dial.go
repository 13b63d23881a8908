package transport

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Defaults of the attributes of a connection.
const (
	DefaultUser           = "root"
	DefaultPort           = 22
	DefaultConnectTimeout = 10 * time.Second
)

// Dial opens an SSH connection to a node, through the bastions of c in their order. address is the host name or address
// of the node, without a port; name is for errors only. The connect timeout bounds everything from the first packet to
// the end of authentication, over all hops. ctx bounds Dial but not the connection that it returns. All errors are
// [*Error].
//
// Keys are offered in this order: the certificate, the private key (text before file), the agent's. The agent at
// SSH_AUTH_SOCK is used when Agent is true, or when Agent is unset and there is no private key.
//
// With SSHConfig, address is a host as the user's configuration of OpenSSH names it, and what c lacks comes from there.
func Dial(ctx context.Context, c site.Connection, name, address string) (Conn, error) {
	return standard.dial(ctx, c, name, address)
}

// rules are the limits of a connection; tests shorten them.
type rules struct {
	interval        time.Duration // between two keepalive requests
	silentIntervals int           // the node is gone after this many intervals without a byte from it
	busy            time.Duration // how long a refused session is retried
}

// execution.md 2.3: a request every 2 s, and an error at most 8 s after the last byte.
var standard = rules{interval: 2 * time.Second, silentIntervals: 3, busy: 30 * time.Second}

// hop is one SSH server on the way to a node.
type hop struct {
	node    string
	named   func(attribute string) string // as [site.Connection.Named]
	written string                        // the attributes that say where it is
	title   string                        // "" for the node itself, `bastion "gw:22": ` before messages about a bastion
	address string                        // host:port
	user    string
	userAt  string // the attribute that says who
	keys    *keyring
	hosts   *hostKeys
}

// errorf returns an error about the hop.
func (h *hop) errorf(kind Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: kind, Node: h.node, Message: resource.Text(h.title) + resource.Textf(format, args...), Err: cause}
}

func (r rules) dial(ctx context.Context, c site.Connection, name, address string) (Conn, error) {
	limit := c.ConnectTimeout
	if limit <= 0 {
		limit = DefaultConnectTimeout
	}
	address, c, err := completed(c, name, address)
	if err != nil {
		return nil, err
	}
	hops, err := route(c, name, address)
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	agent, release, err := dialAgent(ctx, c, name)
	if err != nil {
		return nil, err
	}
	defer release()
	for _, h := range hops {
		if h.keys, err = h.keys.withAgent(name, agent); err != nil {
			return nil, err
		}
	}

	chain := &chain{}
	for _, h := range hops {
		if err := chain.extend(ctx, h, limit); err != nil {
			chain.close()
			return nil, err
		}
	}
	return newConnection(name, chain, r), nil
}

// route returns the hops to a node, the node last, with their host keys and all keys except those of the agent.
func route(c site.Connection, name, address string) ([]*hop, error) {
	if address == "" {
		return nil, &Error{Kind: Config, Node: name,
			Message: "address is not set: an SSH node needs a host name or address"}
	}
	hosts, err := newHostKeys(c, name)
	if err != nil {
		return nil, err
	}
	own, err := newKeyring(name, keySource{
		named: c.Named, key: c.PrivateKey, file: c.PrivateKeyFile, passphrase: c.Passphrase,
		certificate: c.Certificate,
	})
	if err != nil {
		return nil, err
	}
	var hops []*hop
	for i, b := range c.Bastions {
		of := fmt.Sprintf("bastions[%d]", i)
		h := &hop{
			node: name, named: c.Named, written: c.Named(of), address: hostPort(b.Host, b.Port),
			user: cmp.Or(b.User, c.User, DefaultUser), userAt: c.Named(of + ".user"), keys: own, hosts: hosts,
		}
		h.title = fmt.Sprintf("bastion %q: ", h.address)
		if b.Host == "" {
			return nil, &Error{Kind: Config, Node: name, Message: resource.Text(h.written) + ".host is not set"}
		}
		if b.User == "" && c.User != "" {
			h.userAt = c.Named("user")
		}
		if b.PrivateKey != "" || b.PrivateKeyFile != "" {
			h.keys, err = newKeyring(name, keySource{
				of: of + ".", named: c.Named, key: b.PrivateKey, file: b.PrivateKeyFile, passphrase: c.Passphrase,
			})
			if err != nil {
				return nil, err
			}
		}
		hops = append(hops, h)
	}
	return append(hops, &hop{
		node: name, named: c.Named, written: "the node's address and " + c.Named("port"), address: hostPort(address, c.Port),
		user: cmp.Or(c.User, DefaultUser), userAt: c.Named("user"), keys: own, hosts: hosts,
	}), nil
}

func hostPort(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(cmp.Or(port, DefaultPort)))
}
