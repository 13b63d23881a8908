package types

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTextDiff(t *testing.T) {
	numbered := func(from, to int, changed ...int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			line := fmt.Sprintf("line %d", i)
			for _, c := range changed {
				if c == i {
					line += " changed"
				}
			}
			b.WriteString(line + "\n")
		}
		return b.String()
	}
	for name, test := range map[string]struct{ is, should, want string }{
		"a line":        {"a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		"from nothing":  {"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		"to nothing":    {"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		"last line":     {"a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"two places":    {numbered(1, 20), numbered(1, 20, 2, 19), "@@ -1,5 +1,5 @@\n line 1\n-line 2\n+line 2 changed\n line 3\n line 4\n line 5\n@@ -16,5 +16,5 @@\n line 16\n line 17\n line 18\n-line 19\n+line 19 changed\n line 20\n"},
		"no text":       {"a\x00", "b", ""},
		"not UTF-8":     {"a", "\xff", ""},
		"large":         {"a", strings.Repeat("a\n", 40_000), ""},
		"a long line":   {"", strings.Repeat("é", 200), "@@ -0,0 +1,1 @@\n+" + strings.Repeat("é", diffLineLimit-2) + "…\n\\ No newline at end of file\n"},
		"equal":         {"a\n", "a\n", ""},
		"many lines":    {"", numbered(1, 100), "@@ -0,0 +1,100 @@\n" + strings.ReplaceAll("\n"+strings.TrimSuffix(numbered(1, 29), "\n"), "\n", "\n+")[1:] + "\nand 71 more lines\n"},
		"a diff itself": {"@@ -1 @@\n", "@@ -2 @@\n", "@@ -1,1 +1,1 @@\n-@@ -1 @@\n+@@ -2 @@\n"},
	} {
		if d := cmp.Diff(test.want, textDiff([]byte(test.is), []byte(test.should))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// The worst that 64 KiB can be, lines of one byte that occur again and again, costs little.
func TestTextDiffIsBoundedInTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		b := make([]byte, diffTextLimit)
		for i := range b {
			if b[i] = byte('a' + random.IntN(3)); i%2 == 1 {
				b[i] = '\n'
			}
		}
		return b
	}
	is, should := text(), text()
	start := time.Now()
	got := textDiff(is, should)
	if took := time.Since(start); took > 5*time.Second || strings.Count(got, "\n") != diffLines+1 {
		t.Errorf("%s for %d lines", took, strings.Count(got, "\n"))
	}
}
