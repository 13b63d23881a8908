package resource

// nearestDistance bounds the edits after which a word still counts as a misspelling.
const nearestDistance = 2

// Nearest returns the candidate that word most probably meant: the one with the fewest edits (insert, delete, replace,
// swap two neighbours), at most two and fewer than the word has letters; the first one when several are equally near; empty when
// there is none.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", min(nearestDistance, len([]rune(word))-1)+1
	for _, c := range candidates {
		if d := editDistance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is the optimal string alignment distance, or any number above nearestDistance when the lengths tell already.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > nearestDistance || -d > nearestDistance {
		return nearestDistance + 1
	}
	// Row i of the table holds the distances of x[:i] to every prefix of y; three rows are enough.
	previous, current, next := []int(nil), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range current {
		current[j] = j
	}
	for i := range x {
		next[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			next[j+1] = min(current[j+1]+1, next[j]+1, current[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				next[j+1] = min(next[j+1], previous[j-1]+1)
			}
		}
		if previous == nil {
			previous = make([]int, len(y)+1)
		}
		previous, current, next = current, next, previous
	}
	return current[len(y)]
}
