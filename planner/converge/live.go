package converge

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// The bounds of what a session sends while its commands run. A command that prints more is shown in parts.
const (
	liveInterval = time.Second // between two messages
	liveText     = 2 << 10     // bytes of output in a message
	liveSession  = 1 << 20     // bytes of all messages of a session
	liveBurst    = 64 << 10    // bytes that may come as fast as the interval allows; then
	liveRate     = 256         // bytes a second
	liveOverhead = 256         // bytes that count for a message besides its output

	// LiveMessages bounds the messages of a session, and LiveLimit the bytes of all of them.
	LiveMessages = liveSession / liveOverhead
	LiveLimit    = 8 * liveSession // encoded
)

// liveOutput sends what the commands of a session print while they run, as results with the status [Printing]. It never
// lets a command wait: what it cannot send is left out.
type liveOutput struct {
	emit func(Result)

	sending sync.Mutex // one message at a time, none of an item after its end
	mu      sync.Mutex // guards the rest
	result  Result     // what is at work; the zero value: nothing that is shown
	secrets mask
	text    []byte // to be sent, without secrets
	left    int    // bytes left out before text
	timer   *time.Timer
	began   time.Time // of the session's first message
	sent    int       // bytes of the session
}

// begin says what is at work from now on.
func (l *liveOutput) begin(r Result, secrets []string) {
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Status = Printing
	l.result, l.secrets = r, mask{values: secrets}
}

// end says that nothing is at work any more. No message is sent after it.
func (l *liveOutput) end() {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.result, l.secrets, l.text, l.left, l.timer = Result{}, mask{}, nil, 0, nil
}

// Write takes what a command prints.
func (l *liveOutput) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.result.Status == "" || l.sent >= liveSession {
		return len(p), nil
	}
	l.text = append(l.text, l.secrets.add(p)...)
	if extra := len(l.text) - liveText; extra > 0 {
		l.text, l.left = append(l.text[:0], l.text[extra:]...), l.left+extra
	}
	if l.timer == nil && len(l.text) > 0 {
		l.timer = time.AfterFunc(max(liveInterval, l.pause()), l.send)
	}
	return len(p), nil
}

// pause is how long nothing may be sent because of what was sent already.
func (l *liveOutput) pause() time.Duration {
	if l.began.IsZero() {
		l.began = time.Now()
	}
	return time.Duration(l.sent-liveBurst)*time.Second/liveRate - time.Since(l.began)
}

// send sends the whole lines that were printed since the last message; the start of a line when there is no other.
func (l *liveOutput) send() {
	l.sending.Lock()
	defer l.sending.Unlock()
	r := l.next()
	if r.Status != "" {
		l.emit(r)
	}
}

// next takes the next message; its status is empty when there is none.
func (l *liveOutput) next() Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.result
	end := bytes.LastIndexAny(l.text, "\r\n") + 1
	if end == 0 {
		end = whole(l.text)
	}
	if r.Status == "" || end == 0 {
		l.timer = nil
		return Result{}
	}
	r.Output = resource.Visible(strings.ToValidUTF8(system.Overwritten.Replace(string(l.text[:end])), "\uFFFD"))
	if l.left > 0 {
		r.Output = fmt.Sprintf("(%d bytes were left out here)\n", l.left) + r.Output
	}
	l.text, l.left = append(l.text[:0], l.text[end:]...), 0
	l.sent += len(r.Output) + liveOverhead
	l.timer = nil
	if len(l.text) > 0 {
		l.timer = time.AfterFunc(max(liveInterval, l.pause()), l.send)
	}
	return r
}

// whole returns how many bytes of a text are whole characters.
func whole(text []byte) int {
	for cut := 1; cut < utf8.UTFMax && cut <= len(text); cut++ {
		if at := len(text) - cut; utf8.RuneStart(text[at]) {
			if utf8.FullRune(text[at:]) {
				break
			}
			return at
		}
	}
	return len(text)
}

// mask takes secrets out of a text that comes in parts. It keeps what may be the start of one until more has come.
type mask struct {
	values []string
	kept   []byte
	secret []bool // of each byte of kept: it belongs to a value
	hiding bool   // the byte before kept belonged to one
}

// add returns what of the text may be shown now.
func (m *mask) add(p []byte) []byte {
	if len(m.values) == 0 {
		return p
	}
	m.kept = append(m.kept, p...)
	m.secret = append(m.secret, make([]bool, len(p))...)
	cut := len(m.kept)
	for _, v := range m.values {
		marked := 0
		for from := 0; ; from++ {
			at := bytes.Index(m.kept[from:], []byte(v))
			if at < 0 {
				break
			}
			from += at
			for i := max(from, marked); i < from+len(v); i++ {
				m.secret[i] = true
			}
			marked = from + len(v)
		}
		for n := min(len(v)-1, len(m.kept)); n > 0; n-- {
			if bytes.HasSuffix(m.kept, []byte(v[:n])) {
				cut = min(cut, len(m.kept)-n)
				break
			}
		}
	}
	var shown []byte
	for i, c := range m.kept[:cut] {
		switch {
		case !m.secret[i]:
			shown = append(shown, c)
		case !m.hiding:
			shown = append(shown, types.Hidden...)
		}
		m.hiding = m.secret[i]
	}
	m.kept, m.secret = append(m.kept[:0], m.kept[cut:]...), append(m.secret[:0], m.secret[cut:]...)
	return shown
}
