package resource

import (
	"fmt"
	"slices"
	"strings"
)

// nearestDistance bounds the edits after which a word still counts as a misspelling.
const nearestDistance = 2

// MostHints is the number of errors of one validation that get a suggestion. A suggestion takes time in proportion to
// the candidates, and more errors are usually the same one repeated.
const MostHints = 100

// longestHint bounds the words that are compared, in bytes.
const longestHint = 256

// Nearest returns the candidate that word most probably means: the one with the fewest edits (insert, delete, replace,
// swap two neighbours), at most two and fewer than the word has letters. Of equally near ones it is the first; empty
// when none is near. Ask for at most [MostHints] errors of one validation, because the time grows with the number of
// candidates.
func Nearest(word string, candidates []string) string {
	if len(word) > longestHint {
		return ""
	}
	w := []rune(word)
	best, bestDistance := "", min(nearestDistance, len(w)-1)+1
	var room [longestHint]rune
	for _, c := range candidates {
		// A letter has 4 bytes at most.
		if bestDistance == 0 || len(c) > 4*(len(w)+nearestDistance) || 4*len(c) < len(w)-nearestDistance ||
			len(c) > longestHint {
			continue
		}
		letters := room[:0]
		for _, r := range c {
			letters = append(letters, r)
		}
		if d := editDistance(w, letters); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Others returns names without own: a reference never means its own object.
func Others(names []string, own string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == own })
}

// DidYouMean returns the end of a message about an unknown word: the candidate that it probably means, or nothing. See
// [Nearest].
func DidYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// mostChoices bounds the words that [Choices] lists.
const mostChoices = 30

// Choices returns the end of a message about an unknown word: the known word that it probably means, or the known ones,
// unless they are many. Without any, it says what to do.
func Choices[T ~string](word string, known []T) string {
	words := Texts(known)
	switch hint := DidYouMean(word, words); {
	case hint != "":
		return hint
	case len(words) == 0:
		return fmt.Sprintf("; nothing of this kind is defined: define %q, or remove what refers to it", word)
	case len(words) > mostChoices:
		return ""
	}
	return "; use one of " + strings.Join(words, ", ")
}

// Count returns a number with what is counted: `1 node`, `2 nodes`.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Texts returns words of a type of their own as texts.
func Texts[T ~string](words []T) []string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return texts
}

// NoSuch returns the message about an unknown word, with [Choices].
func NoSuch[T ~string](what, word string, known []T) string {
	return fmt.Sprintf("there is no %s %q", what, word) + Choices(word, known)
}

// editDistance is the optimal string alignment distance of two words of at most longestHint letters, or any number
// above nearestDistance when it is larger.
func editDistance(x, y []rune) int {
	const far = nearestDistance + 1
	if d := len(x) - len(y); d > nearestDistance || -d > nearestDistance {
		return far
	}
	// Row i of the table holds the distances of x[:i] to every prefix of y; three rows are enough, and of them what is
	// near the diagonal: elsewhere the distance is larger than all that count.
	var rows [3][longestHint + 2]int8
	previous, current, next := &rows[0], &rows[1], &rows[2]
	for j := range min(len(y), far) + 1 {
		current[j] = int8(j)
	}
	for i := range x {
		from, to := max(0, i-nearestDistance), min(len(y)-1, i+nearestDistance)
		next[from] = far
		if from == 0 {
			next[0] = int8(min(i+1, far))
		}
		least := next[from]
		if to == i+nearestDistance {
			current[to+1] = far // the row before did not reach it
		}
		for j := from; j <= to; j++ {
			cost := int8(1)
			if x[i] == y[j] {
				cost = 0
			}
			d := min(current[j+1]+1, next[j]+1, current[j]+cost, far)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d = min(d, previous[j-1]+1)
			}
			next[j+1] = d
			least = min(least, d)
		}
		if least >= far {
			return far
		}
		previous, current, next = current, next, previous
	}
	return int(current[len(y)])
}
