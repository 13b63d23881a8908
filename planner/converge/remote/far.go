package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// far is a session on a node, from its start to its end.
type far struct {
	limits
	life     context.Context
	end      context.CancelCauseFunc // ends life, and with it the session
	session  transport.Session
	out      *bufio.Reader
	errs     *complaints
	heard    sync.WaitGroup // listening to standard error
	writing  sync.Mutex     // of standard input, once the helper has its manifest
	feeding  sync.WaitGroup // writing to standard input
	user     string
	named    func(attribute string) string // as [site.Connection.Named]
	sudo     bool
	password string // of sudo; empty is none
	prompt   string // by which sudo asks for it
	helpers  Helpers
	mark     string // begins the lines of the bootstrap
	ended    bool   // its standard input is closed
	waits    bool   // the helper ended well, and the bootstrap waits to start it again
}

// Reasons for which we end a session.
var (
	errSlow     = errors.New("it took too long")
	errPassword = errors.New("sudo asked for the password again")
)

// listen follows standard error to its end, and answers sudo's prompt.
func (f *far) listen() {
	if f.out != nil {
		return
	}
	f.out = bufio.NewReaderSize(f.session.Stdout(), 64<<10)
	f.errs = &complaints{script: f.helpers.bootstrap(f.mark)}
	f.heard.Go(func() {
		asked := 0
		f.errs.follow(f.session.Stderr(), f.prompt, func() {
			if asked++; asked > 1 {
				f.end(errPassword)
				return
			}
			// Nobody else writes before sudo let the bootstrap run. A failure shows as the end of the session.
			_, _ = io.WriteString(f.session.Stdin(), f.password+"\n")
		})
	})
}

// wake asks the bootstrap that waits to start the helper again. Empty lines are signs of life that the helper left.
func (f *far) wake() error {
	f.waits = false
	_, err := io.WriteString(f.session.Stdin(), "again\n")
	return err
}

// close ends the session and waits until nothing of it is left.
func (f *far) close() {
	f.end(nil)
	_ = f.session.Wait() // how it ended was judged where it mattered
	f.heard.Wait()
	f.feeding.Wait()
}

// within ends the session when what follows takes too long; the returned function says that it did not.
func (f *far) within(limit time.Duration) (done func() bool) {
	return time.AfterFunc(limit, func() { f.end(errSlow) }).Stop
}

// finish waits for the end of a session whose output has ended, no longer than the grace.
func (f *far) finish() error {
	done := f.within(f.grace)
	defer done()
	err := f.session.Wait()
	f.heard.Wait()
	return err
}

// lost explains a session that ended without a summary.
func (f *far) lost() error {
	err := f.finish()
	var broken *transport.Error
	var exit *transport.ExitError
	why := context.Cause(f.life)
	detail := shown(f.errs.text())
	if detail != "" {
		detail = "; it printed " + detail
	}
	switch {
	case why != nil && !errors.Is(why, errSlow):
		return failed(converge.CodeLost, "the session was given up (%v) before the node sent its summary: what was not "+
			"reported is unknown", why)
	case why == nil && errors.As(err, &broken):
		return err
	case errors.As(err, &exit):
		return failed(converge.CodeLost, "the helper ended without its summary (%v): what was not reported is unknown%s",
			exit, detail)
	}
	return failed(converge.CodeLost, "the helper ended without its summary: what was not reported is unknown%s", detail)
}

// complaints are the last bytes of standard error.
type complaints struct {
	script string // is left out: sudo repeats a command that it does not allow
	mu     sync.Mutex
	tail   []byte
}

// keep bounds complaints, in bytes, without the script.
const keep = 2048

// follow reads to the end and calls prompted whenever prompt came; prompts are not kept.
func (c *complaints) follow(in io.Reader, prompt string, prompted func()) {
	buffer := make([]byte, 4096)
	for {
		n, err := in.Read(buffer)
		for c.add(buffer[:n], prompt) {
			prompted()
			n = 0
		}
		if err != nil {
			return
		}
	}
}

// add keeps what came and reports whether a prompt was in it, which it takes out.
func (c *complaints) add(p []byte, prompt string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tail = append(c.tail, p...)
	if prompt != "" {
		if before, after, ok := bytes.Cut(c.tail, []byte(prompt)); ok {
			c.tail = append(bytes.Clone(before), after...)
			return true
		}
	}
	if excess := len(c.tail) - keep - len(c.script); excess > 0 {
		c.tail = bytes.Clone(c.tail[excess:])
	}
	return false
}

// text returns the complaints as they came, without the script.
func (c *complaints) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := string(c.tail)
	if c.script != "" {
		text = strings.ReplaceAll(text, c.script, "...")
	}
	return text[max(0, len(text)-keep):]
}

// shown quotes what a node printed for a message, and bounds it; nothing stays empty.
func shown(text string) string {
	const most = 300
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	quoted := strconv.Quote(text[:min(len(text), most)])
	if len(quoted) > most {
		return quoted[:most] + `..."`
	}
	return quoted
}
