package converge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// live is standard input of a controller that stays: the text, then nothing until the test ends.
func live(t *testing.T, text string) io.Reader {
	r, w := io.Pipe()
	go func() { _, _ = io.WriteString(w, text) }()
	t.Cleanup(func() { _ = w.Close() })
	return r
}

// The messages are a contract with controllers of other versions.
func TestMessagesGolden(t *testing.T) {
	b := newSandbox(t)
	b.put("/etc/motd", "old\n")
	b.put("/etc/os-release", "NAME=\"Debian\"\nID=debian\n")
	manifest := `{"protocol":1,"site":"lon1","run":"r1","mode":"apply","items":[
		{"type":"file","title":"/etc/motd","parameters":{"content":"welcome\n"},"digest":"d1"},
		{"type":"file","title":"/nowhere/x","parameters":{"content":"x"},"digest":"d2"},
		{"type":"file","title":"/etc/y","parameters":{"content":"y"},"digest":"d3","requires":["file[/nowhere/x]"]},
		{"type":"exec","title":"true","digest":"d4"},
		{"type":"file","title":"/etc/gone","remove":true}]}` + "\n"
	var out bytes.Buffer
	if _, err := Serve(t.Context(), b.System, live(t, manifest), &out, time.Minute); err != nil {
		t.Fatal(err)
	}
	want := `{"result":{"id":"file[/etc/motd]","status":"changed","differences":[{"parameter":"content","is":"{sha256}01d09d19","should":"{sha256}77f44b90"}],"diff":"@@ -1,1 +1,1 @@\n-old\n+welcome\n","millis":0}}
{"result":{"id":"file[/nowhere/x]","status":"failed","differences":[{"parameter":"ensure","is":"absent","should":"file"}],"message":"the directory /nowhere is not there; make it first, as a file resource with ensure = \"directory\", or name what makes it in require","millis":0}}
{"result":{"id":"file[/etc/y]","status":"skipped","message":"not begun: file[/nowhere/x], which it requires, failed or was skipped; fix that first","millis":0}}
{"result":{"id":"exec[true]","status":"failed","message":"type \"exec\" needs a whole machine: the node is a sandbox folder and has no machine to run commands on; use a node with a machine of its own","millis":0}}
{"result":{"id":"file[/etc/gone]","status":"unchanged","millis":0}}
{"summary":{"protocol":1,"identity":{"ledger":"L","machine":"M","boot":"B","root":"R"},"ledger":{"file[/etc/motd]":"d1"}}}
`
	var got []string
	for line := range strings.Lines(out.String()) {
		var m Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if m.Result != nil {
			m.Result.Millis = 0
		} else {
			m.Summary.Identity = Identity{Ledger: "L", Machine: "M", Boot: "B", Root: "R"}
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(again))
	}
	if diff := cmp.Diff(strings.SplitAfter(want, "\n"), append(got, "")); diff != "" {
		t.Error(diff)
	}
}

func TestManifestsThatAreNoneAreRefused(t *testing.T) {
	good := `{"protocol":1,"site":"s","run":"r","mode":"check","items":[{"type":"file","title":"/x","parameters":{"content":"x"}}]}`
	if _, _, err := decodeManifest(strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ text, want string }{
		"nothing":          {"", "the controller is gone"},
		"cut":              {good[:40], "unexpected EOF"},
		"no JSON":          {"hello", "invalid character"},
		"no object":        {"[1]\n", "not a JSON object"},
		"protocol first":   {`{"protocol":9,"novelty":true}`, "protocol 9, and this slipway on the node speaks 1"},
		"no protocol":      {`{}`, "protocol 0"},
		"unknown field":    {strings.Replace(good, `"site"`, `"novelty":1,"site"`, 1), `unknown field "novelty"`},
		"unknown item":     {strings.Replace(good, `"title"`, `"novelty":1,"title"`, 1), `unknown field "novelty"`},
		"null":             {strings.Replace(good, `"x"}`, `null}`, 1), `file[/x]: parameter "content": is null`},
		"null inside":      {strings.Replace(good, `"x"}`, `[{"a":null}]}`, 1), "is null"},
		"number too large": {strings.Replace(good, `"x"}`, `1e999}`, 1), "out of bounds"},
		"wrong kind":       {strings.Replace(good, `"items":[`, `"items":["x",`, 1), "cannot unmarshal string"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSandbox(t)
			var out bytes.Buffer
			summary, err := Serve(t.Context(), b.System, strings.NewReader(test.text), &out, time.Minute)
			if err != nil || summary.Error == nil || summary.Error.Code != CodeProtocol || !strings.Contains(summary.Error.Message, test.want) {
				t.Errorf("%+v, %v; want %q", summary.Error, err, test.want)
			}
			if strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), `"summary"`) {
				t.Errorf("wrote %q", out.String())
			}
		})
	}
}

// execution.md 2, rule 7: numbers and fresh values survive the way to the node, so that digests agree.
func TestManifestDecoding(t *testing.T) {
	text := `{"protocol":1,"site":"s","run":"r","mode":"check","items":[
		{"type":"t","title":"a","parameters":{"large":9007199254740993,"half":0.5,"list":[1,"x",true],"map":{"k":2}}},
		{"type":"t","title":"b","parameters":{"half":1}},{"type":"t","title":"c"}]}` + "\n\n"
	c, rest, err := decodeManifest(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []resource.Parameters{
		{"large": int64(9007199254740993), "half": 0.5, "list": []any{int64(1), "x", true}, "map": map[string]any{"k": int64(2)}},
		{"half": int64(1)}, nil,
	}
	for i, w := range want {
		if diff := cmp.Diff(w, c.Items[i].Parameters); diff != "" {
			t.Error(diff)
		}
	}
	if left, err := io.ReadAll(rest); err != nil || strings.TrimSpace(string(left)) != "" {
		t.Errorf("left %q, %v", left, err)
	}
}

func FuzzDecodeManifest(f *testing.F) {
	f.Add([]byte(`{"protocol":1,"site":"s","run":"r","mode":"apply","items":[{"type":"file","title":"/x","parameters":{"content":"x","a":[1,{"b":2}]}}]}`))
	f.Add([]byte(`{"protocol":1}{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, _, err := decodeManifest(bytes.NewReader(text))
		if err == nil && c.Protocol != Protocol {
			t.Errorf("accepted %q", text)
		}
	})
}

func FuzzParseLedger(f *testing.F) {
	f.Add([]byte(`{"version":1,"entries":[{"site":"one","type":"plain","title":"a","digest":"d","before":null,"run":"r"}]}`))
	f.Add([]byte(`{"version":1,"locked":{"one":"r","two":{"run":"r","unlock":"u"}},"entries":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ledger.Parse(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(l)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", text, err)
		}
		if _, err := ledger.Parse(again); err != nil {
			t.Errorf("%q was read, written as %q, and not read again: %v", text, again, err)
		}
	})
}

// execution.md 2, rule 4: when the controller is gone the item at work is given up, and the bookkeeping is done all the same.
func TestTheControllerIsLost(t *testing.T) {
	needRoot(t)
	for name, test := range map[string]struct {
		silence time.Duration
		lose    func(*io.PipeWriter)
		want    string
	}{
		"end of input": {time.Minute, func(w *io.PipeWriter) { _ = w.Close() }, "the controller is gone"},
		"cut":          {time.Minute, func(w *io.PipeWriter) { _ = w.CloseWithError(errors.New("connection reset")) }, "connection reset"},
		"silence":      {300 * time.Millisecond, func(*io.PipeWriter) {}, "the controller fell silent for 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			b := newSandbox(t)
			b.Commands = machine(t).Execute // a sandbox that runs commands, so that the ledger is not this machine's
			manifest, err := json.Marshal(Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: Apply, Items: []Item{
				item("file[/a]", "content", "1"), item("exec[endless]", "command", "touch started; sleep 600", "cwd", b.dir), item("file[/b]", "content", "1")}})
			if err != nil {
				t.Fatal(err)
			}
			in, controller := io.Pipe()
			defer controller.Close()
			b.mkdir(b.dir) // the machine's commands work in the folder, and the sandbox must find it too
			out := &brokenAfter{lines: 1, broken: make(chan struct{})}
			go func() {
				_, _ = controller.Write(append(manifest, '\n'))
				<-out.broken // the result of the first item was sent
				for !b.there("started") && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
				test.lose(controller)
			}()
			summary, err := Serve(t.Context(), b.System, in, out, test.silence)
			if err == nil {
				t.Error("an output that failed was not told")
			}
			if want := map[resource.ID]string{"file[/a]": item("file[/a]", "content", "1").Digest, "exec[endless]": ""}; !cmp.Equal(summary.Ledger, want) {
				t.Errorf("ledger %v", summary.Ledger)
			}
			l, err := ledger.Read(b.System)
			if err != nil || len(l.Entries) != 2 || b.there("/b") {
				t.Errorf("%+v, %v", l, err)
			}
			if got := out.String(); !strings.Contains(got, "file[/a]") || strings.Contains(got, "summary") {
				t.Errorf("sent %q", got)
			}
			// The lock is free: the next controller can go on at once.
			if lock, err := b.Lock(t.Context(), true, "next"); err != nil {
				t.Error(err)
			} else {
				lock.Release()
			}
			controller.Close()
		})
	}
}

// brokenAfter is standard output whose reader goes away after some lines.
type brokenAfter struct {
	bytes.Buffer
	lines  int
	broken chan struct{}
}

func (w *brokenAfter) Write(p []byte) (int, error) {
	if w.lines == 0 {
		return 0, errors.New("broken pipe")
	}
	if w.lines--; w.lines == 0 {
		close(w.broken)
	}
	return w.Buffer.Write(p)
}

func TestSignsOfLifeKeepTheSession(t *testing.T) {
	needRoot(t)
	b := newSandbox(t)
	b.Commands = machine(t).Execute
	manifest, err := json.Marshal(Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: Apply, Items: []Item{item("exec[slow]", "command", "sleep 1")}})
	if err != nil {
		t.Fatal(err)
	}
	in, controller := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer controller.Close()
		_, _ = controller.Write(manifest)
		beat := time.NewTicker(50 * time.Millisecond)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				_, _ = controller.Write([]byte("\n"))
			case <-ended:
				return
			}
		}
	}()
	var out bytes.Buffer
	summary, err := Serve(t.Context(), b.System, in, &out, 400*time.Millisecond)
	close(ended)
	if err != nil || !strings.Contains(out.String(), `"changed"`) || summary.Ledger["exec[slow]"] == "" {
		t.Errorf("%s %v", out.String(), err)
	}
}

func TestSilenceBeforeTheManifestEndsTheSession(t *testing.T) {
	b := newSandbox(t)
	var out bytes.Buffer
	summary, _ := Serve(t.Context(), b.System, live(t, `{"protocol":1`), &out, 50*time.Millisecond)
	if summary.Error == nil || !strings.Contains(summary.Error.Message, "fell silent") {
		t.Errorf("%+v", summary.Error)
	}
}

// TestAHelperStaysBelowTheBounds: whatever commands print and types say, no session of a helper is given up for it: its results stay below their
// bounds, one by one and together, and no text of them is cut by the controller. What is left out for that is no outcome.
func TestAHelperStaysBelowTheBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"x", "\"", "\\", "<", "\n", "ä", "\xff", "\x1b", "\u2028"}
	text := func(most int) string {
		one := pieces[random.IntN(len(pieces))]
		if random.IntN(3) == 0 {
			one += pieces[random.IntN(len(pieces))]
		}
		return strings.Repeat(one, most/len(one))
	}
	for round := range 12 {
		items := []int{1, 15, 400}[round%3]
		m := Manifest{Items: make([]Item, items), TearDown: round == 5}
		var out bytes.Buffer
		w := &lineWriter{out: &out, room: m.Limit(), left: m.Most()}
		size, full := 0, round%2 == 0
		for i := range items {
			j := &operation{id: resource.ID(fmt.Sprintf("exec[%s%d]", strings.Repeat("\"", 380), i)), log: &system.Tail{Limit: system.OutputLimit}}
			r := Result{ID: j.id, Status: Failed, Millis: 123456, Refreshed: true}
			if full || random.IntN(10) == 0 {
				j.log.WriteString(text(5000))
				j.notice, r.Message, r.Diff = text(2000), text(2000), text(5000)
				for range random.IntN(40) {
					r.Differences = append(r.Differences, types.Difference{Parameter: "purge_ssh_keys", Is: text(300), Should: text(300)})
				}
			}
			j.redact(&r)
			whole := r
			w.result(r)
			w.result(Result{ID: j.id, Status: Printing, Output: "live"})
			line := bytes.Split(out.Bytes(), []byte("\n"))[0]
			out.Reset()
			size += len(line)
			if len(line) > ResultLimit || size > m.Limit() || w.err != nil {
				t.Fatalf("result %d of %d has %d bytes, all have %d, of %d: %v", i+1, items, len(line), size, m.Limit(), w.err)
			}
			var sent Message
			if err := json.Unmarshal(line, &sent); err != nil {
				t.Fatal(err)
			}
			got := *sent.Result
			sent.Legible()
			if d := cmp.Diff(got, *sent.Result); d != "" {
				t.Fatalf("the controller cut what a helper sent: %s", d)
			}
			if got.ID != r.ID || got.Status != r.Status || !got.Refreshed || (got.Message == "") != (r.Message == "") || (got.Differences == nil) != (len(r.Differences) == 0) {
				t.Fatalf("an outcome was left out: %.300s", line)
			}
			if d := cmp.Diff(got, whole); items <= 15 && d != "" {
				t.Fatalf("a result of a session with few items was shortened: %.300s", d)
			}
		}
	}
}

// TestResultsGetShort: the last results of a session that has sent much are short, and the first are not.
func TestResultsGetShort(t *testing.T) {
	const items = 2000
	var out bytes.Buffer
	m := Manifest{Items: make([]Item, items)}
	w := &lineWriter{out: &out, room: m.Limit(), left: m.Most()}
	lines := make([]int, items)
	for i := range items {
		out.Reset()
		w.result(Result{ID: "file[/a]", Status: Failed, Message: strings.Repeat("m", 1000), Notice: "n", Output: strings.Repeat("o", 4096), Diff: strings.Repeat("d", 4096)})
		lines[i] = out.Len()
	}
	if lines[0] < 9000 || lines[items/4] < 9000 || lines[items-1] > 400 {
		t.Errorf("the first result has %d bytes, one in the first quarter %d, the last %d", lines[0], lines[items/4], lines[items-1])
	}
}

// A controller that ends a session, at a time limit for example, is not gone.
func TestTheEndOfTheSessionIsSaid(t *testing.T) {
	needRoot(t)
	for name, test := range map[string]struct{ last, want string }{
		"ended":   {"\nend\n", "the controller ended the session"},
		"hung up": {"\n", "the controller is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSandbox(t)
			b.Commands = machine(t).Execute
			b.mkdir(b.dir)
			manifest, err := json.Marshal(Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: Apply, Items: []Item{
				item("exec[endless]", "command", "touch started; sleep 600", "cwd", b.dir)}})
			if err != nil {
				t.Fatal(err)
			}
			in, controller := io.Pipe()
			go func() {
				_, _ = controller.Write(append(manifest, '\n'))
				for !b.there("started") && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
				_, _ = controller.Write([]byte(test.last))
				_ = controller.Close()
			}()
			var out bytes.Buffer
			if _, err := Serve(t.Context(), b.System, in, &out, time.Minute); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("sent %s, want %q", out.String(), test.want)
			}
		})
	}
}
