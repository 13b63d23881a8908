package transport

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/outside"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Defaults of a connection whose attributes are unset.
const (
	DefaultUser           = "root"
	DefaultPort           = 22
	DefaultConnectTimeout = 10 * time.Second
)

// Dial opens an SSH connection to a node, through the bastions of c in their order. address is the node's host name or
// address without a port; name is used in errors only. The connect timeout bounds everything from the first packet to the
// end of authentication, over all hops; so does ctx, which has no influence on the connection once Dial returned. All errors
// are [*Error].
//
// Keys are offered in this order: the certificate, the private key (text before file), the agent's. The agent at
// SSH_AUTH_SOCK is used when Agent is true, or unset and there is no private key.
func Dial(ctx context.Context, c site.Connection, name, address string) (Conn, error) {
	return standard.dial(ctx, c, name, address)
}

// rules are the limits of a connection; tests shorten them.
type rules struct {
	beat        time.Duration // between two keepalive requests
	silentBeats int           // so many beats in a row without a byte from the node mean that it is gone
	busy        time.Duration // how long a refused session is asked for again
}

// execution.md 2.3: a request every 2 s, and an error at most 8 s after the last byte.
var standard = rules{beat: 2 * time.Second, silentBeats: 3, busy: 30 * time.Second}

// hop is one SSH server on the way to a node.
type hop struct {
	node      string
	attribute string // where the user wrote it: connection, connection.bastions[0]
	title     string // "" for the node itself, `bastion "gw:22": ` before messages about a bastion
	address   string // host:port
	user      string
	keys      *keyring
	hosts     *hostKeys
}

// errorf returns an error about the hop.
func (h *hop) errorf(kind Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: kind, Node: h.node, Message: outside.Text(h.title) + outside.Textf(format, args...), Err: cause}
}

func (r rules) dial(ctx context.Context, c site.Connection, name, address string) (Conn, error) {
	limit := c.ConnectTimeout
	if limit <= 0 {
		limit = DefaultConnectTimeout
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
		if h.keys, err = h.keys.with(name, agent); err != nil {
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

// route returns the hops to a node, the node itself last, with everything that verification needs and all keys but the agent's.
func route(c site.Connection, name, address string) ([]*hop, error) {
	if address == "" {
		return nil, &Error{Kind: Config, Node: name, Message: "address is not set: an SSH node needs a host name or address"}
	}
	hosts, err := newHostKeys(c, name)
	if err != nil {
		return nil, err
	}
	own, err := newKeyring(name, keySource{
		attribute: "connection", key: c.PrivateKey, file: c.PrivateKeyFile, passphrase: c.Passphrase, certificate: c.Certificate,
	})
	if err != nil {
		return nil, err
	}
	var hops []*hop
	for i, b := range c.Bastions {
		h := &hop{
			node: name, attribute: fmt.Sprintf("connection.bastions[%d]", i), address: hostPort(b.Host, b.Port),
			user: or(b.User, or(c.User, DefaultUser)), keys: own, hosts: hosts,
		}
		h.title = fmt.Sprintf("bastion %q: ", h.address)
		if b.Host == "" {
			return nil, &Error{Kind: Config, Node: name, Message: outside.Text(h.attribute) + ".host is not set"}
		}
		if b.PrivateKey != "" || b.PrivateKeyFile != "" {
			h.keys, err = newKeyring(name, keySource{
				attribute: h.attribute, key: b.PrivateKey, file: b.PrivateKeyFile, passphrase: c.Passphrase,
			})
			if err != nil {
				return nil, err
			}
		}
		hops = append(hops, h)
	}
	return append(hops, &hop{
		node: name, attribute: "connection", address: hostPort(address, c.Port),
		user: or(c.User, DefaultUser), keys: own, hosts: hosts,
	}), nil
}

func hostPort(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(or(port, DefaultPort)))
}

// or returns value when it is set, else the default.
func or[T comparable](value, otherwise T) T {
	var unset T
	if value != unset {
		return value
	}
	return otherwise
}
