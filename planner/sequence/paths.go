package sequence

// comparePaths orders paths so that all that lies below an item follows it directly: a slash sorts before every other character.
func comparePaths(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			if a[i] == '/' {
				return -1
			}
			if b[i] == '/' {
				return 1
			}
			return int(a[i]) - int(b[i])
		}
	}
	return len(a) - len(b)
}

// pathRange finds an item and all below it in a list sorted by comparePaths.
func pathRange(item string, n int, at func(i int) string) (from, to int) {
	from = search(n, func(i int) bool { return comparePaths(at(i), item) >= 0 })
	to = from + search(n-from, func(i int) bool { return !within(at(from+i), item) })
	return from, to
}

// search returns the least i for which is holds, n if there is none; is must not hold again before it.
func search(n int, is func(i int) bool) int {
	from, to := 0, n
	for from < to {
		if middle := (from + to) / 2; is(middle) {
			to = middle
		} else {
			from = middle + 1
		}
	}
	return from
}
