package remote

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"runtime"
	"strconv"
	"strings"
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

// TestLargeLedgersCostNoMemory: the entries of a ledger are counted while it is read, and so is the room that they take,
// before anything is made of them.
func TestLargeLedgersCostNoMemory(t *testing.T) {
	const begins = `{"summary":{"protocol":1,"facts":{"os":"linux","arch":"amd64"},"ledger":{`
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
		_, err := f.work(t.Context(), nil, 1, func(converge.Result) {})
		runtime.ReadMemStats(&after)
		f.close()
		refused(t, err, converge.CodeProtocol, want, "was given up")
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("a ledger of %d bytes took %d bytes of memory", len(message), took)
		}
	}
}
