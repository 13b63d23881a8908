package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretive writes documents of a site with two sandbox nodes whose configuration refers to secrets, with the lines
// that top has.
func (s *sandbox) secretive(top string) string {
	s.Helper()
	text := "site: lon1\n" + top + `
nodes:
- {name: a, connect: {transport: local, root: ` + s.path("a") + `}}
services:
- name: s
  selectors: []
  configuration:
    file:
      /etc/motd: {content: {secret: pw}, mode: "0600"}
      /etc/of: {template: "x ${secrets.of}"}
overrides:
- {name: o, configuration: {file: {/etc/motd: {content: {secret: other}}}}}
`
	s.must(os.WriteFile(s.path("site.yaml"), []byte(text), 0o600))
	return s.path("site.yaml")
}

// Documents refer to secrets by name and say their version; the contents are given to apply alone, and are where the
// configuration has them, and nowhere else. A version that is raised has what refers to a secret applied again.
func TestSecretsOfDocuments(t *testing.T) {
	s := newSandbox(t, "a")
	site, secrets := s.secretive("secrets_version: 1"), s.path("secrets.yaml")
	give := func(other string) {
		t.Helper()
		s.must(os.WriteFile(secrets, []byte("of: one of it\npw: unused, as the override has another\nother: "+other+"\n"), 0o600))
	}
	for _, command := range []string{"validate", "plan"} {
		if out, errOut, status := answer(t, "", command, site); status != 0 {
			t.Errorf("%s: status %d, %s%s", command, status, out, errOut)
		}
	}
	s.expect(2, `override "o": file\[/etc/motd\] refers to the secret "other", which --secrets does not have(?s).*service "s": file\[/etc/of\] refers to the secret "of", which --secrets does not have.*give --secrets FILE`, "", "apply", "--yes", site)
	give("walrus-1")
	s.expect(0, `site lon1: deployed`, "", "apply", "--yes", site, "--secrets", secrets)
	s.has("a", "walrus-1")
	if got, err := os.ReadFile(s.path("a", "etc/of")); err != nil || string(got) != "x one of it" {
		t.Errorf("/etc/of: %q (%v)", got, err)
	}
	s.expect(0, `no drift`, "", "check", site)
	give("walrus-2")
	s.expect(0, `nothing to do`, "", "apply", "--yes", site, "--secrets", secrets)
	site = s.secretive("secrets_version: 2")
	out := s.expect(0, `(?s)update file\[/etc/motd\].*site lon1: deployed`, "of: one of it\npw: ''\nother: walrus-2\n", "apply", "--yes", site,
		"--secrets", "-")
	s.has("a", "walrus-2")
	s.must(filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == secrets || path == s.path("a", "etc/motd") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text)+out, "walrus") {
			t.Errorf("%s has a secret", path)
		}
		return err
	}))
	s.expect(0, `torn down`, "", "destroy", "--yes", site)
	s.gone("a")
}

// override shows a reference to a secret as a template has it.
func TestOverrideShowsSecretsByName(t *testing.T) {
	s := newSandbox(t, "a")
	site := s.secretive("secrets_version: 1")
	for _, format := range []string{"table", "json"} {
		out, errOut, status := answer(t, "", "override", site, "--output", format)
		if status != 0 || !strings.Contains(out, "${secrets.pw}") || !strings.Contains(out, "${secrets.other}") || strings.Contains(out, "⟦") {
			t.Errorf("status %d, %s%s", status, out, errOut)
		}
	}
}

// What is wrong with secrets is said before any node is touched, and without their contents.
func TestSecretsOfDocumentsWrongly(t *testing.T) {
	s := newSandbox(t, "a")
	for _, c := range []struct {
		top, secrets, want string
		args               []string
	}{
		{top: "secrets_version: 0", want: `2:18: secrets_version: is 0; give a whole number, 1 or more`},
		{top: "secrets_version: two", want: `2:18: secrets_version: is text, not a whole number`},
		{top: "secrets_verison: 1", want: `unknown key "secrets_verison"; did you mean "secrets_version"?`},
		{top: "secrets_version: 1\n---\nsecrets_version: 1\n", want: `secrets_version: is in another document, too; keep one`},
		{secrets: "of: a", want: `--secrets: no document has secrets_version; write secrets_version: 1 into one`},
		{top: "secrets_version: 1", secrets: "of: walrus\nothe: walrus", want: `which --secrets does not have; did you mean "othe"?`},
		{top: "secrets_version: 1", secrets: "of: 17171", want: `secrets.yaml:1:5: of: must be a text; write it in quotes`},
		{top: "secrets_version: 1", secrets: "of: *walrus", want: `secrets.yaml:1:5: must be one mapping`},
		{top: "secrets_version: 1", secrets: "of: !walrus", want: `secrets.yaml:1:5: of: must be a text; write it in quotes`},
		{top: "secrets_version: 1", secrets: "- walrus", want: `secrets.yaml:1:1: must be one mapping of names to texts; write lines NAME: "content", in quotes`},
		{top: "secrets_version: 1", secrets: "", want: `secrets.yaml: must be one mapping`},
		{top: "secrets_version: 1", args: []string{"--secrets", "-"}, want: `standard input is read, so nobody can be asked; give --yes`},
	} {
		if c.args == nil {
			c.args = []string{"--yes"}
			if !strings.Contains(c.want, ": secrets_version: ") && !strings.Contains(c.want, "verison") {
				s.must(os.WriteFile(s.path("secrets.yaml"), []byte(c.secrets), 0o600))
				c.args = append(c.args, "--secrets", s.path("secrets.yaml"))
			}
		}
		out, status := s.run("", "apply", append(c.args, s.secretive(c.top))...)
		if status != 2 || !strings.Contains(out, c.want) || strings.Contains(out, "walrus") || strings.Contains(out, "17171") {
			t.Errorf("%s with secrets %q: status %d, want %s:\n%s", c.top, c.secrets, status, c.want, out)
		}
	}
	s.must(os.WriteFile(s.path("site.yaml"), []byte("site: lon1\nsecrets_version: 1\nnodes: [{name: a, connect: {transport: local, root: "+
		s.path("a")+"}}]\nservices:\n- {name: s, selectors: [], configuration: {file: {/etc/b: {content_base64: {secret: pw}}}}}\n"), 0o600))
	out := s.expect(2, `5:\d+: .*content_base64: is not base64; .*it has the secret "pw"`, "pw: walrus!\n", "apply", "--yes", s.path("site.yaml"), "--secrets", "-")
	if strings.Contains(out, "walrus") {
		t.Errorf("the secret is shown: %s", out)
	}
	s.gone("a")
}
