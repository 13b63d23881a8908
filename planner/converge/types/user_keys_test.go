package types

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// purge_ssh_keys removes the keys of a user that no resource of any site manages, and nothing else; undo brings back
// those that were there before.
func TestPurgeSSHKeys(t *testing.T) {
	const (
		own    = "ssh-ed25519 " + edKey + " ann@home\n"
		old    = `from="10.0.0.1" ssh-rsa ` + rsaKey + " old laptop\n"
		bare   = "ssh-ed25519 " + ed2Key + "\n"
		others = "ssh-rsa " + rsaKey + " other site\n"
		head   = "# keys\n\n"
	)
	key := keyOf(t, "ann@home", resource.Parameters{"type": "ed25519", "key": edKey})
	user := func(purge any, more ...string) resource.Resource {
		p := resource.Parameters{"purge_ssh_keys": purge}
		for i := 0; i < len(more); i += 2 {
			p[more[i]] = more[i+1]
		}
		return res(t, userType{}, "ann", p)
	}
	for name, tt := range map[string]struct {
		purge      any
		file, want string
		is         string // of the difference
	}{
		"all":               {true, head + old + own + bare, head + own, "old laptop, ssh-ed25519"},
		"as text":           {"true", old + own, own, "old laptop"},
		"a file by ~":       {[]any{"~/.ssh/authorized_keys"}, old + own, own, "old laptop"},
		"a file by %h":      {"%h/.ssh/authorized_keys", old + own, own, "old laptop"},
		"a file":            {annsKeys, own + old, own, "old laptop"},
		"another file":      {[]any{"/etc/keys/ann"}, own + old, own + old, ""},
		"not":               {false, head + old, head + old, ""},
		"nothing to purge":  {true, head + own, head + own, ""},
		"of another site":   {true, others + own + old, others + own, "old laptop"},
		"no key is managed": {true, old, "", "old laptop"},
		"no file":           {true, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := keyNode(t, tt.file)
			s.Wanted = []resource.Resource{key}
			s.Ledger = &ledger.Ledger{Entries: []*ledger.Entry{{Site: "other", ID: "ssh_authorized_key[x]", Type: "ssh_authorized_key",
				Title: "x", Before: []byte(`{"in":"` + annsKeys + `","file":true,"name":"other site"}`)}}}
			was := systemtest.Inventory(t, s.Root)
			r := user(tt.purge)
			var want []Difference
			if tt.is != "" {
				want = []Difference{{"purge_ssh_keys", tt.is, "absent"}}
			}
			found, err := (userType{}).Check(t.Context(), s, r)
			if d := cmp.Diff(want, found); err != nil || d != "" {
				t.Fatalf("%v\n%s", err, d)
			}
			before := applied(t, s, userType{}, r)
			if got, _ := s.ReadFile(annsKeys); string(got) != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			before = updated(t, s, userType{}, r, before)
			undone(t, s, userType{}, r, before)
			if d := cmp.Diff(was, systemtest.Inventory(t, s.Root)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A key that others add later is drift, and does not come back.
func TestPurgeSSHKeysOfLater(t *testing.T) {
	const first, later = "ssh-rsa " + rsaKey + " first\n", "ssh-ed25519 " + ed2Key + " later\n"
	s := keyNode(t, first)
	r := res(t, userType{}, "ann", resource.Parameters{"purge_ssh_keys": true})
	before := applied(t, s, userType{}, r)
	if err := s.WriteFile(annsKeys, []byte(later), system.Attributes{}); err != nil {
		t.Fatal(err)
	}
	before = updated(t, s, userType{}, r, before)
	if got, _ := s.ReadFile(annsKeys); len(got) > 0 {
		t.Errorf("%q", got)
	}
	undone(t, s, userType{}, r, before)
	if got, _ := s.ReadFile(annsKeys); string(got) != first {
		t.Errorf("%q, want %q", got, first)
	}
}

func TestPurgeSSHKeysIsChecked(t *testing.T) {
	for value, want := range map[any]string{
		true: "", false: "", "false": "", "~/.ssh/authorized_keys2": "", "/etc/keys/ann": "",
		"yes":     `purge_ssh_keys: "yes" must be true, false, or the paths of files, absolute or below ~/ or %h/`,
		"keys":    `purge_ssh_keys: "keys" must be true, false, or the paths of files, absolute or below ~/ or %h/`,
		"~bob/x":  `purge_ssh_keys: "~bob/x" must be true, false, or the paths of files, absolute or below ~/ or %h/`,
		"/a/../b": `purge_ssh_keys: "/a/../b" must be written "/b", without ., .., // or a slash at the end`,
	} {
		errs := (userType{}).Schema().Validate(resource.Resource{Type: "user", Title: "ann",
			Parameters: resource.Parameters{"purge_ssh_keys": value}})
		got := ""
		for _, e := range errs {
			got += e.Attribute + ": " + e.Message
		}
		if got != want {
			t.Errorf("%v: %q, want %q", value, got, want)
		}
	}
}
