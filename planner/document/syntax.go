package document

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// maxTagLines bounds the %TAG lines of a document: each is compared with all before it.
const maxTagLines = 64

// illegible finds the first thing that no YAML document may hold, at its place: bytes that are not UTF-8 text, control
// characters.
func illegible(data []byte) (invalid.Error, bool) {
	at := func(offset int, format string, args ...any) (invalid.Error, bool) {
		line, column := placeOf(data, offset)
		return invalid.Error{Line: line, Column: column, Code: Schema, Message: "not well formed: " +
			fmt.Sprintf(format, args...)}, true
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return at(0, "is UTF-16 text; write it as UTF-8")
	}
	tags := 0
	for i := 0; i < len(data); {
		c, size := rune(data[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(data[i:])
		}
		switch {
		case c == utf8.RuneError && size == 1:
			return at(i, "a byte %#02x that is not UTF-8 text", data[i])
		case c < ' ' && c != '\t' && c != '\n' && c != '\r' || c >= 0x7f && c < 0xa0 && c != 0x85 || c == 0xfffe ||
			c == 0xffff:
			return at(i, "a control character, U+%04X; write it with an escape in double quotes, or leave it out", c)
		case c == '%' && (i == 0 || data[i-1] == '\n' || data[i-1] == '\r') &&
			bytes.HasPrefix(data[i:], []byte("%TAG")):
			if tags++; tags > maxTagLines {
				return at(i, "there are more than %d %%TAG lines", maxTagLines)
			}
		}
		i += size
	}
	return invalid.Error{}, false
}

// placeOf returns line and column, in characters, of an offset.
func placeOf(data []byte, offset int) (line, column int) {
	before := data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(bytes.TrimPrefix(before[start:], []byte("\ufeff"))) + 1
}

var (
	syntaxLine    = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^yaml: unknown anchor '(.*)' referenced$`)
)

// fromZero are the messages whose lines the parser counts from 0.
var fromZero = []string{
	"did not find expected ',' or ']'", "did not find expected ',' or '}'", "did not find expected '-' indicator",
	"did not find expected <document start>",
	"did not find expected key", "did not find expected node content", "found duplicate %TAG directive",
	"found duplicate %YAML directive",
	"found incompatible YAML document", "found undefined tag handle",
}

// fromStart are the messages for which the parser gives the line where the list, the mapping or the text begins that
// the error is in or after, which may be far above it.
var fromStart = []string{"did not find expected '-' indicator", "did not find expected key",
	"found a tab character that violates indentation"}

// maxSought bounds documents in which the line of such an error is looked for, in bytes: they are parsed some 20
// times.
const maxSought = 1 << 18

// errorIn returns the first line with which the document has the error, 0 when that is not known.
func errorIn(data []byte, text string) int {
	if len(data) > maxSought {
		return 0
	}
	var ends []int // of the lines
	for i, c := range data {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		ends = append(ends, len(data))
	}
	at := sort.Search(len(ends), func(i int) bool {
		decoder := yaml.NewDecoder(bytes.NewReader(data[:ends[i]]))
		var err error
		for err == nil {
			err = decoder.Decode(new(yaml.Node))
		}
		return strings.HasSuffix(err.Error(), text)
	})
	if at == len(ends) {
		return 0
	}
	return at + 1
}

// malformed reports what the YAML parser found. The parser gives a line, and leaves that out for the first one; the
// column is that of the tab or the second colon that is most often the reason, else of the first thing on the line.
func malformed(err error, data []byte) invalid.Error {
	p := invalid.Error{Code: Schema, Line: 1}
	text := err.Error()
	if match := unknownAnchor.FindStringSubmatch(text); match != nil {
		p.Line, p.Column = placeOf(data, max(0, bytes.Index(data, []byte("*"+match[1]))))
		p.Message = "not well formed: there is no anchor &" + cut(match[1], maxWord) + " before this"
		return p
	}
	if match := syntaxLine.FindStringSubmatch(text); match != nil {
		text = text[len(match[0]):]
		if n, err := strconv.Atoi(match[1]); err == nil {
			p.Line = n
		}
		if slices.Contains(fromZero, text) {
			p.Line++
		}
	}
	text = strings.TrimPrefix(text, "yaml: ")
	if slices.Contains(fromStart, text) {
		p.Line = cmp.Or(errorIn(data, text), p.Line)
	}
	line := lineOf(data, p.Line)
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t\ufeff"))]
	p.Column = utf8.RuneCount(bytes.TrimPrefix(indent, []byte("\ufeff"))) + 1
	first := bytes.Index(line, []byte(": "))
	second := bytes.LastIndex(line, []byte(": "))
	switch tab := bytes.IndexByte(indent, '\t'); {
	case tab >= 0:
		p.Column, text = tab+1, "a tab; YAML indents with spaces only"
	case text == "mapping values are not allowed in this context" && first < second:
		p.Column, text = utf8.RuneCount(
			line[:second])+1, "a second `: ` on one line; write the value in quotes if it is text"
	}
	p.Message = "not well formed: " + cut(text, maxWord)
	return p
}

// lineOf returns a line of the data, empty where there is none.
func lineOf(data []byte, number int) []byte {
	for ; number > 1; number-- {
		_, after, found := bytes.Cut(data, []byte("\n"))
		if !found {
			return nil
		}
		data = after
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return line
}
