package site

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// ValidateNodeNames reports names that no node may have, and those that more than one node has.
func ValidateNodeNames(nodes []Node) invalid.Errors {
	return validateNames("node", NodeNames(nodes), CheckFileName)
}

func validateNodes(nodes []Node) invalid.Errors {
	errs := ValidateNodeNames(nodes)
	for _, n := range nodes {
		errs = append(errs, n.validate()...)
	}
	return errs
}

func (n Node) validate() invalid.Errors {
	var errs invalid.Errors
	report := errs.Add
	for _, list := range []struct {
		attribute string
		values    []string
	}{{"tags", n.Tags}, {"roles", n.Roles}} {
		for i, v := range list.values {
			if strings.TrimSpace(v) == "" {
				report(fmt.Sprintf("%s[%d]", list.attribute, i), invalid.BadValue, "must not be empty")
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		// A selector writes a label as "key:value" with white space trimmed, so it could never select such a node.
		for _, side := range []struct{ what, text string }{{"key", key}, {"value", n.Labels[key]}} {
			attribute := fmt.Sprintf("labels[%q]", key)
			switch {
			case side.text == "":
				report(attribute, invalid.BadLabel, "the %s is empty, so no selector can name the label", side.what)
			case strings.Contains(side.text, ":"):
				report(attribute, invalid.BadLabel, "the %s %q holds a colon, so no selector can name the label", side.what,
					side.text)
			case strings.TrimSpace(side.text) != side.text:
				report(attribute, invalid.BadLabel,
					"the %s begins or ends with white space, so no selector can name the label; write %q",
					side.what, strings.TrimSpace(side.text))
			}
		}
	}
	if m := CheckFileName(n.Zone); n.Zone != "" && m != "" {
		report("zone", invalid.BadName, "%s", m)
	}
	n.validateConnection(report)
	return errs.Of("node", n.Name, "")
}

func (n Node) validateConnection(report func(attribute string, code invalid.Code, format string, args ...any)) {
	c := n.Connection
	switch c.Transport {
	case "", "local":
	case "ssh":
		if n.Address == "" {
			report("address", invalid.MissingField, needsAddress)
		}
		if c.Root != "" {
			report("connection.root", invalid.BadValue, onlyLocalHasRoot)
		}
	default:
		report("connection.transport", invalid.BadValue, "%q is not a transport; use \"ssh\" or \"local\"", c.Transport)
	}
	if c.Port < 0 || c.Port > 65535 {
		report("connection.port", invalid.BadValue, "%d is not a port; give a number from 1 to 65535", c.Port)
	}
	switch c.HostKeyPolicy {
	case "", "strict", "accept-new":
	default:
		report("connection.host_key_policy", invalid.BadValue, "%q is not a policy; use \"strict\" or \"accept-new\"",
			c.HostKeyPolicy)
	}
	if c.ConnectTimeout < 0 {
		report("connection.connect_timeout", invalid.BadValue, "%s is negative; give a time above zero", c.ConnectTimeout)
	}
	for i, b := range c.Bastions {
		if b.Host == "" {
			report(fmt.Sprintf("connection.bastions[%d].host", i), invalid.MissingField,
				"is needed: the host name or address of the bastion")
		}
		if b.Port < 0 || b.Port > 65535 {
			report(fmt.Sprintf("connection.bastions[%d].port", i), invalid.BadValue,
				"%d is not a port; give a number from 1 to 65535", b.Port)
		}
	}
}
