package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
)

// speaker is a session of a node that says what it has to say, and hears nothing.
type speaker struct{ out io.Reader }

func (speaker) Stdin() io.WriteCloser { return deaf{} }
func (s speaker) Stdout() io.Reader   { return s.out }
func (speaker) Stderr() io.Reader     { return bytes.NewReader(nil) }
func (speaker) Wait() error           { return nil }

type deaf struct{}

func (deaf) Write(p []byte) (int, error) { return len(p), nil }
func (deaf) Close() error                { return nil }

// TestLargeLedgersCostNoMemory: the entries of a ledger are counted while it is read, and so is the room that they
// take, before anything is made of them.
func TestLargeLedgersCostNoMemory(t *testing.T) {
	const begins = `{"summary":{"protocol":1,"ledger":{`
	many, long := []byte(begins), []byte(begins)
	for i := range 400_000 {
		many = append(many, `"file[/etc/\"a,b`+strconv.Itoa(i)+`]":"x",`...)
	}
	for i := range 80 {
		long = append(long, `"file[/etc/`+strings.Repeat("a,", 100_000)+strconv.Itoa(i)+`]":"x",`...)
	}
	for want, message := range map[string][]byte{
		"more than 10000 resources":                                     many,
		"a line of more than 262144 bytes with too few values for that": long,
	} {
		message = append(message[:len(message)-1], "}}}\n"...)
		life, end := context.WithCancelCause(t.Context())
		defer end(nil)
		f := &far{
			limits: standard, life: life, end: end, session: speaker{bytes.NewReader(message)}, errs: &complaints{},
			out: bufio.NewReaderSize(bytes.NewReader(message), 64<<10),
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := f.work(t.Context(), nil, converge.Manifest{Items: make([]converge.Item, 1)}, func(converge.Result) {})
		runtime.ReadMemStats(&after)
		f.close()
		refused(t, err, converge.CodeProtocol, want, "was given up")
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("a ledger of %d bytes took %d bytes of memory", len(message), took)
		}
	}
}

// flooding is the output of a node that sends one line again and again.
type flooding struct {
	line string
	at   int
}

func (f *flooding) Read(p []byte) (int, error) {
	n := copy(p, f.line[f.at:])
	f.at = (f.at + n) % len(f.line)
	return n, nil
}

// TestNodesThatFloodAtOnceCostLittleMemory: twenty sessions whose nodes send results as long or as many as they may,
// all of which are kept, as a survey keeps them. The bound is what a session of so many items has when every one of
// them prints and differs as much as a helper lets it.
func TestNodesThatFloodAtOnceCostLittleMemory(t *testing.T) {
	const nodes = 20
	text := func(n int) string { return strings.Repeat("x", n) }
	result := func(message, output, differences int) string {
		line := `{"result":{"id":"file[/a]","status":"differs","millis":1,"message":"` + text(message) + `","notice":"` + text(message) + `","output":"` + text(output) + `","diff":"` + text(output) + `","differences":[`
		for i := range differences {
			if i > 0 {
				line += ","
			}
			line += `{"parameter":"mode","is":"` + text(200) + `","should":"` + text(200) + `"}`
		}
		return line + "]}}\n"
	}
	for name, c := range map[string]struct {
		line  string
		items int
		most  int // MiB that are held at the end
	}{
		"long messages, few items":             {result(120_000, 10, 1), 15, 8},
		"much output, few items":               {result(10, 120_000, 1), 15, 12},
		"many differences, few items":          {result(10, 10, 500), 15, 8},
		"many differences, many items":         {result(10, 10, 500), 200, 12},
		"as much as a helper sends, few items": {result(1000, 4000, 6), 15, 8},
		"as much as a helper sends, 200 items": {result(1000, 4000, 6), 200, 64},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var mu sync.Mutex
			var kept []converge.Result
			held, sessions := 0, sync.WaitGroup{}
			for range nodes {
				sessions.Go(func() {
					life, end := context.WithCancelCause(t.Context())
					defer end(nil)
					f := &far{limits: standard, life: life, end: end, session: speaker{&flooding{line: c.line}}, errs: &complaints{}}
					f.out = bufio.NewReaderSize(f.session.Stdout(), 64<<10)
					m := converge.Manifest{Items: make([]converge.Item, c.items)}
					_, err := f.work(life, nil, m, func(r converge.Result) {
						mu.Lock()
						defer mu.Unlock()
						kept = append(kept, r)
						if held += len(r.Message) + len(r.Notice) + len(r.Output) + len(r.Diff); held > 1<<30 {
							end(errors.New("the results take more than 1 GiB"))
						}
					})
					f.close()
					refused(t, err, converge.CodeProtocol, "was given up")
				})
			}
			sessions.Wait()
			runtime.GC()
			runtime.ReadMemStats(&after)
			took := (int(after.HeapAlloc) - int(before.HeapAlloc)) >> 20
			t.Logf("%d results take %d MiB, %d MiB were allocated", len(kept), took, (after.TotalAlloc-before.TotalAlloc)>>20)
			if took > c.most {
				t.Errorf("%d results of %d nodes take %d MiB, want at most %d", len(kept), nodes, took, c.most)
			}
			for _, r := range kept[:1] {
				if short := len(r.Message) < 8<<10 && len(r.Output) < 16<<10; !short || len(c.line) > 100_000 && !strings.Contains(r.Message+r.Output+r.Differences[len(r.Differences)-1].String(), "were cut") {
					t.Errorf("a result has %d bytes of message and %d of output; one that was cut says so: %.200s", len(r.Message), len(r.Output), r.Message)
				}
			}
			runtime.KeepAlive(kept)
		})
	}
}
