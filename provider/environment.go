package provider

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources"
)

const (
	journalVariable          = resources.EnvironmentPrefix + "JOURNAL"
	journalDirectoryVariable = resources.EnvironmentPrefix + "JOURNAL_DIRECTORY"
)

// connectionFromEnvironment reads the connection from the variables of [resources.ConnectionFields]. A variable that is
// empty counts as not set. All errors are reported together; none shows a secret.
func connectionFromEnvironment(getenv func(string) string) (site.Connection, diag.Diagnostics) {
	var diags diag.Diagnostics
	given := map[string]any{}
	fail := func(f resources.ConnectionField, wrong any) {
		diags.AddError("Invalid environment variable "+f.Environment(),
			fmt.Sprintf("%s gives the provider's connection.%s: %v. Set it right, or unset it.", f.Environment(), f.Name, wrong))
	}
	fields := resources.ConnectionFields()
	for _, f := range fields {
		if text := getenv(f.Environment()); text != "" {
			value, err := environmentValue(f, text)
			if err != nil {
				fail(f, err)
				continue
			}
			given[f.Name] = value
		}
	}
	c, _, errs := document.NewValues(false).Connection(given)
	for _, wrong := range errs {
		for _, f := range fields {
			if wrong.Attribute == f.Name {
				fail(f, wrong.Message)
			}
		}
	}
	if c.PrivateKey != "" && c.PrivateKeyFile != "" {
		diags.AddError("Both SLIPWAY_PRIVATE_KEY and SLIPWAY_PRIVATE_KEY_FILE are set",
			"Give the private key as text or as a file, not both: unset one of the two variables.")
	}
	return c.WrittenAs(func(attribute string, _ bool) string {
		return resources.ConnectionField{Name: attribute}.Environment()
	}), diags
}

// environmentValue returns the text of a variable as a configuration would have it. The error does not repeat a
// sensitive text.
func environmentValue(f resources.ConnectionField, text string) (any, error) {
	switch f.Kind {
	case resources.NumberField:
		return portNumber(text)
	case resources.FlagField:
		flag, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return flag, nil
	case resources.LinesField:
		var lines []any
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		return lines, nil
	case resources.BastionsField:
		var hops []any
		for hop := range strings.SplitSeq(text, ",") {
			b, err := parseBastion(strings.TrimSpace(hop))
			if err != nil {
				return nil, err
			}
			hops = append(hops, b)
		}
		return hops, nil
	}
	if len(f.Allowed) > 0 && !slices.Contains(f.Allowed, text) {
		return nil, fmt.Errorf("%q is not one of %s", text, strings.Join(f.Allowed, ", "))
	}
	return text, nil
}

func portNumber(s string) (int64, error) {
	port, err := strconv.ParseInt(s, 10, 64)
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("%q is not a port; give a whole number from 1 to 65535", s)
	}
	return port, nil
}

// parseBastion reads `user@host:port`. A bare IPv6 address has no port; with one it is written in brackets.
func parseBastion(hop string) (map[string]any, error) {
	b := map[string]any{}
	host := hop
	if at := strings.LastIndexByte(hop, '@'); at >= 0 {
		b["user"], host = hop[:at], hop[at+1:]
		if at == 0 {
			return b, fmt.Errorf("%q has no user before the @; write user@host:port", hop)
		}
	}
	switch {
	case strings.HasPrefix(host, "["):
		inside, rest, closed := strings.Cut(host[1:], "]")
		if !closed || (rest != "" && rest[0] != ':') {
			return b, fmt.Errorf("%q is not a host; write an IPv6 address with a port as [address]:port", hop)
		}
		if rest != "" {
			port, err := portNumber(rest[1:])
			if err != nil {
				return b, fmt.Errorf("%q: %w", hop, err)
			}
			b["port"] = port
		}
		host = inside
	case strings.Count(host, ":") == 1:
		name, digits, _ := strings.Cut(host, ":")
		port, err := portNumber(digits)
		if err != nil {
			return b, fmt.Errorf("%q: %w", hop, err)
		}
		b["port"], host = port, name
	}
	if host == "" || strings.ContainsAny(host, " \t/") {
		return b, fmt.Errorf("%q is not a jump host; write user@host:port", hop)
	}
	b["host"] = host
	return b, nil
}

// ConnectionFromEnvironment reads the provider's connection from the environment, for those who run without Terraform.
func ConnectionFromEnvironment(getenv func(string) string) (site.Connection, error) {
	c, diags := connectionFromEnvironment(getenv)
	var errs []error
	for _, d := range diags.Errors() {
		errs = append(errs, errors.New(d.Detail()))
	}
	return c, errors.Join(errs...)
}

// journal is the URL of the configured database and the configured folder, else what the environment says, else the
// default folder. What is configured counts before the environment.
func (p *slipway) journal(m modelV0) (databaseURL, folder string, diags diag.Diagnostics) {
	folder = cmp.Or(m.JournalDirectory.ValueString(), p.getenv(journalDirectoryVariable), journal.DefaultDirectory)
	switch {
	case !m.Journal.IsNull():
		databaseURL = m.Journal.ValueString() // empty while it is not known
		if err := journal.CheckURL(databaseURL); err != nil && !m.Journal.IsUnknown() {
			diags.AddAttributeError(path.Root("journal"), "Invalid journal", "journal: "+err.Error()+".")
		}
	case m.JournalDirectory.IsNull() && p.getenv(journalVariable) != "":
		databaseURL = p.getenv(journalVariable)
		if err := journal.CheckURL(databaseURL); err != nil {
			diags.AddError("Invalid environment variable "+journalVariable, journalVariable+": "+err.Error()+".")
		}
	}
	return databaseURL, folder, diags
}
