package command

import (
	"path/filepath"
	"strings"
	"testing"
)

// A document that refers to a secret of a deployment is refused by each command with the same text.
func TestSecretsInDocuments(t *testing.T) {
	form := write(t, "form.yaml", `site: lon1
nodes: [{name: a, address: 192.0.2.1}]
services:
- name: s
  selectors: []
  configuration:
    file:
      /etc/pw: {content: {secret: pw}, mode: "0600"}
      /etc/of: {template: "x ${secrets.of}"}
    exec:
      x: {command: "true", environment: [A=b, {template: "P=${secrets.env}"}]}
overrides:
- {name: o, configuration: {file: {/etc/pw: {content: {secret: other}}}}}
`)
	const wrong = ", which no document has: secrets_wo of slipway_deployment, in Terraform, has secrets; in a document " +
		"write the text itself, with sensitive: true"
	want := ""
	for _, line := range []string{`8:17: services[0].configuration.file["/etc/pw"].content: refers to the secret "pw"`,
		`9:27: services[0].configuration.file["/etc/of"].template: refers to the secret "of"`,
		`11:28: services[0].configuration.exec["x"].environment: refers to the secret "env"`,
		`13:46: overrides[0].configuration.file["/etc/pw"].content: refers to the secret "other"`} {
		want += form + ":" + line + wrong + "\n"
	}
	for command, more := range map[string][]string{"validate": nil, "plan": nil,
		"apply": {"--state", filepath.Join(t.TempDir(), "state.json"), "--journal", t.TempDir()}} {
		out, errOut, status := answer(t, "", append([]string{command, form}, more...)...)
		if got := out + errOut; status == 0 || !strings.Contains(got, strings.TrimSpace(want)) {
			t.Errorf("%s: status %d, %s\nwant\n%s", command, status, got, want)
		}
	}
}
