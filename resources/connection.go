package resources

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/resources/values"
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
	Default     string   // what counts when neither node, provider nor environment say anything; empty: nothing
	Form        string   // how the environment variable is written, where that is not plain
	Allowed     []string // the texts that it may be; empty: any

	strings  []validator.String
	integers []validator.Int64
	hop      bool // of a hop, which no environment variable gives
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
		{Name: "user", Description: "User to log in as.", Default: "root", strings: notEmpty},
		{Name: "port", Kind: NumberField, Description: "Port of the SSH server, 1 to 65535.", Default: "22",
			integers: []validator.Int64{int64validator.Between(1, 65535)}},
		{Name: "private_key", Sensitive: true, Description: "Private key, PEM text. Give either this or `private_key_file`.",
			strings: notEmpty},
		{Name: "private_key_file", Description: "File that holds the private key; `~` is the home directory of the user who runs Terraform.", strings: notEmpty},
		{Name: "passphrase", Sensitive: true, Description: "Passphrase of the private key.", strings: notEmpty},
		{Name: "certificate", Description: "OpenSSH certificate that belongs to the private key, as text (the content of `id_ed25519-cert.pub`).", strings: notEmpty},
		{Name: "agent", Kind: FlagField,
			Description: "Whether to use the keys of the SSH agent at `SSH_AUTH_SOCK`. Left out, the agent is used where no private key is given."},
		{Name: "known_hosts", Kind: LinesField,
			Description: "Host keys to trust, as lines of a `known_hosts` file. An empty list trusts none besides those of `known_hosts_file`.", Form: "one per line"},
		{Name: "known_hosts_file", Description: "File with the host keys to trust, in the format of OpenSSH; `~` is the home directory of the user who runs Terraform.", strings: notEmpty},
		{Name: "host_key_policy", Description: "`strict` connects only to nodes whose host key is known; `accept-new` trusts a node without a known key at the first contact and remembers its key in `known_hosts_file`. A key that changed is always refused.",
			Default: "strict", Allowed: []string{"strict", "accept-new"}},
		{Name: "bastions", Kind: BastionsField,
			Description: "Chain of jump hosts: the first is reached from here, each next one through the one before, the node through the last. " +
				"An empty list connects directly.", Form: "`user@host:port`, separated by commas; user and port may be left out"},
		{Name: "ssh_config", Kind: FlagField, Default: "false",
			Description: "Whether a node's address is a host of `~/.ssh/config` on the machine that connects, which then says what no attribute does: `HostName`, `User`, `Port`, `IdentityFile` and `ProxyJump`. Its `Include` and `Match` are not evaluated."},
		{Name: "sudo", Kind: FlagField, Description: "Whether to become root through `sudo` after logging in.",
			Default: "false"},
		{Name: "sudo_password", Sensitive: true, Description: "Password for `sudo`.", strings: notEmpty},
		{Name: "connect_timeout", Description: "Bound on connecting and logging in, over all jump hosts, as a duration such as `30s`.", Default: "10s",
			strings: []validator.String{durationValidator()}},
		{Name: "transport", Description: "`ssh`, or `local` for the machine that runs Terraform or a folder on it (see `root`).", Default: "ssh",
			Allowed: []string{"ssh", "local"}},
		{Name: "root", Description: "For transport `local`: the folder that stands for the node's file system, as a sandbox. Left out, the machine itself is the node.", strings: notEmpty},
	}
}

// hopFields is the table of what one hop of `bastions` is made of.
func hopFields() []ConnectionField {
	const ofConnection = " Default: that of the connection."
	notEmpty := []validator.String{stringvalidator.LengthAtLeast(1)}
	return []ConnectionField{
		{hop: true, Name: "host", Required: true, Description: "Host name or IP address.",
			strings: []validator.String{addressValidator()}},
		{hop: true, Name: "port", Kind: NumberField, Description: "Port of the SSH server, 1 to 65535.", Default: "22",
			integers: []validator.Int64{int64validator.Between(1, 65535)}},
		{hop: true, Name: "user", Description: "User to log in as." + ofConnection, strings: notEmpty},
		{hop: true, Name: "private_key", Sensitive: true, Description: "Private key, PEM text. Give either this or `private_key_file`." +
			ofConnection, strings: notEmpty},
		{hop: true, Name: "private_key_file", Description: "File that holds the private key." + ofConnection, strings: notEmpty},
	}
}

// nodeConnection is the name of a node's connection. It is not `connection`, as in the provider, because Terraform
// keeps that name to itself in every resource.
const nodeConnection = "connect"

// nodeCredentials is the object that holds the secrets of a node's connection, and of each hop of it. They stand apart
// because Terraform marks every sensitive attribute of an object, also one that is null, and compares every mark with
// every value, again and again: with a thousand nodes that takes minutes. An object that is null has no marks.
const nodeCredentials = "credentials"

// nodeConnectionAttribute is `connect` of slipway_node.
func nodeConnectionAttribute() schema.SingleNestedAttribute {
	return object("How this node is reached, where it differs from the provider's `connection`. Each attribute given here counts instead of the provider's. A private key, key file or `agent = true` given here "+
		"keeps the provider's keys, passphrase and certificate away from this node.",
		connectionAttributes(ConnectionFields(), false), eitherKey(nodeCredentials)...)
}

// ProviderConnectionAttribute is `connection` of the provider.
func ProviderConnectionAttribute() schema.SingleNestedAttribute {
	return object("How nodes are reached. These are defaults: a node's own `connect` counts instead, attribute by attribute. What is given here is in no state and may come from an ephemeral value. "+
		"Configuration counts before the environment; a key that is configured here keeps all keys of the environment away.",
		connectionAttributes(ConnectionFields(), true), eitherKey("")...)
}

// stateNote goes with everything secret that a resource takes.
const stateNote = " It is kept in Terraform's state, as every attribute of a resource is; to keep it out, give it in the provider's `connection`, or use the agent or a key file."

// connectionAttributes returns the attributes of a connection, or of a hop. The framework takes attributes of resources
// in a provider's schema, too.
func connectionAttributes(fields []ConnectionField, ofProvider bool) map[string]schema.Attribute {
	attributes, secrets := make(map[string]schema.Attribute, len(fields)+1), make(map[string]schema.Attribute)
	for _, f := range fields {
		description, validators, either := f.Description, f.strings, eitherKey("")
		if len(f.Allowed) > 0 {
			validators = []validator.String{stringvalidator.OneOf(f.Allowed...)}
		}
		switch {
		case ofProvider:
			description += f.defaults()
		case f.Sensitive:
			secrets[f.Name] = schema.StringAttribute{Optional: true, Sensitive: true, Validators: validators,
				MarkdownDescription: description + stateNote}
			attributes[f.Name] = movedAttribute(invalid.PathTo(nodeCredentials, f.Name))
			continue
		}
		if !ofProvider {
			either = eitherKey(nodeCredentials)
		}
		switch f.Kind {
		case TextField:
			attributes[f.Name] = schema.StringAttribute{Required: f.Required, Optional: !f.Required, Sensitive: f.Sensitive,
				MarkdownDescription: description, Validators: validators}
		case NumberField:
			attributes[f.Name] = number(description, f.integers...)
		case FlagField:
			attributes[f.Name] = flag(description)
		case LinesField:
			attributes[f.Name] = list(description, listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1)))
		case BastionsField:
			attributes[f.Name] = schema.ListNestedAttribute{Optional: true, MarkdownDescription: description,
				Validators: []validator.List{values.NoNulls{}},
				NestedObject: schema.NestedAttributeObject{Validators: either,
					Attributes: connectionAttributes(hopFields(), ofProvider)}}
		}
	}
	if ofProvider {
		// Without the attribute, Terraform would leave out what was copied from a node without a word, and another key
		// would be offered.
		attributes[nodeCredentials] = schema.MapAttribute{Optional: true, Sensitive: true, ElementType: types.StringType,
			MarkdownDescription: "Refused: a node's `connect` has its secrets there, the provider has them beside everything else.", Validators: []validator.Map{misplaced()}}
		return attributes
	}
	attributes[nodeCredentials] = object("What is secret. It stands apart because Terraform walks every sensitive attribute of every node many times, also one that is not set; where nothing is secret, leave the object out.", secrets)
	return attributes
}

// defaults says where the provider takes the field from when it is not configured.
func (f ConnectionField) defaults() (text string) {
	if !f.hop {
		text = fmt.Sprintf(" May also be given as `%s`", f.Environment())
		if f.Form != "" {
			text += ": " + f.Form
		}
		text += "."
	}
	if f.Default != "" {
		text += fmt.Sprintf(" Default: `%s`.", f.Default)
	}
	return text
}

// movedAttribute stands where a secret stood in version 0 and refuses it. Without the attribute, Terraform would leave
// what is given there out without a word, and the node would be reached with another key.
func movedAttribute(to string) schema.Attribute {
	return text("Moved: give `"+to+"` instead.", moved(to))
}

// eitherKey refuses a connection or hop that gives its private key twice. secrets is the name of the object that has
// the secrets, if there is one.
func eitherKey(secrets string) []validator.Object {
	return []validator.Object{onlyOneOf("Give the private key as text or as a file, not both.",
		invalid.PathTo(secrets, "private_key"), "private_key_file")}
}
