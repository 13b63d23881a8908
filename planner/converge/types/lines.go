package types

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// lines is a text file that is edited line by line and otherwise kept byte for byte: ends of lines of either kind, and
// a last line without one. A file whose last line has no end goes on having none, so inserting a line and removing it
// again gives the same bytes.
type lines []line

// line is the text of one line and what ended it: "\n", "\r\n", or "" for a last line that nothing ended.
type line struct {
	text, end string
}

// span is the lines from and up to, not including, to.
type span struct {
	from, to int
}

func parseLines(content []byte) lines {
	var out lines
	for raw := range strings.SplitAfterSeq(string(content), "\n") {
		if raw == "" {
			continue
		}
		text, ended := strings.CutSuffix(raw, "\n")
		end := ""
		if ended {
			end = "\n"
			if t, ok := strings.CutSuffix(text, "\r"); ok {
				text, end = t, "\r\n"
			}
		}
		out = append(out, line{text, end})
	}
	return out
}

func (l lines) bytes() []byte {
	var b []byte
	for _, x := range l {
		b = append(b, x.text...)
		b = append(b, x.end...)
	}
	return b
}

// ended reports whether the last line has an end. An empty file counts as ended.
func (l lines) ended() bool { return len(l) == 0 || l[len(l)-1].end != "" }

// endFor returns the end that a new line with this text gets: that of the file's first line.
func (l lines) endFor(text string) string {
	// A text that itself closes with \r would, before a plain \n, be read back as a text without it.
	if len(l) > 0 && l[0].end == "\r\n" || strings.HasSuffix(text, "\r") {
		return "\r\n"
	}
	return "\n"
}

// close gives the last line an end when it has none.
func (l lines) close() lines {
	if l.ended() {
		return l
	}
	out := slices.Clone(l)
	last := &out[len(out)-1]
	last.end = l.endFor(last.text)
	return out
}

// insert puts new lines before line at, which may be the number of lines.
func (l lines) insert(at int, texts ...string) lines {
	added := make(lines, len(texts))
	for i, t := range texts {
		added[i] = line{t, l.endFor(t)}
	}
	if at < len(l) || l.ended() || len(added) == 0 {
		return slices.Insert(slices.Clone(l), at, added...)
	}
	out := slices.Clone(l)
	last := &out[len(out)-1]
	last.end = l.endFor(last.text)
	added[len(added)-1].end = ""
	return append(out, added...)
}

// remove takes the lines of s out.
func (l lines) remove(s span) lines {
	ended := l.ended()
	out := slices.Delete(slices.Clone(l), s.from, s.to)
	if last := len(out) - 1; !ended && last >= 0 && out[last].text != "" {
		out[last].end = "" // a blank line without an end would be no line
	}
	return out
}

// replace puts texts where the lines of s are. Lines that stay at their place keep their ends.
func (l lines) replace(s span, texts ...string) lines {
	n := min(s.to-s.from, len(texts))
	out := slices.Clone(l)
	for i := range n {
		out[s.from+i].text = texts[i]
	}
	switch {
	case len(texts) > n:
		return out.insert(s.from+n, texts[n:]...)
	case s.to-s.from > n:
		return out.remove(span{s.from + n, s.to})
	}
	return out
}

func (l lines) texts(s span) []string {
	out := make([]string, 0, s.to-s.from)
	for _, x := range l[s.from:s.to] {
		out = append(out, x.text)
	}
	return out
}

// block is neighbouring lines of an entry as they were before slipway touched them, and where they were. It is kept in
// the ledger. The lines around it, which are not slipway's, are kept as short digests, because a file may hold secrets.
// Other lines of the entry do not count there.
type block struct {
	Lines       []string `json:"lines"`
	Line        int      `json:"line"` // number of lines before it
	Previous    string   `json:"previous,omitempty"`
	Next        string   `json:"next,omitempty"`
	Above       string   `json:"above,omitempty"`        // of all lines before it
	Below       string   `json:"below,omitempty"`        // of all lines after it
	Ends        []string `json:"ends,omitempty"`         // of the lines, when they are not all "\n"
	PreviousEnd string   `json:"previous_end,omitempty"` // of the line before
}

// blocks returns an entry, whose lines are found.
func (l lines) blocks(found []span) []block {
	above, below := l.around(found)
	var out []block
	for _, s := range found {
		b := block{
			Lines: l.texts(s), Line: s.from,
			Previous: above[s.from].nearest, Above: above[s.from].all, Next: below[s.to].nearest, Below: below[s.to].all,
		}
		for _, x := range l[s.from:s.to] {
			if x.end != "\n" {
				b.Ends = nil
				for _, y := range l[s.from:s.to] {
					b.Ends = append(b.Ends, y.end)
				}
				break
			}
		}
		if s.from > 0 {
			b.PreviousEnd = l[s.from-1].end
		}
		out = append(out, b)
	}
	return out
}

// side is the digests of the lines on one side of a position: of the nearest one, which is empty at the end of the
// file, and of all together.
type side struct {
	nearest, all string
}

// agree returns how much speaks for it that s is what was there then.
func (s side) agree(then side) int {
	score := 0
	if s.all == then.all {
		score += 4
	}
	if s.nearest == then.nearest {
		score += 2
	}
	if then.nearest == "" {
		score /= 2
	}
	return score
}

// around returns what is above and below each position, from 0 to the number of lines, without the lines of own.
func (l lines) around(own []span) (above, below []side) {
	above, below = make([]side, len(l)+1), make([]side, len(l)+1)
	nothing := side{all: shortDigest("")}
	above[0], below[len(l)] = nothing, nothing
	owned := make([]bool, len(l))
	for _, s := range own {
		for i := s.from; i < s.to; i++ {
			owned[i] = true
		}
	}
	next := func(s side, i int) side {
		if owned[i] {
			return s
		}
		return side{l.digest(i), shortDigest(s.all + l[i].text)}
	}
	for i := range l {
		above[i+1] = next(above[i], i)
	}
	for i := range slices.Backward(l) {
		below[i] = next(below[i+1], i)
	}
	return above, below
}

// digest returns a short digest of a line, empty beyond the ends of the file.
func (l lines) digest(i int) string {
	if i < 0 || i >= len(l) {
		return ""
	}
	return shortDigest(l[i].text)
}

func shortDigest(text string) string { return resource.SHA256(text)[:8] }

// putBack inserts b, a part of the entry whose other lines are own, not before the line from, and returns where. That
// is where all lines above or below are those of then; else between its neighbours or beside one of them; of several
// such positions, the one nearest to where it was, moved by shift. That it was the first or the last line counts less,
// because others add lines there. What ended the file without an end does so again.
func (l lines) putBack(b block, own []span, from, shift int) (lines, span) {
	above, below := l.around(own)
	best, bestScore := from, -1
	for at := from; at <= len(l); at++ {
		score := above[at].agree(side{b.Previous, b.Above}) + below[at].agree(side{b.Next, b.Below})
		if at == len(l) && len(b.Ends) > 0 && b.Ends[len(b.Ends)-1] == "" {
			score += 16
		}
		if score > bestScore || score == bestScore && distance(at, b.Line+shift) < distance(best, b.Line+shift) {
			best, bestScore = at, score
		}
	}
	out := l.insert(best, b.Lines...)
	if best == len(l) && !l.ended() && b.PreviousEnd != "" {
		out[best-1].end = b.PreviousEnd // the insertion gave it an end, and could only guess which
	}
	return out.withEnds(best, b), span{best, best + len(b.Lines)}
}

// withEnds gives the lines of b, which are at from, the ends that they had, where these are possible there.
func (l lines) withEnds(from int, b block) lines {
	out := slices.Clone(l)
	for i := range b.Lines {
		at := from + i
		end := "\n"
		if i < len(b.Ends) {
			end = b.Ends[i]
		}
		last := at == len(out)-1
		switch {
		case end != "" && out[at].end != "":
			out[at].end = end
		case end == "" && last:
			out[at].end = ""
		case end == "":
			out[at].end = l.endFor(out[at].text)
		}
	}
	return out
}

func distance(a, b int) int { return max(a-b, b-a) }

// restore brings the blocks that were there back: found are the spans of the same entry now, in order. The first ones
// get their former text at the place where they are; former blocks that are missing are put back; owned is how many of
// found are slipway's, of which those beyond the former ones are removed.
func (l lines) restore(found []span, former []block, owned int) lines {
	out, from := l, 0
	grown, moved := 0, 0 // lines that came so far, and how far the part of the entry before is from where it was
	var own []span
	for i, x := range found {
		x = span{x.from + grown, x.to + grown}
		size := x.to - x.from
		switch {
		case i < len(former):
			out = out.replace(x, former[i].Lines...).withEnds(x.from, former[i])
			x.to = x.from + len(former[i].Lines)
			grown += x.to - x.from - size
			from, moved = x.to, x.from-former[i].Line
		case i < owned:
			out = out.remove(x)
			grown -= size
			continue
		}
		own = append(own, x)
	}
	for _, b := range former[min(len(found), len(former)):] {
		var x span
		out, x = out.putBack(b, own, from, moved)
		for i, o := range own {
			if o.from >= x.from {
				own[i] = span{o.from + x.to - x.from, o.to + x.to - x.from}
			}
		}
		own = append(own, x)
		from, moved = x.to, x.from-b.Line
	}
	return out
}
