package resource

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Invisible returns the first character of s that nothing is seen of, and that can change how the text around it looks:
// format characters (Unicode category Cf, among them those that turn the direction of writing, U+202A to U+202E and
// U+2066 to U+2069) and the separators of lines and paragraphs (U+2028, U+2029). A name that holds one looks like
// another name.
func Invisible(s string) (rune, bool) {
	for _, r := range s {
		if r >= utf8.RuneSelf && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return r, true
		}
	}
	return 0, false
}

// Visible returns text that others wrote, such as the output of a command, in a form that does nothing to the terminal
// that shows it: without control characters, but for line breaks and tabs, and without those that [Invisible] finds.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if acts(r) {
			return -1
		}
		return r
	}, text)
}

// acts reports whether a character can change the text around it, or do something to a terminal.
func acts(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\n' && r != '\t' || r == '\x7f'
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// VisibleJSON returns JSON with each character that [Visible] leaves out written as an escape: it has the same value,
// and does nothing to the terminal that shows it.
func VisibleJSON(text []byte) []byte {
	if bytes.IndexFunc(text, acts) < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case !acts(r):
			out = append(out, text[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}
