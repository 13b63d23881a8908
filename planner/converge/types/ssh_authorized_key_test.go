package types

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Three public keys of nobody.
const (
	edKey  = "AAAAC3NzaC1lZDI1NTE5AAAAIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"
	ed2Key = "AAAAC3NzaC1lZDI1NTE5AAAAIGJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi"
	rsaKey = "AAAAB3NzaC1yc2EAAAAgY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2M="
)

// keyNode is a node with the user ann, whose authorized_keys has a text, unless that is empty.
func keyNode(t testing.TB, keys string) *Session {
	t.Helper()
	files := map[string]string{"etc/passwd": "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n", "home/ann/": ""}
	if keys != "" {
		files["home/ann/.ssh/authorized_keys"] = keys
	}
	return folder(t, files)
}

const annsKeys = "/home/ann/.ssh/authorized_keys"

func keyOf(t testing.TB, title string, p resource.Parameters) resource.Resource {
	t.Helper()
	if p["user"] == nil && p["target"] == nil {
		p["user"] = "ann"
	}
	return res(t, authorizedKeyType{}, title, p)
}

// A folder has no users of a machine: a key in a file of its own needs none there.
func TestAuthorizedKeyInASandbox(t *testing.T) {
	s := folder(t, map[string]string{"srv/": ""})
	r := keyOf(t, "ann@home", resource.Parameters{"user": "ann", "target": "/srv/keys", "type": "ed25519", "key": edKey})
	s.ID = r.ID()
	applied(t, s, authorizedKeyType{}, r)
}

func TestAuthorizedKey(t *testing.T) {
	const others = "# keys\nssh-rsa " + rsaKey + " bob\n"
	const options = `from="10.0.0.0/8, 192.0.2.1",command="echo \"no\" # ssh-rsa" `
	key := func(more ...string) resource.Parameters {
		p := resource.Parameters{"type": "ed25519", "key": edKey}
		for i := 0; i < len(more); i += 2 {
			p[more[i]] = more[i+1]
		}
		return p
	}
	missing := []Difference{{"ensure", "absent", "present"}}
	for _, tt := range []struct {
		name, file string
		parameters resource.Parameters
		diffs      []Difference
		want       string
	}{
		{"no file", "", key(), missing, "ssh-ed25519 " + edKey + " ann@home\n"},
		{"new", others, key(), missing, others + "ssh-ed25519 " + edKey + " ann@home\n"},
		{"after a last line without an end", strings.TrimSuffix(others, "\n"), key(), missing, others + "ssh-ed25519 " + edKey + " ann@home"},
		{"is there", others + "ssh-ed25519  " + edKey + "\tann@home\n", key(), nil, others + "ssh-ed25519  " + edKey + "\tann@home\n"},
		{"options stay", options + "ssh-ed25519 " + ed2Key + " ann@home\n", key(), []Difference{{"key", shorten(ed2Key), shorten(edKey)}}, options + "ssh-ed25519 " + edKey + " ann@home\n"},
		{"options", "ssh-ed25519 " + edKey + " ann@home\n", key("options", `from="10.0.0.1, 10.0.0.2"`), []Difference{{"options", "", `from="10.0.0.1, 10.0.0.2"`}}, `from="10.0.0.1, 10.0.0.2" ssh-ed25519 ` + edKey + " ann@home\n"},
		{"another type", "ssh-rsa " + rsaKey + " ann@home\n" + others, key(), []Difference{{"key", shorten(rsaKey), shorten(edKey)}, {"type", "ssh-rsa", "ssh-ed25519"}}, "ssh-ed25519 " + edKey + " ann@home\n" + others},
		{"another key of that name goes", "ssh-ed25519 " + edKey + " ann@home\n" + others + "ssh-rsa " + rsaKey + " ann@home\n", key(), []Difference{{"key", "on 2 lines", "on one line"}}, "ssh-ed25519 " + edKey + " ann@home\n" + others},
		{"a comment is none", "#ssh-ed25519 " + edKey + " ann@home\n", key(), missing, "#ssh-ed25519 " + edKey + " ann@home\nssh-ed25519 " + edKey + " ann@home\n"},
		{"by its name", others, key("name", "bob"), []Difference{{"key", shorten(rsaKey), shorten(edKey)}, {"type", "ssh-rsa", "ssh-ed25519"}}, "# keys\nssh-ed25519 " + edKey + " bob\n"},
		{"absent", others, resource.Parameters{"ensure": "absent", "name": "bob"}, []Difference{{"ensure", "present", "absent"}}, "# keys\n"},
		{"is absent", others, resource.Parameters{"ensure": "absent"}, nil, others},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := keyNode(t, tt.file)
			was := systemtest.Inventory(t, s.Root)
			r := keyOf(t, "ann@home", tt.parameters)
			s.ID = r.ID()
			diffs, err := authorizedKeyType{}.Check(t.Context(), s, r)
			if diff := cmp.Diff(tt.diffs, diffs); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
			before := applied(t, s, authorizedKeyType{}, r)
			if content, err := s.ReadFile(annsKeys); err != nil || string(content) != tt.want {
				t.Errorf("%v: got %q, want %q", err, content, tt.want)
			}
			if tt.file == "" {
				for name, mode := range map[string]os.FileMode{annsKeys: 0o600, "/home/ann/.ssh": 0o700 | os.ModeDir} {
					if info, err := os.Stat(filepath.Join(s.Root, name)); err != nil || info.Mode() != mode {
						t.Errorf("%s: %v, %v", name, info.Mode(), err)
					}
				}
			}
			undone(t, s, authorizedKeyType{}, r, before)
			now := systemtest.Inventory(t, s.Root)
			delete(now, "/var")
			delete(now, "/var/lib")
			if diff := cmp.Diff(was, now); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Another key for the same name, and options that come and go, leave what was there before slipway when they are undone.
func TestAuthorizedKeyWithOtherForms(t *testing.T) {
	was := "restrict ssh-rsa " + rsaKey + " ann@home\nssh-rsa " + rsaKey + " bob\n"
	s := keyNode(t, was)
	first := keyOf(t, "ann@home", resource.Parameters{"type": "ed25519", "key": edKey})
	before := applied(t, s, authorizedKeyType{}, first)
	second := keyOf(t, "ann@home", resource.Parameters{"type": "ed25519", "key": ed2Key, "options": []any{"no-pty", `from="::1"`}})
	before = updated(t, s, authorizedKeyType{}, second, before)
	if content, _ := s.ReadFile(annsKeys); string(content) != `no-pty,from="::1" ssh-ed25519 `+ed2Key+" ann@home\nssh-rsa "+rsaKey+" bob\n" {
		t.Errorf("%s", content)
	}
	returning, rest, err := authorizedKeyType{}.Release(t.Context(), s, first, before)
	if diff := cmp.Diff(resource.Parameters{"options": []any{"restrict"}}, returning); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	with := first
	with.Parameters = resource.Parameters{"options": returning["options"]}
	for name, value := range first.Parameters {
		with.Parameters[name] = value
	}
	apply(t, s, authorizedKeyType{}, with)
	undone(t, s, authorizedKeyType{}, first, rest)
	if content, _ := s.ReadFile(annsKeys); string(content) != was {
		t.Errorf("undone: %s", content)
	}
}

// What others wrote since stays, and so do the directory and the file with it.
func TestAuthorizedKeyUndoKeepsOtherKeys(t *testing.T) {
	s := keyNode(t, "")
	r := keyOf(t, "ann@home", resource.Parameters{"type": "ed25519", "key": edKey})
	before := applied(t, s, authorizedKeyType{}, r)
	content, err := s.ReadFile(annsKeys)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WriteFile(annsKeys, append(content, "ssh-rsa "+rsaKey+" bob\n"...), system.Attributes{}); err != nil {
		t.Fatal(err)
	}
	undone(t, s, authorizedKeyType{}, r, before)
	if content, err := s.ReadFile(annsKeys); err != nil || string(content) != "ssh-rsa "+rsaKey+" bob\n" {
		t.Errorf("%q, %v", content, err)
	}
}

func TestAuthorizedKeyErrors(t *testing.T) {
	key := func(more ...string) resource.Parameters {
		p := resource.Parameters{"type": "ed25519", "key": edKey}
		for i := 0; i < len(more); i += 2 {
			p[more[i]] = more[i+1]
		}
		return p
	}
	for want, r := range map[string]resource.Resource{
		`user "bob": no such user on the node; create it first, and require it`: keyOf(t, "k", key("user", "bob")),
		"make the directory /etc/keys first, and require it":                    keyOf(t, "k", key("target", "/etc/keys/ann")),
		"make the home directory first, and require it":                         keyOf(t, "k", key("user", "root")),
	} {
		s := keyNode(t, "")
		if diffs, err := (authorizedKeyType{}).Check(t.Context(), s, r); err != nil || len(diffs) != 1 {
			t.Errorf("check: %v, %v", diffs, err)
		}
		if err := (authorizedKeyType{}).Apply(t.Context(), s, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// What a user puts into the home directory does not lead slipway anywhere else.
	s := keyNode(t, "")
	if os.Geteuid() == 0 {
		if err := os.Mkdir(filepath.Join(s.Root, "secret"), 0o700); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(s.Root, "home/ann/.ssh")
		if err := os.Symlink("/secret", link); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(link, 1000, 1000); err != nil {
			t.Fatal(err)
		}
		err := authorizedKeyType{}.Apply(t.Context(), s, keyOf(t, "k", key()))
		if err == nil || !strings.Contains(err.Error(), "another user could have put there") {
			t.Errorf("a link of the user: %v", err)
		}
	}
	for _, tt := range []struct {
		parameters   resource.Parameters
		wrong, error string
	}{
		{resource.Parameters{"user": "ann", "key": edKey}, "type", "required"},
		{resource.Parameters{"user": "ann", "type": "rsa"}, "key", "required"},
		{resource.Parameters{"type": "ed25519", "key": edKey}, "user", "required without target"},
		{key("user", "ann", "type", "rsa"), "type", `must be "ssh-ed25519"`},
		{key("user", "ann", "key", "ssh-ed25519 "+edKey+" ann"), "key", "one word"},
		{key("user", "ann", "key", "AAAA"), "key", "not a public key"},
		{key("user", "ann", "key", edKey[:len(edKey)-3]), "key", "not a public key"},
		{key("user", "ann", "options", "a b"), "options", "not one option"},
		{key("user", "ann", "options", `from="x`), "options", "not one option"},
		{key("user", "ann", "options", "a,b"), "options", "not one option"},
		{key("user", "ann", "name", "a\nssh-rsa"), "name", "line break"},
		{key("user", "../x"), "user", "not a user name"},
		{key("target", "keys"), "target", "absolute path"},
	} {
		errs := authorizedKeyType{}.Schema().Validate(resource.Resource{Type: "ssh_authorized_key", Title: "t", Parameters: tt.parameters})
		if len(errs) != 1 || errs[0].Attribute != tt.wrong || !strings.Contains(errs[0].Message, tt.error) {
			t.Errorf("%v: %v, want %s: %s", tt.parameters, errs, tt.wrong, tt.error)
		}
	}
}

// The user's file, by its path or as that of the user, is one object for the node.
func TestAuthorizedKeyResolves(t *testing.T) {
	s := keyNode(t, "# none\n")
	for _, object := range []string{"~ann k", annsKeys + " k"} {
		if got := (authorizedKeyType{}).Resolve(s, object); got != annsKeys+" k" {
			t.Errorf("%s: %s", object, got)
		}
	}
}
