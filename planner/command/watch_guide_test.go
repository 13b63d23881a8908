//go:build linux

package command

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What the guide shows of `watch` is what it shows of a real run: see TestWatchOfRealRuns.
func TestGuideShowsWatchOfARealRun(t *testing.T) {
	text := func(file string) string {
		t.Helper()
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	compact := func(text string) string {
		return strings.TrimSpace(regexp.MustCompile(`\n\n+`).ReplaceAllString(masked(text), "\n"))
	}
	var blocks []string
	for _, block := range regexp.MustCompile(`(?m)(^(    .*)?\n)+`).FindAllString(text("../../docs/guides/companion.md"), -1) {
		blocks = append(blocks, compact(regexp.MustCompile(`(?m)^    `).ReplaceAllString(block, "")))
	}
	for name, from := range map[string]string{"soak": "run ", "running": "NOW"} {
		shown := compact(text("testdata/watch-live-" + name + "-80.golden"))
		found := 0
		for _, block := range blocks {
			if strings.HasPrefix(block, from) && strings.Contains(shown, block) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%d examples of the guide show what watch shows, want 1:\n%s\nThe guide has:\n%s", found, shown, strings.Join(blocks, "\n\n"))
		}
	}
}
