package resources

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// ConnectionField is one attribute of a connection, as the provider (`connection`) and slipway_node (`connect`) have
// it. The table [ConnectionFields] is the one place that says what a connection is made of: schemas, environment
// variables and documentation come from it.
type ConnectionField struct {
	Name        string
	Kind        FieldKind
	Required    bool
	Sensitive   bool
	Description string
	Default     string // what counts when neither node, provider nor environment say anything; empty: nothing
	Form        string // how the environment variable is written, where that is not plain
	// Parse sets the field from the text of an environment variable. Its error does not repeat a sensitive text. The
	// fields of a hop have none.
	Parse func(c *site.Connection, text string) error

	strings  []validator.String
	integers []validator.Int64
	// file is whether a node's field names a file that a run needs. The provider looks for its own when it is
	// configured, with those of the environment.
	file bool
}

// FieldKind is the kind of value that a connection field takes.
type FieldKind int

// The kinds of connection fields.
const (
	TextField FieldKind = iota
	NumberField
	FlagField
	LinesField    // a list of strings
	BastionsField // a list of hops
)

// EnvironmentPrefix begins the names of all environment variables of slipway.
const EnvironmentPrefix = "SLIPWAY_"

// Environment is the variable that gives the provider's default for the field.
func (f ConnectionField) Environment() string { return EnvironmentPrefix + strings.ToUpper(f.Name) }

// ConnectionFields returns the table.
func ConnectionFields() []ConnectionField {
	notEmpty := []validator.String{stringvalidator.LengthAtLeast(1)}
	return []ConnectionField{
		{Name: "user", Description: "User to log in as.", Default: "root", strings: notEmpty,
			Parse: text(func(c *site.Connection) *string { return &c.User })},
		{Name: "port", Kind: NumberField, Description: "Port of the SSH server, 1 to 65535.", Default: "22",
			integers: []validator.Int64{int64validator.Between(1, 65535)}, Parse: parsePort},
		{Name: "private_key", Sensitive: true, Description: "Private key, PEM text. Give either this or `private_key_file`.",
			strings: notEmpty,
			Parse:   text(func(c *site.Connection) *string { return &c.PrivateKey })},
		{Name: "private_key_file", Description: "File that holds the private key; `~` is the home directory of the user who runs Terraform.", strings: notEmpty, file: true,
			Parse: text(func(c *site.Connection) *string { return &c.PrivateKeyFile })},
		{Name: "passphrase", Sensitive: true, Description: "Passphrase of the private key.", strings: notEmpty,
			Parse: text(func(c *site.Connection) *string { return &c.Passphrase })},
		{Name: "certificate", Description: "OpenSSH certificate that belongs to the private key, as text (the content of `id_ed25519-cert.pub`).", strings: notEmpty,
			Parse: text(func(c *site.Connection) *string { return &c.Certificate })},
		{Name: "agent", Kind: FlagField,
			Description: "Whether to use the keys of the SSH agent at `SSH_AUTH_SOCK`. Left out, the agent is used where no private key is given.",
			Parse:       flag(func(c *site.Connection, b *bool) { c.Agent = b })},
		{Name: "known_hosts", Kind: LinesField,
			Description: "Host keys to trust, as lines of a `known_hosts` file. An empty list trusts none besides those of `known_hosts_file`.", Form: "one per line",
			Parse: parseKnownHosts},
		{Name: "known_hosts_file", Description: "File with the host keys to trust, in the format of OpenSSH; `~` is the home directory of the user who runs Terraform.", strings: notEmpty,
			Parse: text(func(c *site.Connection) *string { return &c.KnownHostsFile })},
		{Name: "host_key_policy", Description: "`strict` connects only to nodes whose host key is known; `accept-new` trusts a node without a known key at the first contact and remembers its key in `known_hosts_file`. A key that changed is always refused.",
			Default: "strict", strings: []validator.String{stringvalidator.OneOf(hostKeyPolicies...)},
			Parse: oneOf(hostKeyPolicies, func(c *site.Connection) *string { return &c.HostKeyPolicy })},
		{Name: "bastions", Kind: BastionsField,
			Description: "Chain of jump hosts: the first is reached from here, each next one through the one before, the node through the last. " +
				"An empty list connects directly.", Form: "`user@host:port`, separated by commas; user and port may be left out",
			Parse: parseBastions},
		{Name: "sudo", Kind: FlagField, Description: "Whether to become root through `sudo` after logging in.",
			Default: "false",
			Parse:   flag(func(c *site.Connection, b *bool) { c.Sudo = b })},
		{Name: "sudo_password", Sensitive: true, Description: "Password for `sudo`.", strings: notEmpty,
			Parse: text(func(c *site.Connection) *string { return &c.SudoPassword })},
		{Name: "connect_timeout", Description: "Bound on connecting and logging in, over all jump hosts, as a duration such as `30s`.", Default: "10s",
			strings: []validator.String{durationValidator()}, Parse: parseConnectTimeout},
		{Name: "transport", Description: "`ssh`, or `local` for the machine that runs Terraform or a folder on it (see `root`).", Default: "ssh",
			strings: []validator.String{stringvalidator.OneOf(transports...)},
			Parse:   oneOf(transports, func(c *site.Connection) *string { return &c.Transport })},
		{Name: "root", Description: "For transport `local`: the folder that stands for the node's file system, as a sandbox. Left out, the machine itself is the node.", strings: notEmpty,
			Parse: text(func(c *site.Connection) *string { return &c.Root })},
	}
}

// hopFields is the table of what one hop of `bastions` is made of.
func hopFields() []ConnectionField {
	const ofConnection = " Default: that of the connection."
	notEmpty := []validator.String{stringvalidator.LengthAtLeast(1)}
	return []ConnectionField{
		{Name: "host", Required: true, Description: "Host name or IP address.",
			strings: []validator.String{addressValidator()}},
		{Name: "port", Kind: NumberField, Description: "Port of the SSH server, 1 to 65535.", Default: "22",
			integers: []validator.Int64{int64validator.Between(1, 65535)}},
		{Name: "user", Description: "User to log in as." + ofConnection, strings: notEmpty},
		{Name: "private_key", Sensitive: true, Description: "Private key, PEM text. Give either this or `private_key_file`." +
			ofConnection, strings: notEmpty},
		{Name: "private_key_file", Description: "File that holds the private key." + ofConnection, strings: notEmpty,
			file: true},
	}
}

var (
	hostKeyPolicies = []string{"strict", "accept-new"}
	transports      = []string{"ssh", "local"}
)

func text(field func(*site.Connection) *string) func(*site.Connection, string) error {
	return func(c *site.Connection, s string) error {
		*field(c) = s
		return nil
	}
}

func oneOf(allowed []string, field func(*site.Connection) *string) func(*site.Connection, string) error {
	return func(c *site.Connection, s string) error {
		for _, a := range allowed {
			if s == a {
				*field(c) = s
				return nil
			}
		}
		return fmt.Errorf("%q is not one of %s", s, strings.Join(allowed, ", "))
	}
}

func flag(set func(*site.Connection, *bool)) func(*site.Connection, string) error {
	return func(c *site.Connection, s string) error {
		b, err := strconv.ParseBool(s)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		set(c, &b)
		return nil
	}
}

func parsePort(c *site.Connection, s string) error {
	port, err := portNumber(s)
	c.Port = port
	return err
}

func portNumber(s string) (int, error) {
	port, err := strconv.Atoi(s)
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("%q is not a port; give a whole number from 1 to 65535", s)
	}
	return port, nil
}

func parseConnectTimeout(c *site.Connection, s string) error {
	d, err := document.ParseDuration(s)
	c.ConnectTimeout = d
	return err
}

func parseKnownHosts(c *site.Connection, s string) error {
	c.KnownHosts = nil
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			c.KnownHosts = append(c.KnownHosts, line)
		}
	}
	return nil
}

// parseBastions reads `user@host:port,...`. A bare IPv6 address has no port; with one it is written in brackets.
func parseBastions(c *site.Connection, s string) error {
	c.Bastions = nil
	for hop := range strings.SplitSeq(s, ",") {
		b, err := parseBastion(strings.TrimSpace(hop))
		if err != nil {
			return err
		}
		c.Bastions = append(c.Bastions, b)
	}
	return nil
}

func parseBastion(hop string) (site.Bastion, error) {
	var b site.Bastion
	host := hop
	if at := strings.LastIndexByte(hop, '@'); at >= 0 {
		b.User, host = hop[:at], hop[at+1:]
		if b.User == "" {
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
			b.Port = port
		}
		host = inside
	case strings.Count(host, ":") == 1:
		name, digits, _ := strings.Cut(host, ":")
		port, err := portNumber(digits)
		if err != nil {
			return b, fmt.Errorf("%q: %w", hop, err)
		}
		b.Port, host = port, name
	}
	if host == "" || strings.ContainsAny(host, " \t/") {
		return b, fmt.Errorf("%q is not a jump host; write user@host:port", hop)
	}
	b.Host = host
	return b, nil
}
