// Package hostiletest has what hostile nodes, people and files may write, records it wherever a journal has a text, and
// checks that an output shows it as text. The tests of everything that shows a journal use this one corpus.
package hostiletest

import (
	"database/sql"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// Mark is in each text of the corpus, and nothing acts on it: what shows the text shows it.
const Mark = "owned"

// Corpus are the texts by what they try.
var Corpus = map[string]string{
	"markup":     `</bdi></pre></td></script></style></title><script>owned()</script><img src=x onerror=owned()><svg/onload=owned()>`,
	"attribute":  `" onmouseover="owned()' onfocus='owned() x=`,
	"template":   "{{.}}{{owned}}${owned}%[owned]%s%n",
	"address":    "javascript:owned()//../../owned?x#y%2f%00",
	"CDATA":      "]]>owned<![CDATA[<!--owned-->&owned;&#0;",
	"Markdown":   "|owned|\n\n# owned\n[owned](javascript:owned()) ![owned](//owned) `owned` ```` <details> **owned**",
	"title":      "\x1b]0;owned\a\x1b]8;;http://owned\x1b\\",
	"screen":     "\x1b[2J\x1b[H\x1b[5;31mowned\x1bc\x1b[?1049h",
	"C1":         "\u009b2Jowned\u009d0;owned\u009c\u0085",
	"keys":       "\x1b[c\x1b[6n\x05owned\x7f\b\b\r",
	"direction":  "\u202eowned\u2066\u200f\u061c\u202d",
	"invisible":  "o\u200bwned owned\ufeff\U000e0041\u00ad\u2028\u2029",
	"not UTF-8":  "owned\xff\xfe\xc0\xaf",
	"zero":       "owned\x00owned",
	"event":      "owned\n\nevent: end\ndata: owned\r\rid: 9\r\n",
	"combining":  "owned" + strings.Repeat("\u0301", 500),
	"wide lines": "owned" + strings.Repeat("漢字 ", 200),
	"a megabyte": "owned" + strings.Repeat("x", 1<<20),
}

// Text is the whole corpus in one text, of 1 MB and more.
func Text() string {
	var b strings.Builder
	for _, name := range names() {
		b.WriteString(Corpus[name])
	}
	return b.String()
}

// names returns the texts with the longest last, which may be cut off.
func names() []string {
	return []string{"markup", "attribute", "template", "address", "CDATA", "Markdown", "title", "screen", "C1", "keys", "direction",
		"invisible", "not UTF-8", "zero", "event", "combining", "wide lines", "a megabyte"}
}

// Name is the corpus in a text that is as long as names may be in journals of others: all of it that has no length.
func Name() string {
	text, _, _ := strings.Cut(Text(), Corpus["combining"])
	return text
}

// Run, Site, Entity and Service are what [Record] records; the rest are the corpus's texts.
const (
	Run     = "run-1"
	Site    = "lon1"
	Entity  = "vhost"
	Service = "shop"
)

// Node is the name of a node of the run, which failed.
func Node() string { return Corpus["markup"] + Corpus["title"] + Corpus["direction"] }

// Record records a run with the corpus wherever an event, a run or a service has a text. The run goes on.
func Record(t testing.TB, at journal.Location) *journal.Writer {
	t.Helper()
	return record(t, at, func(text string) string { return text })
}

// RecordRaw is [Record], but the journal has what acts on terminals, too, as one has it that an older slipway or other
// programs wrote.
func RecordRaw(t testing.TB, at journal.Location) *journal.Writer {
	t.Helper()
	w := record(t, at, disguise)
	expose(t, at)
	return w
}

// acting are the characters of the corpus that act on terminals, and that a database takes. Each is recorded as one for
// private use, which is a text like any other: the first of them is firstDisguise.
var acting = func() (out []rune) {
	for _, r := range Text() {
		if acts(r) && r != 0 && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}()

const firstDisguise = '\ue100'

func acts(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

func disguise(text string) string {
	return strings.Map(func(r rune) rune {
		if i := slices.Index(acting, r); i >= 0 {
			return firstDisguise + rune(i)
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// expose puts the characters that disguise has replaced into the database, in JSON as its escapes.
func expose(t testing.TB, at journal.Location) {
	t.Helper()
	driver, source, schema := "sqlite", "file:"+journal.File(at.Path, Site)+"?_pragma=busy_timeout(10000)", ""
	if at.URL != "" {
		driver, source, schema = "pgx", at.URL, `"slipway_`+Site+`".`
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // all is committed
	const ofJSON = "kind IN ('run_started', 'planned')"
	for _, c := range []struct {
		table, column, where string
		json                 bool
	}{
		{"runs", "operation", "TRUE", false}, {"runs", "report", "TRUE", false}, {"runs", "steps", "TRUE", true},
		{"checks", "drift", "TRUE", true}, {"checks", "unreachable", "TRUE", true}, {"events", "group_name", "TRUE", false},
		{"events", "node", "TRUE", false}, {"events", "resource", "TRUE", false}, {"events", "service", "TRUE", false},
		{"events", "action", "TRUE", false}, {"events", "status", "TRUE", false}, {"events", "message", "TRUE", false},
		{"events", "output", ofJSON, true}, {"events", "output", "NOT " + ofJSON, false},
		{"service_events", "message", "TRUE", false},
	} {
		value, args := c.column, []any(nil)
		for i, r := range acting {
			shown := string(r)
			if c.json {
				quoted, err := json.Marshal(shown)
				if err != nil {
					t.Fatal(err)
				}
				shown = string(quoted[1 : len(quoted)-1])
			}
			value = fmt.Sprintf("replace(%s, CAST($%d AS text), CAST($%d AS text))", value, len(args)+1, len(args)+2)
			args = append(args, string(firstDisguise+rune(i)), shown)
		}
		update := fmt.Sprintf("UPDATE %s%s SET %s = %s WHERE %s", schema, c.table, c.column, value, c.where)
		if _, err := db.ExecContext(t.Context(), update, args...); err != nil {
			t.Fatal(err)
		}
	}
}

func record(t testing.TB, at journal.Location, written func(string) string) *journal.Writer {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	store, err := at.Open(t.Context(), Site)
	must(err)
	t.Cleanup(func() { _ = store.Close() })
	text, name, node := written(Text()), written(Name()), written(Node())
	start := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	w, err := store.Start(t.Context(), journal.Run{ID: Run, Site: Site, Operation: name, Owner: name, Digest: name,
		Started: start, Steps: []string{"1. " + name, text}})
	must(err)
	outline, err := json.Marshal(journal.Outline{Groups: []journal.OutlineGroup{
		{Name: name, Nodes: 2, Batches: []int{1, 1}}, {Name: "b" + name, DependsOn: []string{name}, Nodes: 1}}})
	must(err)
	of := func(kind journal.Kind, node, status string) journal.Event {
		return journal.Event{Kind: kind, Group: name, Phase: 1, Node: node, Resource: "file[" + name + "]",
			Services: []string{name}, Action: name, Status: status, Message: text, Output: text + name, // the end of it is kept
			Millis: 20}
	}
	repaired, changed := of(journal.TaskFinished, node, "changed"), of(journal.TaskFinished, node, "changed")
	repaired.Action, changed.Message, changed.Output = "repair", journal.TextChanged, "-"+text+"\n+"+text
	group, paused, decided := of(journal.GroupFinished, "", "FAILED"), of(journal.Paused, "", ""), of(journal.Decided, "", "")
	decided.Action = journal.Hold
	events := []journal.Event{{Kind: journal.RunStarted, Message: text, Output: string(outline)},
		{Kind: journal.Planned, Group: name, Message: text}}
	events = append(events, journal.PlannedPhase(1, name, name,
		[]string{node, node, node, node, name})...)
	printed := of(journal.Output, node, "") // of the whole corpus a journal keeps the end
	printed.Output = name
	long := of(journal.TaskFinished, node, name)
	long.Resource = "exec[" + text + "]"
	events = append(events, of(journal.PhaseStarted, "", ""), of(journal.TaskStarted, node, ""), printed, of(journal.Output, node, ""),
		of(journal.TaskFinished, node, "failed"), repaired, changed, of(journal.TaskFinished, node, "differs"),
		long, of(journal.TaskFinished, name, name), of(journal.NodeFinished, node, "FAILED"),
		of(journal.NodeFinished, name, name),
		of(journal.PhaseFinished, "", "failed"), of(journal.Note, node, ""), group, paused, decided,
		of(journal.TaskStarted, "other "+name, ""), of(journal.Output, "other "+name, ""))
	must(w.Record(t.Context(), events...))
	drift := []journal.Drift{{Node: node, Resource: "file[" + name + "]", Change: text + "\n-" + text}}
	must(store.RecordCheck(t.Context(), journal.Check{Nodes: 2, Drift: drift, Unreachable: []string{name}}))
	said := text
	text, name = Text(), Name() // of services a journal keeps every character: they are values of the configuration
	set := map[string]any{name: name, "list": []any{name, map[string]any{name: name}}}
	revision := func(version int, state string, active map[string]any) services.Revision {
		return services.Revision{Service: Service, ID: Service, Entity: Entity, EntityVersion: 1, Identity: name,
			Lifecycle: name, State: state, Label: name, Version: version, DesiredVersion: version, TransferContext: name,
			Candidate: set, Active: active, Rollback: set, Redacted: []string{name},
			Config: map[string]bool{name: true}, EntityDigest: name}
	}
	event := func(version int) journal.ServiceEvent {
		return journal.ServiceEvent{Service: Service, Version: version, Type: name, Source: name, Destination: name,
			Message: said, Correlation: name}
	}
	other := revision(1, name, nil)
	other.Service, other.ID, other.Entity = name, name, name
	must(w.RecordServices(t.Context(), []services.Revision{revision(1, "start", set), revision(2, name, map[string]any{name: text}), other},
		[]journal.ServiceEvent{event(0), event(1)}))
	return w
}

// Finish ends a run of [RecordRaw], with the corpus as its report.
func Finish(t testing.TB, at journal.Location, w *journal.Writer) {
	t.Helper()
	if err := w.Finish(t.Context(), "failed", disguise(Text())); err != nil {
		t.Fatal(err)
	}
	expose(t, at)
}

// Plain fails the test when a text could act on the terminal or the text around it.
func Plain(t testing.TB, what, text string) {
	t.Helper()
	for i, r := range text {
		if acts(r) {
			t.Errorf("%s has %U: %q", what, r, text[max(0, i-60):min(len(text), i+60)])
			return
		}
	}
}

// styles are the colours and weights that slipway itself writes to a terminal: none of them is in the corpus.
var styles = regexp.MustCompile(`\x1b\[(0|1|2|3[0-7]|9[0-7])?m`)

// Screen fails the test when a text for a terminal has more than the styles of slipway, or is wider than the terminal.
func Screen(t testing.TB, what, text string) {
	t.Helper()
	Plain(t, what, styles.ReplaceAllString(text, ""))
}

// JSON fails the test when a text is not JSON, a value on each line or one in all, or could act on a terminal.
func JSON(t testing.TB, what, text string) {
	t.Helper()
	Plain(t, what, text)
	d := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) && n > 0 {
			return
		} else if err != nil {
			t.Errorf("%s is not JSON: %v", what, err)
			return
		}
	}
}

// allowed are the elements of pages and reports that run or load something, with their only source; empty: none.
var active = map[string]string{"script": "/assets/page.js", "img": "", "iframe": "", "object": "", "embed": "", "base": "", "form": "*"}

// HTML fails the test when a browser would run, load or follow something of the corpus.
func HTML(t testing.TB, what, text string) {
	t.Helper()
	Plain(t, what, text)
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%s is no HTML: %v", what, err)
			return
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			if _, comment := token.(xml.Comment); comment {
				t.Errorf("%s has a comment", what)
			}
			continue
		}
		source, isActive := active[strings.ToLower(e.Name.Local)]
		from := ""
		for _, a := range e.Attr {
			name, value := strings.ToLower(a.Name.Local), strings.ToLower(strings.TrimSpace(a.Value))
			switch {
			case strings.HasPrefix(name, "on"), name == "style", name == "srcdoc":
				t.Errorf("%s: <%s> has %s=%.100q", what, e.Name.Local, name, a.Value)
			case name == "src":
				from = a.Value
			case name == "href" || name == "action" || name == "formaction":
				if !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "#") && !strings.HasPrefix(value, "?") || strings.HasPrefix(value, "//") {
					t.Errorf("%s: <%s> leads to %.100q", what, e.Name.Local, a.Value)
				}
			}
		}
		if isActive && source != "*" && from != source {
			t.Errorf("%s has <%s src=%.100q>", what, e.Name.Local, from)
		}
	}
}
