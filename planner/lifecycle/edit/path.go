package edit

import (
	"errors"
	"fmt"
	"strings"
)

// Path is a dict path: the way from the attributes of a service to a place in them. Without any part it is the whole.
type Path []Part

// Part is one step of a path: a name in an object. With filters the value is a list, and the step goes on to the element that all filters
// hold for.
type Part struct {
	Name    string
	Filters []Filter
}

// Filter holds for objects whose value under Name is written Value, or is null. Any holds for every object: paths of edits do not have it,
// patterns of pools do.
type Filter struct {
	Name  string
	Value string
	Null  bool
	Any   bool
}

// pathLimit bounds a path, in bytes, and partLimit its parts and filters together.
const (
	pathLimit = 16 << 10
	partLimit = 64
)

// ParsePath reads a dict path (lsm.md 4): names with a point between them, `list[key=value]` for an element of a list, with several filters where one
// is not enough, and `.` for the whole; a leading point changes nothing. `\` stands before each of `\ [ ] . * =` that is part of a name
// or value, and `\0` is null. The error tells the place, counted from 1 in characters, and never a value.
func ParsePath(text string) (Path, error) { return parse(text, false) }

// ParsePattern reads a path to an attribute of all children: like [ParsePath], but `items[name=*].id` goes to every child, and so
// do `items[].id`, `items[*].id` and `items[*=*].id`. No other filters are allowed.
func ParsePattern(text string) (Path, error) {
	path, err := parse(text, true)
	if err != nil {
		return nil, err
	}
	for _, part := range path {
		for _, f := range part.Filters {
			if !f.Any {
				return nil, fmt.Errorf("%s[...] picks one element; a pool is for all of them: write %s[%s=*]", part.Name, part.Name, f.Name)
			}
		}
	}
	return path, nil
}

type pathReader struct {
	text []rune
	at   int
	wild bool
}

func parse(text string, wild bool) (Path, error) {
	if len(text) > pathLimit {
		return nil, fmt.Errorf("the path has %d bytes; %d is the most", len(text), pathLimit)
	}
	if text == "" {
		return nil, errors.New("the path is empty; the whole is written `.`")
	}
	r := &pathReader{text: []rune(text), wild: wild}
	if r.text[0] == '.' {
		r.at++
		if len(r.text) == 1 {
			return Path{}, nil
		}
	}
	var path Path
	steps := 0
	for {
		part, err := r.part()
		if err != nil {
			return nil, err
		}
		path = append(path, part)
		if steps += 1 + len(part.Filters); steps > partLimit {
			return nil, fmt.Errorf("the path has more than %d names and filters", partLimit)
		}
		if r.at == len(r.text) {
			return path, nil
		}
		r.at++ // the point
	}
}

func (r *pathReader) errorf(format string, args ...any) error {
	return fmt.Errorf("character %d: %s", r.at+1, fmt.Sprintf(format, args...))
}

// next is the rune that is to be read, 0 at the end.
func (r *pathReader) next() rune {
	if r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

func (r *pathReader) part() (Part, error) {
	name, err := r.word()
	if err != nil {
		return Part{}, err
	}
	if name.null || name.text == "" {
		return Part{}, r.errorf("a name is needed")
	}
	part := Part{Name: name.text}
	for r.next() == '[' {
		r.at++
		f, err := r.filter()
		if err != nil {
			return Part{}, err
		}
		part.Filters = append(part.Filters, f)
	}
	if r.at < len(r.text) && r.next() != '.' {
		return Part{}, r.errorf("a point or a filter must come here; write `\\%c` for the character itself", r.next())
	}
	return part, nil
}

func (r *pathReader) filter() (Filter, error) {
	if r.wild && r.next() == ']' {
		r.at++
		return Filter{Any: true}, nil
	}
	name, err := r.filterWord()
	switch {
	case err != nil:
		return Filter{}, err
	case r.wild && name.any && r.next() == ']':
		r.at++
		return Filter{Any: true}, nil
	case r.next() != '=':
		return Filter{}, r.errorf("a filter is [key=value]; lists have no numbers")
	case name.null || name.text == "" && !name.any:
		return Filter{}, r.errorf("a filter needs a key before `=`")
	}
	r.at++
	value, err := r.filterWord()
	if err != nil {
		return Filter{}, err
	}
	if r.next() != ']' {
		return Filter{}, r.errorf("the filter must end with `]`; write `\\` before each of \\ [ ] . * = in a value")
	}
	if name.any && !value.any {
		return Filter{}, r.errorf("a filter with any key needs any value: [*=*]")
	}
	r.at++
	return Filter{Name: name.text, Value: value.text, Null: value.null, Any: value.any}, nil
}

// word is a name or a value, without escapes.
type word struct {
	text      string
	null, any bool
}

// filterWord is a word, or the wildcard.
func (r *pathReader) filterWord() (word, error) {
	if r.next() != '*' {
		return r.word()
	}
	if !r.wild {
		return word{}, r.errorf("`*` is every element; an edit needs one: write `\\*` for the character itself")
	}
	r.at++
	return word{any: true}, nil
}

func (r *pathReader) word() (word, error) {
	var b strings.Builder
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == '*':
			return word{}, r.errorf("`*` has no meaning here; write `\\*` for the character itself")
		case strings.ContainsRune(`[].=`, c):
			return word{text: b.String()}, nil
		case c == '\\':
			r.at++
			escaped := r.next()
			if escaped == '0' {
				r.at++
				if b.Len() > 0 || !strings.ContainsRune(`[].=`, r.next()) && r.next() != 0 {
					return word{}, r.errorf("`\\0` is null, and stands alone")
				}
				return word{null: true}, nil
			}
			if r.at == len(r.text) || !strings.ContainsRune(`\[].*=`, escaped) {
				return word{}, r.errorf("`\\` stands before one of \\ [ ] . * = or, for null, 0; write `\\\\` for the character itself")
			}
			b.WriteRune(escaped)
			r.at++
		default:
			b.WriteRune(c)
			r.at++
		}
	}
	return word{text: b.String()}, nil
}

var escape = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `.`, `\.`, `*`, `\*`, `=`, `\=`)

// String writes the path as [ParsePath] and [ParsePattern] read it.
func (p Path) String() string {
	if len(p) == 0 {
		return "."
	}
	parts := make([]string, len(p))
	for i, part := range p {
		var b strings.Builder
		b.WriteString(escape.Replace(part.Name))
		for _, f := range part.Filters {
			b.WriteString(f.String())
		}
		parts[i] = b.String()
	}
	return strings.Join(parts, ".")
}

// String writes the filter with its brackets.
func (f Filter) String() string {
	switch {
	case f.Any && f.Name == "":
		return "[*=*]"
	case f.Any:
		return "[" + escape.Replace(f.Name) + "=*]"
	case f.Null:
		return "[" + escape.Replace(f.Name) + `=\0]`
	}
	return "[" + escape.Replace(f.Name) + "=" + escape.Replace(f.Value) + "]"
}
