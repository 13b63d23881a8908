package command

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/charmbracelet/x/ansi"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/journal/hostiletest"
	"github.com/slipway/terraform-provider-slipway/planner/journal/postgrestest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// outputs calls visit for each command that shows a journal or files, with each of its formats. Commands come from the
// companion itself, so that a new one is here, too.
func outputs(t *testing.T, visit func(name, argument string, args []string)) {
	t.Helper()
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		for _, c := range cmd.Commands() {
			walk(c, append(slices.Clone(path), c.Name()))
		}
		var flag string
		var formats []format
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if value, ok := f.Value.(*formatFlag); ok {
				flag, formats = f.Name, value.allowed
			}
		})
		argument := ""
		if fields := strings.Fields(cmd.Use); len(fields) > 1 {
			argument = fields[1]
		}
		for _, f := range formats {
			visit(strings.Join(path, " ")+" as "+string(f), argument, append(slices.Clone(path), "--"+flag, string(f)))
		}
	}
	walk(New("test", nil, ""), nil)
}

// inert checks an output in a format.
func inert(t *testing.T, what, text string) {
	t.Helper()
	switch {
	case strings.HasSuffix(what, "as json"):
		hostiletest.JSON(t, what, text)
	case strings.HasSuffix(what, "as html"):
		hostiletest.HTML(t, what, text)
	case strings.HasSuffix(what, "as junit"):
		hostiletest.Plain(t, what, text)
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if e, ok := token.(xml.StartElement); err != nil || ok && !strings.HasPrefix(e.Name.Local, "test") &&
				!slices.Contains([]string{"failure", "skipped", "system-out"}, e.Name.Local) {
				t.Fatalf("%s: %v %v", what, token, err)
			}
		}
	case strings.HasSuffix(what, "as markdown"):
		hostiletest.Plain(t, what, text)
		markdown(t, what, text)
	default:
		hostiletest.Plain(t, what, text)
	}
	if len(text) > 20<<20 {
		t.Errorf("%s has %d bytes", what, len(text))
	}
}

// markdown fails the test when Markdown outside of its blocks has something of the corpus that is more than text.
func markdown(t *testing.T, what, text string) {
	t.Helper()
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "" && line == fence:
			fence = ""
			continue
		case fence == "" && len(ticks) >= 3:
			fence = ticks
			continue
		case fence != "":
			continue
		}
		escaped := strings.NewReplacer(`\\`, "", `\|`, "", `\*`, "", `\_`, "", "\\`", "", `\~`, "", `\[`, "", `\]`, "", `\#`, "", `\$`, "").Replace(line)
		for _, active := range []string{"<", "`owned", "**owned", "[owned", "![", "# owned"} {
			if strings.Contains(escaped, active) {
				t.Errorf("%s has %s in %.300q", what, active, line)
				return
			}
		}
		if strings.HasPrefix(line, "|") && strings.Count(escaped, "|") > 12 {
			t.Errorf("%s: a cell has further cells: %.300q", what, line)
			return
		}
	}
	if fence != "" {
		t.Errorf("%s: a block does not end", what)
	}
}

// What a journal has is text in every output of every command, also in lines of a megabyte.
func TestHostileJournal(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		at := journal.Location{Path: t.TempDir()}
		hostileJournal(t, at, "--journal-directory", at.Path)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		at := journal.Location{URL: postgrestest.Start(t).URL(t), Setting: "journal of the test"}
		hostileJournal(t, at, "--journal", at.URL)
	})
}

func hostileJournal(t *testing.T, at journal.Location, flags ...string) {
	hostiletest.Finish(t, at, hostiletest.RecordRaw(t, at))
	shown := 0
	outputs(t, func(name, argument string, args []string) {
		switch argument {
		case "":
		case "[RUN]":
			args = append(args, hostiletest.Run)
		case "SERVICE":
			args = append(args, hostiletest.Service)
		case "FILE...", "NAME|FILE":
			return
		default:
			t.Fatalf("%s takes %s: say what of the corpus that is", name, argument)
		}
		if strings.HasPrefix(name, "lifecycle") {
			return // those that slipway brings
		}
		out, err := run(t, append(args, flags...)...)
		if err != nil || !strings.Contains(out, hostiletest.Mark) {
			t.Errorf("%s: %v, the corpus is shown: %v", name, err, strings.Contains(out, hostiletest.Mark))
		}
		inert(t, name, out)
		shown++
	})
	if shown < 10 {
		t.Errorf("%d outputs were looked at", shown)
	}
}

// On a terminal, watch writes nothing but its own colours, whatever the run's texts are, and no line is wider.
func TestHostileScreen(t *testing.T) {
	t.Parallel()
	at := journal.Location{Path: t.TempDir()}
	hostiletest.RecordRaw(t, at)
	store, err := at.OpenExisting(t.Context(), hostiletest.Site)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // read only
	run, err := store.Run(t.Context(), hostiletest.Run)
	if err != nil {
		t.Fatal(err)
	}
	events, err := store.AllEvents(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	for n := range events { // each moment of it
		for _, width := range []int{80, 200} {
			s := screenOf(run, events[:n+1], width, 60)
			for _, key := range []string{"", "f", "f", "?", "a", "end"} {
				s.Update(said(hostiletest.Text()))
				s.key(key)
				text := s.text(run.Started.Add(time.Minute))
				hostiletest.Screen(t, fmt.Sprintf("the screen of %d columns after %d events and %q", width, n+1, key), text)
				for line := range strings.Lines(text) {
					if ansi.StringWidth(strings.TrimSuffix(line, "\n")) > width {
						t.Fatalf("a line is wider than %d: %q", width, line)
					}
				}
			}
		}
	}
}

// What documents have is text in every output, or refused with an error that is.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	site := func(text string, in string) map[string]any {
		value := func(field, plain string) string {
			if field == in {
				return text
			}
			return plain
		}
		return map[string]any{"site": value("site", "lon1"),
			"nodes": []any{map[string]any{"name": value("node", "a"), "address": "192.0.2.1", "rack": value("rack", "r1"), "tags": []any{value("tag", "web")},
				"labels": map[string]any{value("label", "l"): value("label value", "v")}}},
			"groups": []any{map[string]any{"name": value("group", "web"), "critical": false, "selectors": []any{}},
				map[string]any{"name": "later", "critical": false, "selectors": []any{}, "depends_on": []any{value("dependency", "web")}}},
			"services": []any{map[string]any{"name": value("service", "motd"), "selectors": []any{}, "configuration": map[string]any{
				value("type", "exec"): map[string]any{value("title", "/bin/true"): map[string]any{value("parameter", "command"): value("value", "/bin/true")}},
				"file":                map[string]any{"/etc/motd": map[string]any{"content": value("content", "x\n")}}}}}}
	}
	texts := map[string]string{"what can be printed": strings.ReplaceAll(hostiletest.Corpus["markup"]+hostiletest.Corpus["attribute"]+
		hostiletest.Corpus["template"]+hostiletest.Corpus["CDATA"]+hostiletest.Corpus["Markdown"], "\n", ""),
		"everything": hostiletest.Name(), "a megabyte": hostiletest.Corpus["a megabyte"]}
	fields := strings.Split("site,node,rack,tag,label,label value,group,dependency,service,type,title,parameter,value,content", ",")
	dir, accepted := t.TempDir(), map[string]bool{}
	file := filepath.Join(dir, "site.json")
	for _, field := range fields {
		for text, value := range texts {
			if text == "a megabyte" && field != "value" && field != "content" && field != "group" { // one of each kind
				continue
			}
			document, err := json.Marshal(site(value, field))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, resource.VisibleJSON(document), 0o600); err != nil {
				t.Fatal(err)
			}
			outputs(t, func(name, argument string, args []string) {
				if argument != "FILE..." {
					return
				}
				what := text + " as " + field + ": " + name
				out, err := run(t, append(args, file)...)
				if err != nil {
					var printed strings.Builder
					PrintError(&printed, err)
					hostiletest.Plain(t, what+": the error", printed.String())
					if len(printed.String()) > 3<<20 {
						t.Errorf("%s: the error has %d bytes", what, len(printed.String()))
					}
					if out == "" {
						return
					}
				} else {
					accepted[field] = true
				}
				inert(t, what, out)
			})
		}
	}
	for _, field := range []string{"title", "value", "content"} { // of the others, some are only names
		if !accepted[field] {
			t.Errorf("nothing of the corpus is accepted as %s", field)
		}
	}
}
