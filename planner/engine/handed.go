package engine

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Handed reports what does not reach workers, where they execute the run of a plan: credentials of the nodes and of the
// defaults of their connections. Where the plan is nil, it reports those of the defaults.
func (e *Engine) Handed(p *Planned, defaults site.Connection) (m Messages) {
	if e.Handing == nil {
		return nil
	}
	m = credentials("", "", defaults)
	if p == nil {
		return m
	}
	for _, n := range p.given {
		m = append(m, credentials("nodes", fmt.Sprintf("node %q: ", n.Name), n.Connection.OfNode())...)
	}
	return m
}

// credentials reports those that a connection gives.
func credentials(attribute, of string, c site.Connection) (m Messages) {
	report := func(value, name, instead string) {
		if value == "" {
			return
		}
		named, at := c.Named(name), attribute
		switch {
		case named == "private_key_wo":
			at = named
		case strings.HasPrefix(named, "connection."):
			named += " of the provider"
		}
		m = append(m, &Message{Attribute: at, Summary: "A credential would travel", Detail: of + named + " is a secret, and " +
			"does not go to the workers of the engine, which have their own. Take it away, and give it to the workers, as " +
			instead + "."})
	}
	const file = " as a file that private_key_file names there"
	report(c.PrivateKey, "private_key", "SLIPWAY_PRIVATE_KEY, or"+file)
	report(c.Passphrase, "passphrase", "SLIPWAY_PASSPHRASE")
	report(c.SudoPassword, "sudo_password", "SLIPWAY_SUDO_PASSWORD")
	for i, b := range c.Bastions {
		report(b.PrivateKey, fmt.Sprintf("bastions[%d].private_key", i), strings.TrimPrefix(file, " as "))
	}
	return m
}
