package resource

import "unicode"

// Invisible returns the first character of s that nothing is seen of, and that can change how the text around it looks: format characters
// (Unicode category Cf, among them those that turn the direction of writing, U+202A to U+202E and U+2066 to U+2069) and the separators of
// lines and paragraphs (U+2028, U+2029). A name that holds one looks like another name.
func Invisible(s string) (rune, bool) {
	for _, r := range s {
		if unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return r, true
		}
	}
	return 0, false
}
