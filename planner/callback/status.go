package callback

import (
	"fmt"
	"strconv"
	"strings"
)

// Statuses are the response statuses that count as success.
type Statuses []statusRange

type statusRange struct{ from, to int }

// ParseStatuses parses statuses of the forms 200, 2xx and 200-204. An empty list means 2xx.
func ParseStatuses(texts []string) (Statuses, error) {
	if len(texts) == 0 {
		return Statuses{{200, 299}}, nil
	}
	out := make(Statuses, len(texts))
	for i, text := range texts {
		r, ok := parseStatus(text)
		if !ok {
			return nil, fmt.Errorf("%q is not a status such as 200, 2xx or 200-204", text)
		}
		out[i] = r
	}
	return out, nil
}

func parseStatus(text string) (statusRange, bool) {
	if len(text) == 3 && strings.EqualFold(text[1:], "xx") {
		hundreds := int(text[0]-'0') * 100
		return statusRange{hundreds, hundreds + 99}, hundreds >= 100 && hundreds <= 500
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, okFrom := statusNumber(first)
	to, okTo := statusNumber(last)
	return statusRange{from, to}, okFrom && okTo && from <= to
}

func statusNumber(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && len(s) == 3 && n >= 100 && n <= 599
}

// Has reports whether the status counts as success.
func (s Statuses) Has(status int) bool {
	for _, r := range s {
		if r.from <= status && status <= r.to {
			return true
		}
	}
	return false
}
