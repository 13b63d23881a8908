package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// Bounds.
const (
	patternSize = 1 << 14 // of an expression, in instructions
	patternWork = 1 << 28 // for one text: instructions times characters read; some seconds
	// patternGroups bounds the groups of all matches in a text, as many as it may have.
	patternGroups = 4 << 20
)

// ErrTooManyGroups is the error of a search for all matches whose groups would take too much memory.
var ErrTooManyGroups = errors.New("the regular expression has too many groups for so long a text")

// ErrTooMuch is the error of a search that would take too long.
var ErrTooMuch = errors.New("the text is too long for the regular expression: a search for it takes too much work")

// Pattern is a compiled regular expression in RE2 syntax, with bounded cost. A search takes time proportional to the
// length of the text times the size of the expression, and the size can be much larger than its text: `(x{100}){10}`
// has a thousand times x. Each of many matches can require a search of the whole remaining text.
type Pattern struct {
	*regexp.Regexp
	text string
	size int // instructions
}

// CompilePattern compiles a regular expression. It fails if the syntax is invalid or the expression has more than 16384
// instructions.
func CompilePattern(text string) (*Pattern, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > patternSize {
		return nil, fmt.Errorf(
			"the regular expression has %d instructions, what is repeated counted as often; %d is the most", len(
				program.Inst), patternSize)
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &Pattern{expression, text, len(program.Inst)}, nil
}

// Match reports whether the text contains a match. Its only error is [ErrTooMuch].
func (p *Pattern) Match(text string) (bool, error) {
	if len(text) > patternWork/p.size {
		return false, ErrTooMuch
	}
	return p.MatchString(text), nil
}

// Matches returns the matches in a text and their groups, as [regexp.Regexp.FindAllStringSubmatchIndex] does. Its
// errors are [ErrTooMuch] and [ErrTooManyGroups].
func (p *Pattern) Matches(text string) ([][]int, error) {
	if (p.NumSubexp()+1)*(utf8.RuneCountInString(text)+1) > patternGroups {
		return nil, ErrTooManyGroups
	}
	switch looks := patternWork / p.size; { // at one character
	case len(text) > looks:
		return nil, ErrTooMuch
	case len(text) <= looks/(len(text)+1): // every search may read the whole text
		return p.FindAllStringSubmatchIndex(text, -1), nil
	default:
		return p.scan(text, looks)
	}
}
