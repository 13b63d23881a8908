// Package pattern has regular expressions, in RE2 syntax, whose work is bounded. One search takes time in proportion to
// the length of the text times the size of the expression, and the size may be much above what is written:
// `(x{100}){10}` is a thousand times x. The search for each of many matches may look at the whole rest of the text.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Bounds.
const (
	maxSize = 1 << 14 // of an expression, in instructions
	maxWork = 1 << 28 // on one text: instructions times characters looked at; some seconds
)

// ErrTooMuch is the error of a search that takes too long.
var ErrTooMuch = errors.New("the text is too long for the regular expression: a search for it takes too much work")

// Pattern is a compiled regular expression.
type Pattern struct {
	*regexp.Regexp
	text string
	size int // instructions
}

// Compile reads a regular expression. It fails for one that is none, and for one that is above 16384 instructions.
func Compile(text string) (*Pattern, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxSize {
		return nil, fmt.Errorf(
			"the regular expression has %d instructions, what is repeated counted as often; %d is the most", len(
				program.Inst), maxSize)
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &Pattern{expression, text, len(program.Inst)}, nil
}

// Match reports whether a text contains a match. The error is [ErrTooMuch].
func (p *Pattern) Match(text string) (bool, error) {
	if len(text) > maxWork/p.size {
		return false, ErrTooMuch
	}
	return p.MatchString(text), nil
}

// Matches returns the matches in a text and their groups, as [regexp.Regexp.FindAllStringSubmatchIndex] does. The error
// is [ErrTooMuch].
func (p *Pattern) Matches(text string) ([][]int, error) {
	switch looks := maxWork / p.size; { // at one character
	case len(text) > looks:
		return nil, ErrTooMuch
	case len(text) <= looks/(len(text)+1): // every search may look at the whole of it
		return p.FindAllStringSubmatchIndex(text, -1), nil
	default:
		return p.scan(text, looks)
	}
}
