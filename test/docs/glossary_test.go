package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// forbidden are words that code, comments, messages and documentation do not use, with what they use instead.
var forbidden = map[string]string{
	"tell":      "report, show, say",
	"tells":     "reports, shows, says",
	"told":      "reported, shown, said",
	"mend":      "fix, repair",
	"mends":     "fixes, repairs",
	"mended":    "fixed, repaired",
	"knot":      "strongly connected component",
	"knots":     "strongly connected components",
	"arrange":   "sort, place",
	"convene":   "select",
	"furnish":   "resolve",
	"engage":    "start",
	"unhurried": "without a time limit",
	"asis":      "unchanged",
	"sealed":    "opaque",
	"makeWay":   "remove",
}

// allowed are the files that still have such words, as prefixes of their paths. The list only gets shorter.
var allowed []string

// TestGlossary fails on a word that the project's vocabulary does not have, in Go code without its tests, and in what
// users read.
func TestGlossary(t *testing.T) {
	root := filepath.Join("..", "..")
	list := exec.Command("git", "ls-files", "*.go", "*.md", "*.tmpl", "*.tf", "*.yaml")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skip("the files of the project are listed by git, and this is no checkout:", err)
	}
	words := make([]string, 0, len(forbidden))
	for word := range forbidden {
		words = append(words, word)
	}
	pattern := regexp.MustCompile(`(?i)\b(` + strings.Join(words, "|") + `)\b`)
	used := map[string]bool{}
	for _, name := range strings.Fields(string(out)) {
		prefix := allowedBy(name)
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			word := pattern.FindString(line)
			switch {
			case word == "":
			case prefix != "":
				used[prefix] = true
			default:
				t.Errorf("%s:%d: %q: say %s", name, i+1, word, forbidden[strings.ToLower(word)])
			}
		}
	}
	for _, prefix := range allowed {
		if !used[prefix] {
			t.Errorf("%s has none of the words: take it from the list of what may have them", prefix)
		}
	}
}

// allowedBy returns the entry of allowed that a path is below; empty: none.
func allowedBy(path string) string {
	for _, prefix := range allowed {
		if strings.HasPrefix(path, prefix) {
			return prefix
		}
	}
	return ""
}
