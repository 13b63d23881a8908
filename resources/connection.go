package resources

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// ConnectionModelV0 is the provider's `connection` and a node's `connect`, at schema version 0.
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

// bastionModelV0 is one hop of `bastions`.
type bastionModelV0 struct {
	Host           types.String `tfsdk:"host"`
	Port           types.Int64  `tfsdk:"port"`
	User           types.String `tfsdk:"user"`
	PrivateKey     types.String `tfsdk:"private_key"`
	PrivateKeyFile types.String `tfsdk:"private_key_file"`
}

// Value returns the connection that the model describes. What is unknown is left unset, and known is then false. The problems
// carry attributes below the connection and neither object nor name.
func (m ConnectionModelV0) Value(ctx context.Context) (c site.Connection, known bool, problems site.Problems) {
	c = site.Connection{
		Transport: m.Transport.ValueString(), Root: m.Root.ValueString(),
		User: m.User.ValueString(), Port: int(m.Port.ValueInt64()),
		PrivateKey: m.PrivateKey.ValueString(), PrivateKeyFile: m.PrivateKeyFile.ValueString(), Passphrase: m.Passphrase.ValueString(),
		Certificate: m.Certificate.ValueString(), Agent: m.Agent.ValueBoolPointer(),
		KnownHostsFile: m.KnownHostsFile.ValueString(), HostKeyPolicy: m.HostKeyPolicy.ValueString(),
		Sudo: m.Sudo.ValueBoolPointer(), SudoPassword: m.SudoPassword.ValueString(),
	}
	known = !slices.ContainsFunc([]attr.Value{m.User, m.Port, m.PrivateKey, m.PrivateKeyFile, m.Passphrase, m.Certificate, m.Agent, m.KnownHosts,
		m.KnownHostsFile, m.HostKeyPolicy, m.Bastions, m.Sudo, m.SudoPassword, m.ConnectTimeout, m.Transport, m.Root}, attr.Value.IsUnknown)
	if m.Agent.IsUnknown() {
		c.Agent = nil
	}
	if m.Sudo.IsUnknown() {
		c.Sudo = nil
	}
	report := func(attribute string, code site.Code, message string) {
		problems = append(problems, site.Problem{Attribute: attribute, Code: code, Message: message})
	}
	if s := m.ConnectTimeout.ValueString(); s != "" {
		d, mistake := parseDuration(s)
		if mistake != "" {
			report("connect_timeout", site.BadValue, mistake)
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
		var b bastionModelV0
		if diags := object.As(ctx, &b, asGiven); diags.HasError() {
			report(fmt.Sprintf("bastions[%d]", i), site.BadStructure, "is not a jump host; write an object with a host")
			continue
		}
		known = known && !slices.ContainsFunc([]attr.Value{b.Host, b.Port, b.User, b.PrivateKey, b.PrivateKeyFile}, attr.Value.IsUnknown)
		c.Bastions = append(c.Bastions, site.Bastion{Host: b.Host.ValueString(), Port: int(b.Port.ValueInt64()), User: b.User.ValueString(),
			PrivateKey: b.PrivateKey.ValueString(), PrivateKeyFile: b.PrivateKeyFile.ValueString()})
	}
	return c, known, problems
}
