package controller

// head is a writer that keeps the first bytes.
type head struct {
	limit int
	kept  []byte
	cut   bool // more bytes were written
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.limit-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	h.cut = h.cut || n < len(p)
	return len(p), nil
}

// tail is a writer that keeps the last bytes.
type tail struct {
	limit int
	kept  []byte
	cut   bool // earlier bytes were dropped
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.limit { // not at every write, because dropping copies what is kept
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.limit:]...)
		t.cut = true
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept[max(0, len(t.kept)-t.limit):]) }

// wasCut reports whether more was written than String returns.
func (t *tail) wasCut() bool { return t.cut || len(t.kept) > t.limit }
