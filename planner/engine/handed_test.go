package engine

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// The error of a credential names it as it was written, and what it says to write instead is there: only a private key
// may be a file of the workers.
func TestHandedCredentials(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	written := func(name string) site.Connection {
		return site.Connection{PrivateKey: secret, Names: map[string]string{"private_key": name}}
	}
	for _, tt := range []struct {
		of                       site.Connection
		attribute, says, instead string // of what a node gives, says is after its name
	}{
		{site.Connection{PrivateKey: secret}, "private_key", "connection.private_key of the provider",
			"SLIPWAY_PRIVATE_KEY, or as a file that private_key_file names there"},
		{site.Connection{Passphrase: secret}, "passphrase", "connection.passphrase of the provider", "SLIPWAY_PASSPHRASE"},
		{site.Connection{SudoPassword: secret}, "sudo_password", "connection.sudo_password of the provider",
			"SLIPWAY_SUDO_PASSWORD"},
		{written("SLIPWAY_PRIVATE_KEY"), "private_key", "SLIPWAY_PRIVATE_KEY",
			"SLIPWAY_PRIVATE_KEY, or as a file that private_key_file names there"},
		{written("private_key_wo"), "private_key", "private_key_wo",
			"SLIPWAY_PRIVATE_KEY, or as a file that private_key_file names there"},
		{site.Connection{Bastions: []site.Bastion{{}, {PrivateKey: secret}}}, "bastions[1].credentials.private_key",
			"connection.bastions[1].private_key of the provider", "a file that private_key_file names there"},
	} {
		of := "connect." + tt.attribute
		if !strings.Contains(of, "credentials") {
			of = "connect.credentials." + tt.attribute
		}
		workers := &Engine{Handing: &Handing{}}
		node := &Planned{Plan: &planner.Plan{}, given: []site.Node{{Name: "a", Connection: tt.of}}}
		for what, errs := range map[string]Messages{tt.says: workers.Handed(nil, tt.of),
			`node "a": ` + of: workers.Handed(node, site.Connection{})} {
			if len(errs) != 1 {
				t.Errorf("%s: %v", what, errs)
				continue
			}
			m := errs[0].(*Message)
			if !strings.HasPrefix(m.Detail, what+" is a secret, ") || !strings.HasSuffix(m.Detail,
				"give it to the workers, as "+tt.instead+".") || strings.Contains(m.Error(), secret) {
				t.Errorf("no %q and %q in %q", what, tt.instead, m.Detail)
			}
			at := map[bool]string{true: "nodes"}[strings.HasPrefix(what, "node")]
			if what == "private_key_wo" {
				at = what
			}
			if m.Attribute != at {
				t.Errorf("%s: at %q", what, m.Attribute)
			}
		}
		if errs := (&Engine{}).Handed(node, tt.of); errs != nil {
			t.Errorf("without workers: %v", errs)
		}
	}
}
