package remote

import "strings"

// quote returns s as one word of a shell command. It holds for POSIX shells, and for csh and fish as long as s has no
// line break, `!` or backslash.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
