package resource

import (
	"strings"
	"unicode"
)

// Invisible returns the first character of s that nothing is seen of, and that can change how the text around it looks:
// format characters (Unicode category Cf, among them those that turn the direction of writing, U+202A to U+202E and
// U+2066 to U+2069) and the separators of lines and paragraphs (U+2028, U+2029). A name that holds one looks like
// another name.
func Invisible(s string) (rune, bool) {
	for _, r := range s {
		if unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return r, true
		}
	}
	return 0, false
}

// Visible returns text that others wrote, such as the output of a command, in a form that does nothing to the terminal
// that shows it: without control characters, but for line breaks and tabs, and without those that [Invisible] finds.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, text)
}
