package converge

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// The bounds of what is shown of commands while they run. A command that prints more is shown in parts.
const (
	liveInterval = time.Second // between two messages
	liveText     = 2 << 10     // bytes of output in a message
	liveSession  = 1 << 20     // bytes of all messages
	liveBurst    = 64 << 10    // bytes that may come as fast as the interval allows; then
	liveRate     = 256         // bytes a second
	liveOverhead = 256         // bytes that count for a message besides its output

	// LiveMessages bounds the messages of a session, and LiveLimit the bytes of all of them.
	LiveMessages = liveSession / liveOverhead
	LiveLimit    = 8 * liveSession // encoded
)

// LiveOutput is a writer for what commands print, which it shows while they run. It never lets a command wait: what it
// cannot show is left out.
type LiveOutput struct {
	sending sync.Mutex // one message at a time, none after End
	mu      sync.Mutex // guards the rest
	show    func(text string)
	secrets Mask
	text    []byte // to be sent, without secrets
	left    int    // bytes left out before text
	timer   *time.Timer
	began   time.Time // of the first message
	sent    int       // bytes of all messages
}

// Begin shows what is printed from now on, without secrets: a second after it was printed or later, at most 2 KiB at a
// time, 64 KiB as fast as they come and 256 bytes a second from then on, and 1 MiB in all. show is called by another
// goroutine, by one at a time.
func (l *LiveOutput) Begin(show func(text string), secrets []string) {
	l.End()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.show, l.secrets = show, Mask{Secrets: secrets}
}

// End shows nothing of what is printed from now on, nor of what was printed and is not shown yet.
func (l *LiveOutput) End() {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.show, l.secrets, l.text, l.left, l.timer = nil, Mask{}, nil, 0, nil
}

// Write takes what a command prints. It has no error.
func (l *LiveOutput) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.show == nil || l.sent >= liveSession {
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
func (l *LiveOutput) pause() time.Duration {
	if l.began.IsZero() {
		l.began = time.Now()
	}
	return time.Duration(l.sent-liveBurst)*time.Second/liveRate - time.Since(l.began)
}

// send sends the whole lines that were printed since the last message; the start of a line when there is no other.
func (l *LiveOutput) send() {
	l.sending.Lock()
	defer l.sending.Unlock()
	if text, show := l.next(); text != "" {
		show(text)
	}
}

// next takes the next message, empty when there is none.
func (l *LiveOutput) next() (text string, show func(string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	end := bytes.LastIndexAny(l.text, "\r\n") + 1
	if end == 0 {
		end = whole(l.text)
	}
	if l.show == nil || end == 0 {
		return "", nil
	}
	text = resource.Visible(strings.ToValidUTF8(system.Overwritten.Replace(string(l.text[:end])), "\uFFFD"))
	if l.left > 0 {
		text = fmt.Sprintf("(%d bytes were left out here)\n", l.left) + text
	}
	l.text, l.left = append(l.text[:0], l.text[end:]...), 0
	l.sent += len(text) + liveOverhead
	if len(l.text) > 0 {
		l.timer = time.AfterFunc(max(liveInterval, l.pause()), l.send)
	}
	return text, l.show
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

// Mask is a writer that passes a text on without secrets. It keeps what may be the start of one until more has come.
type Mask struct {
	To      io.Writer
	Secrets []string // none is empty

	kept   []byte
	secret []bool // of each byte of kept: it belongs to a secret
	hiding bool   // the byte before kept belonged to one
}

// Write has the error of To.
func (m *Mask) Write(p []byte) (int, error) {
	_, err := m.To.Write(m.add(p))
	return len(p), err
}

// add returns what of the text may be shown now.
func (m *Mask) add(p []byte) []byte {
	if len(m.Secrets) == 0 {
		return p
	}
	m.kept = append(m.kept, p...)
	m.secret = append(m.secret, make([]bool, len(p))...)
	cut := len(m.kept)
	for _, v := range m.Secrets {
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
