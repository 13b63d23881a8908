package site

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// defaultPort is the port of a node or jump host that gives none.
const defaultPort = 22

// Place returns the machine of the node as its address and connection describe it: `10.0.0.1:22`, `10.0.0.1:22 through
// gate:22`, `the folder /srv/sandbox`. Nodes with the same result are one machine; a machine that can be reached in two
// ways may have two results. The node must carry the connection that counts for it ([Connection.Over]).
func (n Node) Place() string {
	c := n.Connection
	switch {
	case n.IsFolder():
		return "the folder " + path.Clean("/"+c.Root)
	case c.Transport == "local":
		return "this machine"
	}
	place := endpoint(n.Address, c.Port)
	if len(c.Bastions) == 0 {
		return place
	}
	hops := make([]string, len(c.Bastions))
	for i, b := range c.Bastions {
		hops[i] = endpoint(b.Host, b.Port)
	}
	return place + " through " + strings.Join(hops, ", ")
}

// IsFolder reports whether the node is a sandbox: a folder of the controller that stands for its file system. The node
// must carry the connection that counts for it.
func (n Node) IsFolder() bool {
	return n.Connection.Transport == "local" && path.Clean("/"+n.Connection.Root) != "/"
}

// endpoint writes host and port in one form.
func endpoint(host string, port int) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	if port == 0 {
		port = defaultPort
	}
	if strings.Contains(host, ":") { // IPv6
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

// ValidatePlaces reports nodes that cannot be reached, and nodes that are the same machine, which would undo each
// other's changes. The nodes must carry the connections that count for them. [Site.Validate] checks what a node says of
// itself.
func ValidatePlaces(nodes []Node) invalid.Errors {
	var errs invalid.Errors
	report := func(n Node, attribute string, code invalid.Code, format string, args ...any) {
		errs = append(errs, invalid.Error{Object: "node", Name: n.Name, Attribute: attribute, Code: code,
			Message: fmt.Sprintf(format, args...)})
	}
	at := make(map[string]string, len(nodes)) // place -> node
	for _, n := range slices.SortedStableFunc(slices.Values(nodes),
		func(a, b Node) int { return strings.Compare(a.Name, b.Name) }) {
		c := n.Connection
		if written := c.Named("root"); c.Transport == "" && c.Root != "" {
			if c.Names["root"] == "connect.root" {
				report(n, "connection.root", invalid.BadValue, onlyLocalHasRoot)
			} else {
				report(n, "", invalid.BadValue, "%s: %s", written, onlyLocalHasRoot)
			}
			continue
		}
		if c.Transport != "local" && n.Address == "" {
			if c.Transport == "" {
				report(n, "address", invalid.MissingField, needsAddress)
			}
			continue
		}
		place := n.Place()
		if other, taken := at[place]; taken && other != n.Name {
			attribute := "address"
			if c.Transport == "local" {
				attribute = "connection.root"
			}
			report(n, attribute, invalid.SameMachine,
				"is %s, and so is the node %q; a machine is one node, so keep one of the two", place, other)
			continue
		}
		at[place] = n.Name
	}
	return errs
}

const (
	needsAddress     = "is needed to reach the node over ssh; give a host name or an address, or use transport = \"local\""
	onlyLocalHasRoot = "only a local node has a root; set transport = \"local\", or leave root out"
)
