package resources

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// ConnectionModelV0 is what the provider's `connection` and a node's `connect` have in common.
type ConnectionModelV0 struct {
	User           types.String `tfsdk:"user"`
	Port           types.Int64  `tfsdk:"port"`
	PrivateKey     types.String `tfsdk:"private_key"`
	PrivateKeyFile types.String `tfsdk:"private_key_file"`
	Passphrase     types.String `tfsdk:"passphrase"`
	Certificate    types.String `tfsdk:"certificate"`
	Agent          types.Bool   `tfsdk:"agent"`
	KnownHosts     types.List   `tfsdk:"known_hosts"`
	KnownHostsFile types.String `tfsdk:"known_hosts_file"`
	HostKeyPolicy  types.String `tfsdk:"host_key_policy"`
	Bastions       types.List   `tfsdk:"bastions"`
	Sudo           types.Bool   `tfsdk:"sudo"`
	SudoPassword   types.String `tfsdk:"sudo_password"`
	ConnectTimeout types.String `tfsdk:"connect_timeout"`
	Transport      types.String `tfsdk:"transport"`
	Root           types.String `tfsdk:"root"`
}

// ProviderConnectionModelV0 is the provider's `connection` as it is written.
type ProviderConnectionModelV0 struct {
	ConnectionModelV0
	Credentials types.Map `tfsdk:"credentials"` // refused
}

// Value returns the connection that the model describes. What is unknown is left unset, and known is then false. The
// errors carry attributes below the connection and neither object nor name.
func (m ProviderConnectionModelV0) Value(ctx context.Context) (c site.Connection, known bool, errs invalid.Errors) {
	return connectionOf[providerBastionModelV0](ctx, m.ConnectionModelV0)
}

// connectModelV1 is a node's `connect` at schema version 1. The secrets of the connection itself are those of version 0
// and null.
type connectModelV1 struct {
	ConnectionModelV0
	Credentials *credentialsModelV1 `tfsdk:"credentials"`
}

// credentialsModelV1 are the secrets of a node's `connect`.
type credentialsModelV1 struct {
	PrivateKey   types.String `tfsdk:"private_key"`
	Passphrase   types.String `tfsdk:"passphrase"`
	SudoPassword types.String `tfsdk:"sudo_password"`
}

// hopModel is a hop of `bastions`. known is false, and what is unknown left unset, when something of it is unknown.
type hopModel interface {
	value() (b site.Bastion, known bool)
}

// providerBastionModelV0 is a hop of the provider's `connection` as it is written.
type providerBastionModelV0 struct {
	bastionModelV0
	Credentials types.Map `tfsdk:"credentials"` // refused
}

// bastionModelV0 is a hop of the provider's `connection`.
type bastionModelV0 struct {
	Host           types.String `tfsdk:"host"`
	Port           types.Int64  `tfsdk:"port"`
	User           types.String `tfsdk:"user"`
	PrivateKey     types.String `tfsdk:"private_key"`
	PrivateKeyFile types.String `tfsdk:"private_key_file"`
}

// bastionModelV1 is a hop of a node's `connect` at schema version 1. The secret of the hop itself is that of version 0
// and null.
type bastionModelV1 struct {
	bastionModelV0
	Credentials *hopCredentialsModelV1 `tfsdk:"credentials"`
}

// hopCredentialsModelV1 are the secrets of a hop.
type hopCredentialsModelV1 struct {
	PrivateKey types.String `tfsdk:"private_key"`
}

func (m bastionModelV0) value() (b site.Bastion, known bool) {
	known = !slices.ContainsFunc([]attr.Value{m.Host, m.Port, m.User, m.PrivateKey, m.PrivateKeyFile},
		attr.Value.IsUnknown)
	return site.Bastion{Host: m.Host.ValueString(), Port: int(m.Port.ValueInt64()), User: m.User.ValueString(),
		PrivateKey: m.PrivateKey.ValueString(), PrivateKeyFile: m.PrivateKeyFile.ValueString()}, known
}

func (m bastionModelV1) value() (b site.Bastion, known bool) {
	if m.Credentials != nil {
		m.PrivateKey = m.Credentials.PrivateKey
	}
	return m.bastionModelV0.value()
}

// Value returns the connection that a wholly known model describes. The errors are those of
// [ProviderConnectionModelV0.Value].
func (m connectModelV1) Value(ctx context.Context) (site.Connection, invalid.Errors) {
	if secrets := m.Credentials; secrets != nil {
		m.PrivateKey, m.Passphrase, m.SudoPassword = secrets.PrivateKey, secrets.Passphrase, secrets.SudoPassword
	}
	c, _, errs := connectionOf[bastionModelV1](ctx, m.ConnectionModelV0)
	return c, errs
}

// connectionOf is [ProviderConnectionModelV0.Value] of a model whose hops are of type H.
func connectionOf[H hopModel](ctx context.Context, m ConnectionModelV0) (c site.Connection, known bool,
	errs invalid.Errors) {
	c = site.Connection{
		Transport: m.Transport.ValueString(), Root: m.Root.ValueString(),
		User: m.User.ValueString(), Port: int(m.Port.ValueInt64()),
		PrivateKey: m.PrivateKey.ValueString(), PrivateKeyFile: m.PrivateKeyFile.ValueString(),
		Passphrase:  m.Passphrase.ValueString(),
		Certificate: m.Certificate.ValueString(), Agent: m.Agent.ValueBoolPointer(),
		KnownHostsFile: m.KnownHostsFile.ValueString(), HostKeyPolicy: m.HostKeyPolicy.ValueString(),
		Sudo: m.Sudo.ValueBoolPointer(), SudoPassword: m.SudoPassword.ValueString(),
	}
	known = !slices.ContainsFunc([]attr.Value{m.User, m.Port, m.PrivateKey, m.PrivateKeyFile, m.Passphrase, m.Certificate,
		m.Agent, m.KnownHosts,
		m.KnownHostsFile, m.HostKeyPolicy, m.Bastions, m.Sudo, m.SudoPassword, m.ConnectTimeout, m.Transport, m.Root},
		attr.Value.IsUnknown)
	if m.Agent.IsUnknown() {
		c.Agent = nil
	}
	if m.Sudo.IsUnknown() {
		c.Sudo = nil
	}
	report := func(attribute string, code invalid.Code, message string) {
		errs = append(errs, invalid.Error{Attribute: attribute, Code: code, Message: message})
	}
	if s := m.ConnectTimeout.ValueString(); s != "" {
		d, wrong := parseDuration(s)
		if wrong != "" {
			report("connect_timeout", invalid.BadValue, wrong)
		}
		c.ConnectTimeout = d
	}
	var allKnown bool
	if c.KnownHosts, allKnown = stringsOf(m.KnownHosts); !allKnown {
		known = false
	}
	if !m.Bastions.IsNull() && !m.Bastions.IsUnknown() {
		c.Bastions = []site.Bastion{}
	}
	for i, element := range m.Bastions.Elements() {
		object, ok := element.(types.Object)
		if !ok || object.IsUnknown() {
			known = false
			continue
		}
		var hop H
		if diags := object.As(ctx, &hop, asGiven); diags.HasError() {
			report(fmt.Sprintf("bastions[%d]", i), invalid.BadStructure, "is not a jump host; write an object with a host")
			continue
		}
		b, hopKnown := hop.value()
		known = known && hopKnown
		c.Bastions = append(c.Bastions, b)
	}
	return c, known, errs
}
