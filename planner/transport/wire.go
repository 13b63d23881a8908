package transport

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
)

// wire is the stream below one SSH client. It counts the bytes that the peer sends, which show that the peer is alive.
type wire struct {
	net.Conn
	received atomic.Uint64 // bytes

	mu     sync.Mutex
	start  []byte // the first bytes, up to preamble
	banner bool
}

// preamble bounds how much is kept of what a server sends before its banner (RFC 4253, 4.2), in bytes.
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

// greeted reports whether the peer sent an SSH banner.
func (w *wire) greeted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.banner
}

// text returns what the peer sent instead of a banner, for a message.
func (w *wire) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(bytes.TrimSpace(w.start[:min(len(w.start), 100)]))
}
