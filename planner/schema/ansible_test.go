package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// What playbooks of Ansible give and is written otherwise here is refused with what to write.
func TestAnsiblesValues(t *testing.T) {
	type p = resource.Parameters
	sum := strings.Repeat("ab", 64)
	for name, tt := range map[string]struct {
		typ   string
		given p
		want  string
	}{
		"checksum": {"archive", p{"source": "https://x/a", "checksum": "sha256:" + sum[:64]},
			`checksum: must be without "sha256:" before it, which checksum_type = "sha256" says`},
		"checksum of another type": {"archive", p{"source": "https://x/a", "checksum": "sha512:" + sum},
			`checksum: must be without "sha512:" before it, which checksum_type = "sha512" says`},
		"file of the controller": {"archive", p{"source": "files/app.tgz"},
			`source: "files/app.tgz" must be a URL that begins with https:// or http://, or an absolute path on the node; ` +
				`a file of the controller is given as source_file, with source_sha256`},
		"placeholder": {"file", p{"content": "x", "validate_cmd": "visudo -cf %s"},
			"validate_cmd: must contain % in place of %s: it stands for the path of the file with the new content"},
		"placeholder of a list": {"file", p{"content": "x", "validate_cmd": []any{"nginx", "-c", "%s"}},
			"validate_cmd: must contain % in place of %s: it stands for the path of the file with the new content"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := Types()[tt.typ].Conform(resource.Resource{Type: tt.typ, Title: "/srv/x", Parameters: tt.given})
			if len(errs) != 1 || errs[0].Error() != tt.want {
				t.Errorf("got %v, want %s", errs, tt.want)
			}
		})
	}
}

// A parameter that Ansible calls otherwise is suggested by its meaning, not by what is spelt alike, and no parameter
// that changes nothing.
func TestAnsiblesParameters(t *testing.T) {
	for typ, words := range map[string]map[string]string{
		"apt_repository": {"state": "ensure", "repo": "location"},
		"archive":        {"src": "source", "url": "source", "dest": "path"},
		"cron":           {"job": "command", "day": "monthday"},
		"exec":           {"cmd": "command", "chdir": "cwd", "retries": "tries", "tags": "", "state": ""},
		"file":           {"state": "ensure", "src": "source", "dest": "path", "validate": "validate_cmd"},
		"file_line":      {"regexp": "match", "insertafter": "after"},
		"ini_setting":    {"dest": "path", "option": "setting"},
		"mount":          {"src": "device", "opts": "options", "state": "ensure"},
		"service":        {"state": "ensure", "enabled": "enable"},
		"user":           {"expires": "expiry"},
		"vcsrepo":        {"repo": "source", "version": "revision", "dest": "path"},
	} {
		for word, want := range words {
			given := resource.Parameters{word: "x"}
			_, errs := Types()[typ].Conform(resource.Resource{Type: typ, Title: "/srv/x", Parameters: given})
			i := slices.IndexFunc(errs, func(e invalid.Error) bool { return e.Attribute == word })
			if i < 0 {
				t.Fatalf("%s of %s: no error", word, typ)
			}
			hint := "no such parameter; it has "
			if want != "" {
				hint = fmt.Sprintf("no such parameter; did you mean %q?", want)
			}
			if !strings.Contains(errs[i].Message, hint) {
				t.Errorf("%s of %s: %s; want %s", word, typ, errs[i].Message, hint)
			}
		}
	}
}
