package converge

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/encryption/encryptiontest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A secret that a plain value replaces is in no result, neither of a check nor of the change.
func TestFormerSecretsOfTypes(t *testing.T) {
	for _, tt := range secretCases() {
		t.Run(tt.item.Type+" "+tt.parameter, func(t *testing.T) {
			var arguments []string
			b := secretNode(t, &arguments)
			b.wantAll("secret", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{tt.item}, Secrets: map[string]string{"s@1": tt.one}}))
			plain := tt.item
			plain.Parameters = tt.item.Parameters.ReplaceSecrets(func(_, _, text string) string {
				return strings.ReplaceAll(text, secretMark, tt.two)
			})
			plain.Digest = resource.Digest(plain.Resource)
			former := plainOf(tt, tt.one)
			for _, mode := range []Mode{Check, Apply} {
				results := b.of("one", Manifest{Mode: mode, Items: []Item{plain}})
				wantHidden(t, results, former, resource.SHA256(b.formerContent(tt, former))[:8])
			}
		})
	}
}

// formerContent is what a file that was one secret as a whole had.
func (b *sandbox) formerContent(tt secretCase, secret string) string {
	if tt.item.Type == "file" && tt.parameter == "content" {
		return "a " + secret + "\n"
	}
	return secret
}

// wantHidden checks that results have no diff, and none of some texts.
func wantHidden(t *testing.T, results []Result, texts ...string) {
	t.Helper()
	all, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if form := encryptiontest.Form(all, text); form != "" || strings.Contains(string(all), text) {
			t.Errorf("the results have what was secret (%s): %s", form, all)
		}
	}
	for _, r := range results {
		if r.Diff != "" || r.Status == Failed {
			t.Errorf("%s: %s, diff %q", r.Status, r.Message, r.Diff)
		}
	}
}

// What was secret stays out of results, however it becomes plain: until the plain one is there.
func TestFormerSecrets(t *testing.T) {
	const secret = "Other-Walrus-of-the-harbour"
	in := func(id string, pairs ...any) Item { return item(id, append(pairs, "mode", "0644")...) }
	line := []any{"path", "/d/f", "match", "^password="}
	for name, tt := range map[string]struct {
		former []Item // the first of them is changed
		plain  []Item
	}{
		"content": {[]Item{in("file[/d/f]", "content", "password="+secretMark+"\n")}, []Item{in("file[/d/f]", "content", "nothing\n")}},
		"sensitive was set": {
			[]Item{in("file[/d/f]", "content", "password="+secret+"\n", "sensitive", true)}, []Item{in("file[/d/f]", "content", "nothing\n")},
		},
		"another title": {
			[]Item{in("file[/d/f]", "content", "password="+secretMark+"\n")},
			[]Item{removal("file[/d/f]"), in("file[f]", "path", "/d/f", "content", "nothing\n")},
		},
		"another title, through a link": {
			[]Item{in("file[/d/f]", "content", "password="+secretMark+"\n")},
			[]Item{removal("file[/d/f]"), in("file[f]", "path", "/link/f", "content", "nothing\n")},
		},
		"only looked at": {
			[]Item{in("file[/d/f]", "content", "password="+secretMark+"\n")}, []Item{in("file[/d/f]", "content", "nothing\n", "noop", true)},
		},
		"a line of it": {[]Item{in("file[/d/f]", "content", "password="+secretMark+"\n")}, []Item{item("file_line[x]", append(line, "line", "password=none")...)}},
		"through a link to it": {
			[]Item{item("file_line[x]", "path", "/d/to", "match", "^password=", "line", "password="+secretMark)}, []Item{in("file[/d/f]", "content", "nothing\n")},
		},
		"of a line":        {[]Item{item("file_line[x]", append(line, "line", "password="+secretMark)...)}, []Item{in("file[/d/f]", "content", "nothing\n")}},
		"sensitive line":   {[]Item{item("file_line[x]", append(line, "line", "password="+secret, "sensitive", true)...)}, []Item{item("file_line[x]", append(line, "line", "password=none")...)}},
		"a line, retitled": {[]Item{item("file_line[x]", append(line, "line", "password="+secretMark)...)}, []Item{removal("file_line[x]"), item("file_line[y]", append(line, "line", "password=none")...)}},
		"a setting, retitled": {
			[]Item{item("ini_setting[x]", "path", "/d/f", "section", "s", "setting", "k", "value", secretMark)},
			[]Item{removal("ini_setting[x]"), item("ini_setting[y]", "path", "/d/f", "section", "s", "setting", "k", "value", "none")},
		},
		"a unit": {
			[]Item{item("systemd_unit[a.service]", "content", "[Service]\nEnvironment=P="+secret+"\n", "sensitive", true)},
			[]Item{item("systemd_unit[a.service]", "content", "[Service]\nEnvironment=P=none\n")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var arguments []string
			b := secretNode(t, &arguments)
			b.mkdir("/d/")
			b.put("/d/f", "[s]\n")
			b.link("/link", "/d")
			b.link("/d/to", "/d/f")
			b.wantAll("secret", Changed, b.of("one", Manifest{Mode: Apply, Items: tt.former, Secrets: map[string]string{"s@1": secret}}))
			digest := resource.SHA256("password=" + secret + "\n")[:8]
			differs := b.of("one", Manifest{Mode: Check, Items: tt.plain})
			wantHidden(t, differs, secret, digest)
			if last := differs[len(differs)-1]; last.Status != Differs || len(last.Differences) == 0 {
				t.Errorf("a check: %s: %s %v", last.Status, last.Message, last.Differences)
			}
			wantHidden(t, b.of("one", Manifest{Mode: Apply, Items: tt.plain}), secret, digest)
		})
	}
}

// Once a plain content is there, what differs is shown again.
func TestPlainAfterSecrets(t *testing.T) {
	var arguments []string
	b := secretNode(t, &arguments)
	for _, content := range []string{secretMark + "\n", "one\n", "two\n"} {
		i := item("file[/d/f]", "content", content, "mode", "0644")
		r := b.of("one", Manifest{Mode: Apply, Items: []Item{i}, Secrets: map[string]string{"s@1": secretOneText}})[0]
		shown := r.Diff != "" && !slices.ContainsFunc(r.Differences, func(d types.Difference) bool { return d.Is == types.Hidden })
		if r.Status != Changed || shown != (content == "two\n") {
			t.Errorf("%q: %s: %s; diff %q, %v", content, r.Status, r.Message, r.Diff, r.Differences)
		}
	}
}

// A change to a secret that ended before it was recorded leaves what may be secret.
func TestFormerSecretsOfCutSessions(t *testing.T) {
	var arguments []string
	b := secretNode(t, &arguments)
	b.wantAll("plain", Changed, b.of("one", Manifest{Mode: Apply, Items: []Item{item("file[/d/f]", "content", "one\n", "mode", "0644")}}))
	plainly := item("file[/d/f]", "content", "two\n", "mode", "0644", "owner", "nobody-there")
	if r := b.of("one", Manifest{Mode: Apply, Items: []Item{plainly}})[0]; r.Status != Failed {
		t.Fatalf("%s", r.Status)
	}
	failing := item("file[/d/f]", "content", secretMark+"\n", "mode", "0644", "owner", "nobody-there")
	if r := b.of("one", Manifest{Mode: Apply, Items: []Item{failing}, Secrets: map[string]string{"s@1": secretOneText}})[0]; r.Status != Failed {
		t.Fatalf("%s", r.Status)
	}
	b.put("/d/f", secretOneText+"\n")
	wantHidden(t, b.of("one", Manifest{Mode: Check, Items: []Item{item("file[/d/f]", "content", "one\n", "mode", "0644")}}), secretOneText)
}
