package transport

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
)

// wire is the stream below one SSH client. It counts what the peer sends, which is the only sign of life that counts.
type wire struct {
	net.Conn
	received atomic.Uint64 // bytes

	mu     sync.Mutex
	start  []byte // what came before and with the banner, the first bytes of it
	banner bool
}

// preamble bounds what a server may say before its banner (RFC 4253, 4.2) as far as we keep it.
const preamble = 512

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 && w.received.Add(uint64(n)) <= preamble {
		w.mu.Lock()
		w.start = append(w.start, p[:n]...)
		w.banner = w.banner || bytes.Contains(w.start, []byte("SSH-"))
		w.mu.Unlock()
	}
	return n, err
}

// greeted reports whether the peer said that it speaks SSH.
func (w *wire) greeted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.banner
}

// text returns what the peer said instead of a banner, for a message.
func (w *wire) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(bytes.TrimSpace(w.start[:min(len(w.start), 100)]))
}
