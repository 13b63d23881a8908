package schema

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Of a secret that a parameter refuses, the error says what would be right, and nothing of the secret.
func TestErrorsOfSecretsSayTheRule(t *testing.T) {
	untried := map[string]bool{}
	for _, s := range Types() {
		for _, p := range s.Parameters {
			if p.Secret && p.Check != nil && p.Name != Template {
				untried[s.Type+" "+p.Name] = true
			}
		}
	}
	const shown = "; the value is not shown because it is sensitive"
	const oneLine = "contains a line break or a NUL; it must be one line of text"
	for _, tt := range []struct {
		typ, parameter string
		value          any
		rule           string
	}{
		{"user", "password", "wal\nrus", "must hold neither a colon nor a line break"},
		{"file", "content", strings.Repeat("walrus", 2<<20), "has more than 8 MiB; put it into a package or an archive that the node fetches itself"},
		{"file", "content_base64", "?walrus", `is not base64; write filebase64("...")`},
		{"file_line", "line", "wal\nrus", oneLine},
		{"vcsrepo", "basic_auth_username", "wal\nrus", oneLine},
		{"vcsrepo", "basic_auth_password", "", "must not be empty"},
		{"ini_setting", "value", " walrus", "must not begin or end with a blank, which parsers drop; put it in quotes that the file's reader knows"},
		{"cron", "environment", []any{"walrus"}, "is not of the form NAME=value"},
		{"archive", "source", "ftp://walrus", "must be a URL that begins with https:// or http://, or an absolute path on the node; " +
			"a file of the controller is given as source_file, with source_sha256"},
		{"archive", "source", "https://walrus@x/a", "holds a user name or a password, which plans and other users of the node would show; " +
			"give username and password instead"},
		{"archive", "username", "wal\nrus", oneLine},
		{"archive", "password", "wal\nrus", oneLine},
		{"systemd_unit", "content", strings.Repeat("walrus", 2<<20), "has more than 8 MiB; put it into a package or an archive that the node fetches itself"},
		{"exec", "environment", []any{"walrus"}, "must have the form NAME=value"},
		{"ssh_authorized_key", "key", "wal rus", "must be one word: give the long one in the middle of the line only, and the others as type and name"},
		{"ssh_authorized_key", "key", "walrus", "is not a public key in base64, which begins with AAAA"},
		{"apt_repository", "username", "wal rus", "must be one word"},
		{"apt_repository", "password", "wal rus", "must be one word"},
		{"yum_repository", "username", "wal\nrus", oneLine},
		{"yum_repository", "password", "wal\nrus", oneLine},
	} {
		name := tt.typ + " " + tt.parameter
		delete(untried, name)
		s := Types()[tt.typ]
		found := false
		for _, e := range s.Validate(resource.Resource{Type: tt.typ, Title: "x", Parameters: resource.Parameters{
			tt.parameter: tt.value, resource.Sensitive: true}}) {
			if strings.Contains(e.Message, "walrus") || strings.Contains(e.Message, "rus\"") {
				t.Errorf("%s: the error has the value: %.200q", name, e.Message)
			}
			if e.Attribute == tt.parameter {
				found = true
				if e.Message != tt.rule+shown {
					t.Errorf("%s: %q, want %q", name, e.Message, tt.rule+shown)
				}
			}
		}
		if !found {
			t.Errorf("%s: no error", name)
		}
	}
	if len(untried) > 0 {
		t.Errorf("there is no case for %v", untried)
	}
}
