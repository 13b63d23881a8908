package ledger

import "slices"

// Fence identifies a lease of a site. A journal gives each lease a higher number than those before. A journal that was
// deleted begins another line, with which numbers cannot be compared. The number is the time of the journal's clock in
// milliseconds where that is higher, so that it rises also after the journal was restored from a backup.
type Fence struct {
	Line   string `json:"line"` // of numbers; random
	Number int64  `json:"number"`
	Holder string `json:"holder"` // what messages say of who has the lease
	// Takeover counts how often another worker went on with a session on the node under this lease: those before are
	// kept out as with an earlier lease.
	Takeover int `json:"takeover,omitempty"`
}

// SiteFence says that a session with a lease writes to the ledger.
type SiteFence struct {
	Site string `json:"site"`
	Fence
}

// linesLimit bounds the lines of a site: one whose journal does not outlive a run has a line for each run.
const linesLimit = 16

// Later returns the lease that has overtaken f on the node, nil when none has, and whether it is of the same line. A
// lease that is later in its line than all that wrote here was taken by a person who wants to go on, so it is never
// refused: a new journal keeps nobody out. Once another lease wrote after it, it is overtaken.
func (l *Ledger) Later(site string, f Fence) (later *Fence, sameLine bool) {
	fences := l.Fences[site]
	at := slices.IndexFunc(fences, func(seen Fence) bool { return seen.Line == f.Line })
	last := len(fences) - 1
	switch {
	case at < 0 || f.later(fences[at]):
		return nil, false
	case fences[at].later(f):
		return &fences[at], true
	case at < last:
		return &fences[last], false
	}
	return nil, false
}

// later reports whether f came after another one of its line.
func (f Fence) later(other Fence) bool {
	return f.Number > other.Number || f.Number == other.Number && f.Takeover > other.Takeover
}

// IsLast reports whether f is the lease that wrote here last.
func (l *Ledger) IsLast(site string, f Fence) bool {
	fences := l.Fences[site]
	return len(fences) > 0 && fences[len(fences)-1] == f
}

func (l *Ledger) recordFence(r SiteFence) {
	fences := slices.DeleteFunc(l.Fences[r.Site], func(seen Fence) bool { return seen.Line == r.Line })
	fences = append(fences, r.Fence)
	if l.Fences == nil {
		l.Fences = map[string][]Fence{}
	}
	l.Fences[r.Site] = fences[max(0, len(fences)-linesLimit):]
}
