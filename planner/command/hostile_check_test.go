package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/journal/hostiletest"
)

// What nodes have in place of what was applied is text in every output of check: the contents of files, the targets of
// links, and what the ledger says.
func TestHostileCheck(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, "a", "b")
	files, texts := map[string]any{}, map[string]string{} // file -> what it has in the end
	links := map[string]string{}
	for name, text := range hostiletest.Corpus {
		name = "/etc/" + strings.ReplaceAll(name, " ", "-")
		files[name], texts[name] = map[string]any{"content": "x\n"}, text+"\n"
		if target := strings.ReplaceAll(text, "\x00", ""); len(target) < 4000 {
			files[name+".link"], links[name+".link"] = map[string]any{"ensure": "link", "target": "/etc/motd"}, target
		}
	}
	node := func(name string) map[string]any {
		return map[string]any{"name": name, "connect": map[string]any{"transport": "local", "root": s.path(name)}}
	}
	document, err := json.Marshal(map[string]any{"site": "lon1", "nodes": []any{node("a"), node("b")},
		"services": []any{map[string]any{"name": "all", "selectors": []any{}, "configuration": map[string]any{"file": files}}}})
	s.must(err)
	site, ledger := s.path("site.yaml"), s.path("b", "var", "lib", "slipway", "ledger.json")
	s.must(os.WriteFile(site, document, 0o600))
	s.expect(0, "deployed", "yes\n", "apply", site)
	for name, text := range texts {
		s.must(os.WriteFile(s.path("a", name), []byte(text), 0o600))
	}
	for name, target := range links {
		s.must(os.Remove(s.path("a", name)))
		s.must(os.Symlink(target, s.path("a", name)))
	}
	written, err := os.ReadFile(ledger)
	s.must(err)
	quoted, err := json.Marshal(hostiletest.Name())
	s.must(err)
	hostile := strings.Trim(string(quoted), `"`)
	for what, text := range map[string]string{"as it was": string(written), "of no known form": hostiletest.Text(),
		"of another version": strings.Replace(string(written), `"version":1`, `"version":"`+hostile+`"`, 1),
		"with other titles":  strings.ReplaceAll(string(written), `"title":"`, `"title":"`+hostile),
		"with other types":   strings.ReplaceAll(string(written), `"type":"`, `"type":"`+hostile),
		"with other digests": strings.ReplaceAll(string(written), `"digest":"`, `"digest":"`+hostile),
		"of another site":    strings.ReplaceAll(string(written), `"site":"`, `"site":"`+hostile)} {
		s.must(os.WriteFile(ledger, []byte(text), 0o600))
		outputs(t, func(name, _ string, args []string) {
			if args[0] != "check" {
				return
			}
			cmd := New("test", nil, "")
			var out, said strings.Builder
			cmd.SetOut(&out)
			cmd.SetErr(&said)
			cmd.SetArgs(append(args, "--journal-directory", s.path("journal"), site))
			err := cmd.ExecuteContext(t.Context())
			PrintError(&said, err)
			if n := strings.Count(out.String(), hostiletest.Mark); ExitStatus(err) != statusDrift || n < len(links) {
				t.Errorf("%s, with a ledger %s: %v, %d texts:\n%.3000s", name, what, err, n, out.String())
			}
			inert(t, name, out.String())
			hostiletest.Plain(t, name+": warnings and the error", said.String())
			if refused := strings.HasPrefix(what, "of no") || strings.HasPrefix(what, "of another v"); refused && !strings.Contains(said.String()+out.String(), "ledger") {
				t.Errorf("%s, with a ledger %s:\n%s%s", name, what, said.String(), out.String())
			}
		})
	}
}
