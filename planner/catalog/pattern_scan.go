package catalog

import (
	"io"
	"regexp"
	"unicode/utf8"
)

// scan returns all matches. It reads at most looks characters.
func (p *Pattern) scan(text string, looks int) ([][]int, error) {
	first, err := regexp.Compile(`(` + p.text + `)`)
	if err != nil {
		return nil, err
	}
	// A later search starts one character earlier, because `^` and `\b` depend on it.
	later, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + p.text + `)`)
	if err != nil {
		return nil, err
	}
	var found [][]int
	for at, end := 0, -1; at <= len(text); {
		expression, begin := first, 0
		if at > 0 {
			_, width := utf8.DecodeLastRuneInString(text[:at])
			expression, begin = later, at-width
		}
		r := &textReader{text: text[begin:], looks: looks}
		match := expression.FindReaderSubmatchIndex(r)
		if looks = r.looks; looks < 0 {
			return nil, ErrTooMuch
		}
		if match == nil {
			break
		}
		match = match[2:] // the groups of the expression itself
		for i := range match {
			if match[i] >= 0 {
				match[i] += begin
			}
		}
		// As in package regexp, an empty match does not directly follow another match.
		if match[0] < match[1] || match[0] != end {
			found = append(found, match)
		}
		if end = match[1]; end > at {
			at = end
			continue
		}
		_, width := utf8.DecodeRuneInString(text[at:])
		at += max(width, 1)
	}
	return found, nil
}

// textReader returns the characters of a text. It ends after a number of reads.
type textReader struct {
	text  string
	at    int
	looks int // negative after the last allowed read
}

// ReadRune returns the next character.
func (r *textReader) ReadRune() (rune, int, error) {
	if r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	if r.looks--; r.looks < 0 {
		return 0, 0, io.EOF
	}
	c, width := utf8.DecodeRuneInString(r.text[r.at:])
	r.at += width
	return c, width, nil
}
