package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func nodeScope() Scope {
	return SiteScope("lon1").WithNode("web1", "10.0.0.1", "r1", []string{"web", "db"}, []string{"front"},
		map[string]string{"tier": "gold"})
}

func TestNodeTemplates(t *testing.T) {
	tests := map[string]struct {
		text, want string
		reads      []string
	}{
		"text":        {"plain $${node.name} %%{ if", "plain ${node.name} %{ if", nil},
		"empty":       {"", "", nil},
		"attributes":  {"${node.name} ${node.address} ${site.name}\n", "web1 10.0.0.1 lon1\n", []string{"name", "address"}},
		"a number":    {"${length(node.tags)}", "2", []string{"tags"}},
		"a label":     {`${upper(node.labels.tier)} ${lookup(node.labels, "no", "x")}`, "GOLD x", []string{"labels", "labels"}},
		"a loop":      {"%{ for t in sort(node.tags) ~}\n- ${t}\n%{ endfor ~}\n", "- db\n- web\n", []string{"tags"}},
		"a condition": {`%{ if contains(node.roles, "front") }yes%{ else }no%{ endif }`, "yes", []string{"roles"}},
		"a whole node": {`${jsonencode(node)}`, `{"address":"10.0.0.1","labels":{"tier":"gold"},"name":"web1","rack":"r1",` +
			`"roles":["front"],"tags":["web","db"]}`, []string{""}},
		"yaml": {"a:\n  ${indent(2, trimspace(yamlencode(node.labels)))}\n", "a:\n  tier: gold\n", []string{"labels"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			parsed, err := ParseForNode(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parsed.EvaluateText(nodeScope())
			if err != nil || got.Value != tt.want {
				t.Errorf("got %q (%v), want %q", got.Value, err, tt.want)
			}
			if d := cmp.Diff(tt.reads, parsed.NodeReads()); d != "" {
				t.Errorf("reads %s", d)
			}
		})
	}
}

func TestNodeTemplateErrors(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"syntax":           {"a\n%{ if true }", "(line 2, column"},
		"unknown variable": {"a\n${nod.name}", `there is no variable "nod"; did you mean "node"? (line 2, column 3 of the template)`},
		"no service":       {"${self.port}", `there is no variable "self"; use one of node, facts, site, secrets; values of Terraform come through templatefile()`},
		"unknown name":     {"${node.adress}", `node has no "adress"; did you mean "address"?`},
		"unknown function": {"${uper(node.name)}", `there is no function "uper"; did you mean "upper"?`},
		"unknown label": {"a\n\n${node.labels.tire}", `the map has no key "tire" (lookup(map, "tire", "default") ` +
			`reads one that may be missing); did you mean "tier"? (line 3, column`},
		"no text":             {"${node.labels}", "gives map of string, not text"},
		"a secret in a call":  {"${upper(secrets.a)}", "a secret can only stand by itself"},
		"a secret in a quote": {`${upper("${secrets.a}")}`, "a secret can only stand by itself"},
		"a secret that picks": {`%{ if secrets.a == "b" }c%{ endif }`, "a secret can only stand by itself"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			parsed, err := ParseForNode(InsertSecrets(tt.text, func(name string) string { return "<" + name + ">" }))
			if err == nil {
				_, err = parsed.EvaluateText(nodeScope())
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestUnknownOfANode(t *testing.T) {
	scope := nodeScope().WithUnknown([]string{"rack"})
	for text, unknown := range map[string]bool{"${node.name}": false, "a ${node.rack}": true,
		`%{ if node.name == "web1" }a%{ else }${node.rack}%{ endif }`: false} {
		parsed, err := ParseForNode(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parsed.EvaluateText(scope); err != nil || got.Unknown != unknown {
			t.Errorf("%s: got unknown %v (%v), want %v", text, got.Unknown, err, unknown)
		}
	}
}

func TestInsertSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"a ${secrets.b} ${ secrets.c-d }e":                   "a <b> <c-d>e",
		"%{ if true }${secrets.b}%{ endif }":                 "%{ if true }<b>%{ endif }",
		"$${secrets.b}":                                      "$${secrets.b}",
		`${upper("${secrets.b}")} ${secrets.b}`:              `${upper("${secrets.b}")} <b>`,
		`%{ if "${secrets.b}" == "" }x%{ endif }`:            `%{ if "${secrets.b}" == "" }x%{ endif }`,
		"${~ secrets.b ~} ${secrets.b.c} ${other.secrets.b}": "${~ secrets.b ~} ${secrets.b.c} ${other.secrets.b}",
		"${secrets.b": "${secrets.b",
	} {
		if got := InsertSecrets(text, func(name string) string { return "<" + name + ">" }); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
