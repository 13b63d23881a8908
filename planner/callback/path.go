package callback

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Path is the path of a value in a JSON value: keys of objects and indices of lists.
type Path struct {
	steps []step
	text  string
}

type step struct {
	key    string
	index  int
	isList bool
}

const (
	longestPath = 1024 // bytes
	// farthest bounds an index of a list.
	farthest = 1 << 20
)

// ParsePath parses a path such as `data.items[0].id`, or `labels["a.b/c"]` for a key with dots, brackets or quotes. A
// path may start with an index.
func ParsePath(s string) (Path, error) {
	p := Path{text: s}
	if s == "" || len(s) > longestPath {
		return Path{}, fmt.Errorf("a path has 1 to %d bytes; write one such as data.items[0].id", longestPath)
	}
	for rest := s; rest != ""; {
		st, after, err := parseStep(rest, len(p.steps) == 0)
		if err != nil {
			return Path{}, fmt.Errorf("%q is not a path such as data.items[0].id: %w at position %d", s, err,
				len(s)-len(rest)+1)
		}
		p.steps, rest = append(p.steps, st), after
	}
	return p, nil
}

// parseStep parses the first step of s and returns the rest.
func parseStep(s string, first bool) (step, string, error) {
	if inside, ok := strings.CutPrefix(s, "["); ok {
		if strings.HasPrefix(inside, `"`) {
			quoted, err := strconv.QuotedPrefix(inside)
			if err != nil {
				return step{}, "", errors.New("the quotes are not closed")
			}
			key, err := strconv.Unquote(quoted)
			after, closed := strings.CutPrefix(inside[len(quoted):], "]")
			if err != nil || !closed {
				return step{}, "", errors.New("the bracket is not closed")
			}
			return step{key: key}, after, nil
		}
		number, after, closed := strings.Cut(inside, "]")
		n, err := strconv.ParseUint(number, 10, 31)
		if !closed || err != nil || n > farthest {
			return step{}, "", fmt.Errorf("an index is a whole number from 0 to %d in brackets", farthest)
		}
		return step{index: int(n), isList: true}, after, nil
	}
	name, dotted := strings.CutPrefix(s, ".")
	if dotted == first {
		return step{}, "", errors.New("a dot stands between two keys")
	}
	end := strings.IndexAny(name, `.[]"`)
	if end < 0 {
		end = len(name)
	}
	if end == 0 || end < len(name) && strings.IndexByte(`]"`, name[end]) >= 0 {
		return step{}, "", errors.New("a key is missing or needs quotes and brackets")
	}
	return step{key: name[:end]}, name[end:], nil
}

// Find returns the value at the path in a decoded JSON value. A missing value and null are errors.
func (p Path) Find(value any) (any, error) {
	for _, st := range p.steps {
		switch v := value.(type) {
		case map[string]any:
			value = v[st.key]
			if st.isList {
				value = nil
			}
		case []any:
			if !st.isList || st.index >= len(v) {
				return nil, fmt.Errorf("there is no %s", p.text)
			}
			value = v[st.index]
		default:
			value = nil
		}
		if value == nil {
			return nil, fmt.Errorf("there is no %s", p.text)
		}
	}
	return value, nil
}
