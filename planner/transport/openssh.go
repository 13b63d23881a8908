package transport

import (
	"errors"
	"io/fs"
	"os"

	"github.com/slipway/terraform-provider-slipway/planner/enroll"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// completed returns the address and the connection of a node, with what the user's configuration of OpenSSH says of the
// address where the connection says nothing, if the connection asks for that. A key of the connection keeps those of
// the configuration away ([site.Connection.Over]).
func completed(c site.Connection, name, address string) (string, site.Connection, error) {
	if c.SSHConfig == nil || !*c.SSHConfig || address == "" {
		return address, c, nil
	}
	file, err := expand(site.SSHConfigFile)
	if err != nil {
		return "", c, &Error{Kind: Config, Node: name, Err: err,
			Message: resource.Textf("%s: %v", c.Named("ssh_config"), err)}
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", c, &Error{Kind: Config, Node: name, Err: err, Message: resource.Textf(
			"%s: %s: no such file; write it, or leave ssh_config out", c.Named("ssh_config"), file)}
	}
	if err != nil {
		return "", c, &Error{Kind: Config, Node: name, Err: err, Message: resource.Textf(
			"%s: %s cannot be read: %v", c.Named("ssh_config"), file, cause(err))}
	}
	address, said, err := enroll.Way(enroll.Source{Name: file, Data: text}, address)
	if err != nil {
		return "", c, &Error{Kind: Config, Node: name, Err: err,
			Message: resource.Textf("%s: %v", c.Named("ssh_config"), err)}
	}
	return address, c.Over(said.WrittenAs(func(string, bool) string { return site.SSHConfigFile })), nil
}
