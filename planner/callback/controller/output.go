package controller

// head keeps the first bytes that were written to it.
type head struct {
	limit int
	kept  []byte
	cut   bool // there were more
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.limit-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	h.cut = h.cut || n < len(p)
	return len(p), nil
}

// tail keeps the last bytes that were written to it.
type tail struct {
	limit int
	kept  []byte
	cut   bool // some were dropped
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.limit { // so that not every write moves what is kept
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.limit:]...)
		t.cut = true
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept[max(0, len(t.kept)-t.limit):]) }

// wasCut reports whether there was more than String gives.
func (t *tail) wasCut() bool { return t.cut || len(t.kept) > t.limit }
