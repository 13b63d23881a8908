package converge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// errSilence, errHangUp and errEnded say how a session lost its controller.
var (
	errSilence = errors.New("the controller fell silent")
	errHangUp  = errors.New("the controller is gone")
	errEnded   = errors.New("the controller ended the session")
)

// SessionEnd is the last line that a controller sends when it ends a session early, at a time limit for example.
const SessionEnd = "end\n"

// Serve is one session of the helper: it reads a manifest from in, runs it, and writes a line for every result, as soon
// as it is known, and one for the summary. After the manifest, in carries signs of life and contents; when it ends, or
// stays silent for longer than silence, the item at work is given up and the others are skipped, and the ledger is
// brought to its end all the same. A lost controller cannot read the results, so an out that fails is no reason to
// stop; the error says so.
func Serve(ctx context.Context, s *system.System, in io.Reader, out io.Writer, silence time.Duration) (Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	life := time.AfterFunc(silence, func() { cancel(fmt.Errorf("%w for %s", errSilence, silence)) })
	defer life.Stop()

	manifest, rest, err := readManifest(ctx, &heard{in, func() { life.Reset(silence) }})
	summary := Summary{Protocol: Protocol, Ledger: map[resource.ID]string{}}
	w := &lineWriter{out: out}
	if err != nil {
		summary.Error = &SessionError{Code: CodeProtocol, Message: "the manifest cannot be read: " + err.Error()}
		return summary, w.write(Message{Summary: &summary})
	}
	asking := &asking{write: w.write, parts: make(chan part)}
	manifest.Contents = asking.contents
	go func() { // it ends with the input, at the latest with the process
		cancel(asking.listen(ctx, rest, silence/4, func() { life.Reset(silence) }))
	}()
	w.room, w.left = manifest.Limit(), manifest.Most()
	summary = Run(ctx, s, manifest, w.result)
	if summary.Error != nil {
		summary.Error.Message = bounded(summary.Error.Message, ErrorLimit/2)
	}
	_ = w.write(Message{Summary: &summary})
	return summary, w.err
}

// heard calls sign for all that is read.
type heard struct {
	in   io.Reader
	sign func()
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.in.Read(p)
	if n > 0 {
		h.sign()
	}
	return n, err
}

// readManifest reads a manifest and returns what follows it. It gives up when ctx ends.
func readManifest(ctx context.Context, in io.Reader) (Manifest, io.Reader, error) {
	type answer struct {
		manifest Manifest
		rest     io.Reader
		err      error
	}
	answers := make(chan answer, 1)
	go func() {
		c, rest, err := decodeManifest(in)
		answers <- answer{c, rest, err}
	}()
	select {
	case a := <-answers:
		return a.manifest, a.rest, a.err
	case <-ctx.Done():
		return Manifest{}, nil, context.Cause(ctx)
	}
}

// decodeManifest reads one manifest and returns it with the rest of the input. It refuses fields that it does not know,
// and another protocol before anything else, because the other one's fields may mean other things.
func decodeManifest(in io.Reader) (Manifest, io.Reader, error) {
	dec := json.NewDecoder(in)
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		if errors.Is(err, io.EOF) {
			err = errHangUp
		}
		return Manifest{}, nil, err
	}
	var version struct {
		Protocol int `json:"protocol"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return Manifest{}, nil, errors.New("it is not a JSON object with a protocol")
	}
	rest := io.MultiReader(dec.Buffered(), in)
	if version.Protocol != Protocol {
		return Manifest{}, nil, Manifest{Protocol: version.Protocol}.invalid()
	}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	strict.UseNumber() // a float64 would lose digits of a large integer
	var c Manifest
	if err := strict.Decode(&c); err != nil {
		return Manifest{}, nil, err
	}
	for i := range c.Items {
		for name, value := range c.Items[i].Parameters {
			plain, err := resource.Plain(value, resource.RefuseNulls)
			if err != nil {
				return Manifest{}, nil, fmt.Errorf("%s: parameter %q: %w", c.Items[i].ID(), name, err)
			}
			c.Items[i].Parameters[name] = plain
		}
	}
	return c, rest, nil
}

// lineWriter writes messages as lines until the first error.
type lineWriter struct {
	mu   sync.Mutex
	out  io.Writer
	room int // bytes of results that may still be sent: see [Manifest.Limit]
	left int // results that may still come
	err  error
}

// result writes a result, shortened where those that may still come would not all have room otherwise, each of them
// shortened. The writer keeps the error.
func (w *lineWriter) result(r Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := Message{Result: &r}
	line, err := m.Encode()
	if r.Status != Printing {
		w.left--
		// A character of an id takes two bytes at most.
		if w.room-len(line) < w.left*shortResult+2*schema.TitleRoom(w.left) {
			r = r.short()
			line, err = m.Encode()
		}
		w.room -= len(line)
	}
	w.send(line, err)
}

// write writes a message that is no result.
func (w *lineWriter) write(m Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.send(m.Encode())
	return w.err
}

// send writes a line. The caller has the mutex.
func (w *lineWriter) send(line []byte, err error) {
	if w.err != nil {
		return
	}
	if w.err = err; err == nil {
		_, w.err = w.out.Write(line)
	}
}
