package allocation

import (
	"slices"
	"sort"
)

// span is a range of numbers, including both ends.
type span struct{ first, last number }

// ranges is a set of numbers as sorted ranges with gaps between them. Consecutive values form one range, so a pool that
// is filled in order remains small.
type ranges []span

// of returns the set of all spans.
func of(spans []span) ranges {
	slices.SortFunc(spans, func(a, b span) int {
		switch {
		case a.first.less(b.first):
			return -1
		case b.first.less(a.first):
			return 1
		}
		return 0
	})
	var out ranges
	for _, s := range spans {
		if n := len(out) - 1; n >= 0 && touches(out[n], s) {
			if out[n].last.less(s.last) {
				out[n].last = s.last
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// touches reports whether b overlaps a or follows right after it. b must not start before a.
func touches(a, b span) bool {
	after, ok := a.last.next()
	return !ok || !after.less(b.first)
}

// add puts a span into the set.
func (r *ranges) add(s span) {
	list := *r
	from := sort.Search(len(list), func(i int) bool { return !list[i].first.less(s.first) })
	if from > 0 && touches(list[from-1], s) {
		from--
		s.first = list[from].first
	}
	to := from
	for to < len(list) && touches(s, list[to]) {
		if s.last.less(list[to].last) {
			s.last = list[to].last
		}
		to++
	}
	*r = slices.Replace(list, from, to, s)
}

// overlap returns the first range that has a number of s.
func (r ranges) overlap(s span) (span, bool) {
	i := sort.Search(len(r), func(i int) bool { return !r[i].last.less(s.first) })
	if i == len(r) || s.last.less(r[i].first) {
		return span{}, false
	}
	return r[i], true
}
