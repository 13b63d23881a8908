package document

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// parsers are all that read a document, each with one that it takes, which has the line `marker: here` at its end.
var parsers = map[string]struct {
	parse func(Source) error
	good  string
}{
	"strategy": {func(s Source) error { _, _, err := ParseStrategy(s.Name, s.Data); return err },
		"groups:\n- {name: g, critical: true, depends_on: [], selectors: []}\n"},
	"site": {func(s Source) error { _, err := ParseSite([]Source{s}, Options{}); return err },
		"site: s\nnodes:\n- name: n\n"},
	"lifecycle": {func(s Source) error { _, err := ParseLifecycles([]Source{s}); return err },
		"lifecycles:\n  l:\n    initial: s\n    states: {s: {}, t: {deleted: true}}\n    transfers:\n    - {from: s, to: t, trigger: on_delete}\n"},
	"plugin": {func(s Source) error { _, err := ParsePlugin([]Source{s}, "p"); return err },
		"tasks:\n- {role: '*', stage: post_deployment, type: shell, parameters: {cmd: x, timeout: 1}}\n"},
	"plugin list": {func(s Source) error { _, err := ParsePlugin([]Source{s}, "p"); return err },
		"- role: '*'\n  stage: post_deployment\n  type: reboot\n  parameters: {timeout: 1}\n"},
	"catalog": {func(s Source) error { _, err := ParseCatalog([]Source{s}); return err },
		"entities:\n  e:\n    attributes: {a: {type: string}}\n"},
	"layer": {func(s Source) error { _, err := ParseLayer(s); return err }, "configuration: {}\n"},
	"configuration": {func(s Source) error { _, err := ParseConfiguration(s); return err },
		"configuration: {file: {/a: {mode: '0644'}}}\n"},
	"selectors": {func(s Source) error { _, err := ParseSelectors(s); return err }, "- node_names: [a]\n"},
	"outcomes": {func(s Source) error {
		_, err := ParseOutcomes(s, []string{"prepare", "deploy"}, []string{"success", "failure", "timeout"}, []string{"n"})
		return err
	},
		"deploy:\n  n: failure\n"},
}

// doublings is a chain of lists or mappings each of which holds the one before it many times: `&a0 [], &a1 [*a0, *a0,
// ...]`.
func doublings(levels int, first, open, item, closing string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "a0: &a0 %s\n", first)
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "a%d: &a%d %s%s%s\n", i, i, open, strings.Repeat(fmt.Sprintf(item, i-1), 10), closing)
	}
	return b.String()
}

// hang is longer than any parser may need, however busy the machine and with the race detector at work.
const hang = 2 * time.Minute

// TestBadInput gives documents that are wrong, or meant to do harm, to every parser. Each comes back with errors that
// have file, line and column, soon, and in little memory.
func TestBadInput(t *testing.T) {
	const somewhere = `^doc\.yaml:[0-9]+:[0-9]+: `
	deep := func(open, closing string, levels int) string {
		return strings.Repeat(open, levels) + strings.Repeat(closing, levels)
	}
	documents := map[string]struct{ data, want string }{
		"laughs": {doublings(20, "[x]", "[", "*a%d, ", "]") +
			"groups: *a20\nconfiguration: *a20\ntasks: *a20\nnodes: *a20\ndeploy: *a20\n", somewhere},
		"laughs in merges": {doublings(20, "{x: 1}", "{<<: [", "*a%d, ", "]}") + "<<: *a20\n", somewhere},
		"a list of merges": {doublings(20, "{x: 1}", "{<<: [", "*a%d, ", "]}") + "tasks: [{<<: *a20}]\n", somewhere},
		"merges as items": {"- &a0 {x: 1}\n" + strings.ReplaceAll(
			strings.ReplaceAll(doublings(20, "{}", "{<<: [", "*a%d, ", "]}"), "a0: &a0 {}\n",
				""), "\na", "\n- b")[3:], somewhere},
		"itself in a list": {
			"groups: &a [*a]\nconfiguration: &b [*b]\ntasks: &c [*c]\nnodes: &d [*d]\ndeploy: &e [*e]\n", somewhere},
		"itself in a map":    {"&a\ngroups: *a\nconfiguration: *a\ntasks: *a\nnodes: *a\ndeploy: *a\n", somewhere},
		"merged into itself": {"&a\n<<: *a\nname: 1\n", somewhere},
		"no such anchor": {"a: 1\nb: *nothing\n",
			`^doc\.yaml:2:4: not well formed: there is no anchor &nothing before this$`},
		"merge of text": {"<<: text\n",
			`^doc\.yaml:1:5: is text, not a mapping to merge|is a mapping, not a list|mapping, not`},
		"deep lists":       {"groups: " + deep("[", "]", 10_000), somewhere + ".*"},
		"deep maps":        {"groups: " + deep("{a: ", "}", 10_000), somewhere + ".*"},
		"deep, not closed": {strings.Repeat("[", 1<<17), `^doc\.yaml:1:1: not well formed: exceeded max depth`},
		"deep dashes":      {strings.Repeat("- ", 1<<16), `^doc\.yaml:1:1: not well formed: exceeded max depth`},
		"deep in range":    {"configuration: {file: {/a: {x: " + deep("[", "]", 5_000) + "}}}\n", somewhere},
		"twice": {"name: a\nversion: b\nname: c\n",
			`(?m)^doc\.yaml:3:1: key "name" is there twice, first at line 1; keep one$`},
		"twice, far below": {"x:\n  y:\n  - {z: 1, é: 2, z: 3}\n",
			`(?m)^doc\.yaml:3:18: key "z" is there twice, first at line 3; keep one$`},
		"tab": {"a:\n\tb: 1\n",
			`^doc\.yaml:2:1: not well formed: a tab; YAML indents with spaces only$`},
		"tab after spaces": {"a:\n  b:\n  \tc: 1\n", somewhere},
		"tab far below": {"x:\n- a: 1\n  b: 2\n\tc: 3\n",
			`^doc\.yaml:4:1: not well formed: a tab; YAML indents with spaces only$`},
		"item far below": {"x:\n" + strings.Repeat("- a: 1\n  b: 2\n", 100) + " - b: 3\n",
			`^doc\.yaml:202:2: not well formed: did not find expected key$`},
		"key far below": {"x:\n  y:\n" + strings.Repeat("    - a: 1\n", 100) + "     b: 3\n",
			`^doc\.yaml:103:6: not well formed: did not find expected '-' indicator$`},
		"bracket far below": {"x:\n- a: 1\n  b: 2\n  c: [3]]\n",
			`^doc\.yaml:4:3: not well formed: did not find expected key$`},
		"not UTF-8": {"a: 1\nb: é\xffx\n",
			`^doc\.yaml:2:5: not well formed: a byte 0xff that is not UTF-8 text$`},
		"latin-1": {"name: caf\xe9\n", `^doc\.yaml:1:10: not well formed: a byte 0xe9`},
		"NUL":     {"a: 1\nb: x\x00\n", `^doc\.yaml:2:5: not well formed: a control character, U\+0000`},
		"escape":  {"a: \x1b[31m\n", `^doc\.yaml:1:4: not well formed: a control character, U\+001B`},
		"UTF-16": {"\xff\xfea\x00:\x00 \x001\x00\n\x00",
			`^doc\.yaml:1:1: not well formed: is UTF-16 text; write it as UTF-8$`},
		"BOM and mistake": {"\ufeffa: 1\nb: [\n", somewhere},
		"second colon":    {"a: 1\nb: c: d\n", "^doc\\.yaml:2:5: not well formed: a second `: ` on one line"},
		"not closed": {"a: 1\nb: [1, 2\nc: 3\n",
			`^doc\.yaml:2:1: not well formed: did not find expected ',' or ']'$`},
		"quotes not closed": {"a: 1\nb: \"x\nc: 3\n", somewhere + "not well formed: "},
		"many tag lines": {strings.Repeat("%TAG !a! b\n", 100_000),
			`^doc\.yaml:65:1: not well formed: there are more than 64 %TAG lines$`},
		"unknown tag": {
			"groups: !!binary aGVsbG8=\nconfiguration: !x y\ntasks: !x y\nnodes: !x y\ndeploy: !x y\n", somewhere},
		"a number": {"42\n", `^doc\.yaml:1:1: is a number, not a (mapping|list)`},
		"a text": {"hello\n",
			`^doc\.yaml:1:1: is text, not a (mapping|list)(; give what the file holds, .*)?$`},
		"wrong types":    {"groups: 1\nconfiguration: 1\ntasks: 1\nnodes: 1\ndeploy: 1\n", somewhere},
		"key is no text": {"1: a\ntrue: b\n[c]: d\n", somewhere},
		"unknown keys":   {"zzz: 1\nyyy: 2\n", somewhere},
		"long line":      {"groups: \"" + strings.Repeat("x", 1<<20) + "\"\nx: 1\n", somewhere},
		"long key": {strings.Repeat("k", 1000) + ": 1\n? " + strings.Repeat("k", 1<<18) + "\n: 1\n",
			somewhere},
		"long key, much in": {"configuration: {? " + strings.Repeat("k", 1<<18) + " : {? " +
			strings.Repeat("k", 1<<18) + " : {x: [" + strings.Repeat("~,", 1<<15) + "]}}}\n", somewhere},
		"many unknown keys": {unknownKeys(10_000), somewhere},
		"50 MB": {strings.Repeat("- abcdefg\n", 5<<20),
			`^doc\.yaml: the document has 52428800 bytes; 16777216 is the most$`},
	}
	for name, d := range documents {
		data := []byte(d.data)
		for parser, p := range parsers {
			start := time.Now()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := p.parse(Source{"doc.yaml", data})
			runtime.ReadMemStats(&after)
			if spent, mb := time.Since(start), (after.TotalAlloc-before.TotalAlloc)>>20; spent > hang || mb > 1000 {
				t.Errorf("%s, %s: it took %s and %d MB", name, parser, spent, mb)
			}
			if err == nil {
				t.Errorf("%s, %s: there is no error", name, parser)
				continue
			}
			var errs invalid.Errors
			if !errors.As(err, &errs) {
				t.Errorf("%s, %s: %T is not of problems", name, parser, err)
				continue
			}
			if len(err.Error()) > 1<<20 {
				t.Errorf("%s, %s: the error has %d bytes", name, parser, len(err.Error()))
			}
			want := regexp.MustCompile(d.want)
			if text := err.Error(); !want.MatchString(text) {
				t.Errorf("%s, %s: got %.300s", name, parser, text)
			}
		}
	}
}

func unknownKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "grops%d: 1\n", i)
	}
	return b.String()
}

// TestForms: what is only unusual is read as what it is.
func TestForms(t *testing.T) {
	for parser, p := range parsers {
		for name, change := range map[string]func(string) string{
			"as it is":        func(s string) string { return s },
			"BOM":             func(s string) string { return "\ufeff" + s },
			"CRLF":            func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
			"no end of line":  func(s string) string { return strings.TrimSuffix(s, "\n") },
			"markers":         func(s string) string { return "%YAML 1.1\n---\n" + s + "...\n" },
			"empty documents": func(s string) string { return "---\n---\n" + s + "---\n" },
			"comments": func(s string) string {
				return strings.Repeat("# x\n", 10_000) + s +
					strings.Repeat("\n# x", 10_000)
			},
			"blanks at ends": func(s string) string {
				return strings.ReplaceAll(s, "\n",
					strings.Repeat(" ", 1000)+"\n")
			},
		} {
			if err := p.parse(Source{"doc.yaml", []byte(change(p.good))}); err != nil {
				t.Errorf("%s, %s: %v", parser, name, err)
			}
		}
		if err := p.parse(Source{"doc.yaml", []byte(p.good + "---\n" + p.good)}); err == nil && parser != "site" {
			t.Errorf("%s: a second document is passed over", parser)
		}
	}
}

// TestManyValues: without aliases, no number of values is too many for a document that is not too large.
func TestManyValues(t *testing.T) {
	data := "configuration: {file: {/a: {x: [" + strings.Repeat("a,", maxVisits+1000) + "]}}}\n"
	layer, err := ParseLayer(Source{"doc.yaml", []byte(data)})
	if err != nil {
		t.Fatalf("%.300v", err)
	}
	if list, _ := layer.Override.Configuration["file"]["/a"]["x"].([]any); len(list) != maxVisits+1000 {
		t.Errorf("got %d values", len(list))
	}
}

// TestBadShow is TestBadInput for what Terraform prints.
func TestBadShow(t *testing.T) {
	inside := func(values string) string {
		return `{"format_version":"1.0","values":{"root_module":{"resources":[{"address":"d","mode":"managed","type":"slipway_deployment","values":` + values + `}]}}}`
	}
	for name, tt := range map[string]struct{ data, want string }{
		"deep": {inside(strings.Repeat(`{"a":`, 10_000)),
			`^show\.json:1:[0-9]+: not well formed: values are more than 200 levels deep`},
		"deep elsewhere": {`{"x": ` + strings.Repeat("[", 10_000) + `, "format_version": "1.0"}`,
			`^show\.json:1:[0-9]+: not well formed`},
		"cut off": {inside(`{"site": "s"`)[:130],
			`^show\.json:1:[0-9]+: not well formed: the JSON text is not complete`},
		"twice": {inside(`{"site": "s", "site": "t"}`), `key "site" is there twice`},
		"BOM": {"\ufeff" + inside(`{"site": 7, "nodes": 8}`),
			`^show\.json:1:[0-9]+: d\.nodes: is a number, not a list`},
		"wrong types": {inside(`{"nodes": [7, {"name": {}}], "groups": {"a": []}}`),
			`(?s)^show\.json:1:[0-9]+: d\.nodes\[0\]: .*\nshow\.json:1:[0-9]+: d\.nodes\[1\]\.name: .*\nshow\.json:1:[0-9]+: d\.groups\["a"\]: `},
		"NUL":       {"{\"format_version\":\"1.0\",\"values\":\x00}", `^show\.json:1:[0-9]+: not well formed`},
		"no object": {`{"format_version":"1.0","values":[]}`, `holds no slipway_deployment`},
		"50 MB": {inside(`{"nodes": [` + strings.Repeat(`7,`, 1<<15) + `7], "x": "` +
			strings.Repeat("x", 50<<20) + `"}`), `^show\.json:1:[0-9]+: d\.nodes\[0\]: `},
	} {
		start := time.Now()
		_, err := ParseSite([]Source{{"show.json", []byte(tt.data)}}, Options{})
		if err == nil {
			t.Errorf("%s: there is no error", name)
			continue
		}
		if text := err.Error(); !regexp.MustCompile(tt.want).MatchString(text) {
			t.Errorf("%s: got %.300s", name, text)
		}
		if spent := time.Since(start); spent > hang {
			t.Errorf("%s: it took %s", name, spent)
		}
	}
}

// FuzzParsers gives the same document to every parser.
func FuzzParsers(f *testing.F) {
	for _, p := range parsers {
		f.Add([]byte(p.good))
	}
	f.Add([]byte("a: &a [*a]\n<<: *a\n"))
	f.Add([]byte("\ufeff%TAG !a! b\r\n---\r\n? [x]\r\n: !!binary \"\\x00\"\r\n"))
	f.Add([]byte("groups: |\n\tx: y: z\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, p := range parsers {
			err := p.parse(Source{"doc.yaml", data})
			if err == nil {
				continue
			}
			var errs invalid.Errors
			if !errors.As(err, &errs) || len(errs) == 0 {
				t.Fatalf("%s: an error that is not problems: %v", name, err)
			}
			for _, p := range errs {
				if p.Message == "" || p.Code == "" || p.File != "doc.yaml" || p.Line < 0 ||
					(p.Line > 0) != (p.Column > 0) {
					t.Fatalf("%s: an error that says nothing: %+v", name, p)
				}
			}
		}
	})
}
