package provider

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/resources"
)

// environment is a set of variables for tests.
type environment map[string]string

func (e environment) get(name string) string { return e[name] }

func TestEnvironment(t *testing.T) {
	yes, no := true, false
	cases := []struct {
		variable, text string
		want           site.Connection
		wrong          string
	}{
		{"SLIPWAY_USER", "ops", site.Connection{User: "ops"}, ""},
		{"SLIPWAY_PORT", "2222", site.Connection{Port: 2222}, ""},
		{"SLIPWAY_PORT", "0", site.Connection{}, `connection.port: "0" is not a port; give a whole number from 1 to 65535`},
		{"SLIPWAY_PORT", "ssh", site.Connection{}, `"ssh" is not a port`},
		{"SLIPWAY_PRIVATE_KEY", "PEM\nPEM", site.Connection{PrivateKey: "PEM\nPEM"}, ""},
		{"SLIPWAY_PRIVATE_KEY_FILE", "~/.ssh/id", site.Connection{PrivateKeyFile: "~/.ssh/id"}, ""},
		{"SLIPWAY_PASSPHRASE", " s ", site.Connection{Passphrase: " s "}, ""},
		{"SLIPWAY_CERTIFICATE", "cert", site.Connection{Certificate: "cert"}, ""},
		{"SLIPWAY_AGENT", "true", site.Connection{Agent: &yes}, ""},
		{"SLIPWAY_AGENT", "0", site.Connection{Agent: &no}, ""},
		{"SLIPWAY_AGENT", "maybe", site.Connection{}, `"maybe" is neither true nor false`},
		{"SLIPWAY_KNOWN_HOSTS", "a ssh-ed25519 A\r\n\n b,c ssh-rsa B \n", site.Connection{KnownHosts: []string{"a ssh-ed25519 A", "b,c ssh-rsa B"}}, ""},
		{"SLIPWAY_KNOWN_HOSTS_FILE", "known", site.Connection{KnownHostsFile: "known"}, ""},
		{"SLIPWAY_HOST_KEY_POLICY", "accept-new", site.Connection{HostKeyPolicy: "accept-new"}, ""},
		{"SLIPWAY_HOST_KEY_POLICY", "ignore", site.Connection{}, `"ignore" is not one of strict, accept-new`},
		{"SLIPWAY_BASTIONS", "jump", site.Connection{Bastions: []site.Bastion{{Host: "jump"}}}, ""},
		{"SLIPWAY_BASTIONS", "a@b@jump:2222, [2001:db8::1]:23,2001:db8::2", site.Connection{Bastions: []site.Bastion{
			{User: "a@b", Host: "jump", Port: 2222}, {Host: "2001:db8::1", Port: 23}, {Host: "2001:db8::2"}}}, ""},
		{"SLIPWAY_BASTIONS", "u@[2001:db8::1]", site.Connection{Bastions: []site.Bastion{{User: "u", Host: "2001:db8::1"}}}, ""},
		{"SLIPWAY_BASTIONS", "jump,", site.Connection{}, `"" is not a jump host`},
		{"SLIPWAY_BASTIONS", "@jump", site.Connection{}, "has no user before the @"},
		{"SLIPWAY_BASTIONS", "jump:ssh", site.Connection{}, `"ssh" is not a port`},
		{"SLIPWAY_BASTIONS", "[::1", site.Connection{}, "write an IPv6 address with a port as [address]:port"},
		{"SLIPWAY_SSH_CONFIG", "true", site.Connection{SSHConfig: &yes}, ""},
		{"SLIPWAY_SUDO", "true", site.Connection{Sudo: &yes}, ""},
		{"SLIPWAY_SUDO_PASSWORD", "pw", site.Connection{SudoPassword: "pw"}, ""},
		{"SLIPWAY_CONNECT_TIMEOUT", "10s", site.Connection{ConnectTimeout: 10 * time.Second}, ""},
		{"SLIPWAY_CONNECT_TIMEOUT", "10", site.Connection{}, `"10" is not a duration`},
		{"SLIPWAY_TRANSPORT", "local", site.Connection{Transport: "local"}, ""},
		{"SLIPWAY_TRANSPORT", "telnet", site.Connection{}, `"telnet" is not one of ssh, local`},
		{"SLIPWAY_ROOT", "/tmp/x", site.Connection{Root: "/tmp/x"}, ""},
	}
	tested := map[string]bool{}
	for _, tt := range cases {
		tested[tt.variable] = true
		t.Run(tt.variable+"="+tt.text, func(t *testing.T) {
			got, diags := connectionFromEnvironment(environment{tt.variable: tt.text}.get)
			if tt.wrong == "" {
				if diags.HasError() {
					t.Fatal(diags)
				}
				if written := got.Named(strings.ToLower(strings.TrimPrefix(tt.variable, "SLIPWAY_"))); written != tt.variable {
					t.Errorf("errors name it %s", written)
				}
				got.Names = nil
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			if len(diags) != 1 || !strings.Contains(diags[0].Detail(), tt.wrong) || !strings.Contains(diags[0].Summary(), tt.variable) {
				t.Errorf("got %v, want one that names %s and says %s", diags, tt.variable, tt.wrong)
			}
		})
	}
	for _, f := range resources.ConnectionFields() {
		if !tested[f.Environment()] {
			t.Errorf("%s has no test", f.Environment())
		}
	}
}

func TestEnvironmentErrorsComeTogether(t *testing.T) {
	_, diags := connectionFromEnvironment(environment{"SLIPWAY_PORT": "x", "SLIPWAY_SUDO": "x", "SLIPWAY_PRIVATE_KEY": "k", "SLIPWAY_PRIVATE_KEY_FILE": "f"}.get)
	if len(diags) != 3 {
		t.Errorf("got %d diagnostics, want 3: %v", len(diags), diags)
	}
}

func FuzzBastions(f *testing.F) {
	for _, s := range []string{"jump", "u@jump:22,[::1]:23", "@", "[", "[]:", "a@b@c", ":1", ","} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, diags := connectionFromEnvironment(environment{"SLIPWAY_BASTIONS": s}.get)
		if diags.HasError() {
			return
		}
		for _, b := range c.Bastions {
			if b.Host == "" || b.Port < 0 || b.Port > 65535 {
				t.Errorf("%q was taken as %+v", s, c.Bastions)
			}
		}
	})
}
