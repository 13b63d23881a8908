package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// composed are the errors of the guide whose text the code puts together, with the parts that it has.
var composed = map[string][]string{
	"no connection to ... within connection.connect_timeout": {`"no connection"`, "%s to %s within %s (%s)",
		`"connect_timeout"`},
}

// terraforms are the errors of the guide that Terraform prints, each with the file of a test that sees it.
var terraforms = map[string]string{"Provider produced inconsistent final plan": "../../resources/source_dir_text_test.go"}

// TestTroubleshooting: each error that the guide names is one that slipway prints, as far as its text is constant.
func TestTroubleshooting(t *testing.T) {
	var code strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path == "../../test" {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			code.WriteString(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	joined := regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(code.String(), "")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(strings.SplitN(read(t, pages, "guides", "troubleshooting.md"), "## The connection", 2)[1], -1)
	if len(rows) < 20 {
		t.Fatalf("the guide names %d errors", len(rows))
	}
	for _, row := range rows {
		if parts, ok := composed[row[1]]; ok {
			for _, part := range parts {
				if !strings.Contains(joined, part) {
					t.Errorf("slipway prints no %q: nothing in the code has %q", row[1], part)
				}
			}
			continue
		}
		if seen, ok := terraforms[row[1]]; ok {
			if !strings.Contains(read(t, seen), `"`+row[1]+`"`) {
				t.Errorf("%s does not look for %q", seen, row[1])
			}
			continue
		}
		var parts []string
		for part := range strings.SplitSeq(row[1], " ... ") {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		// Between the parts is one verb, in the same text.
		if !regexp.MustCompile(strings.Join(parts, ` [^"\n]{1,12} `)).MatchString(joined) {
			t.Errorf("slipway prints no %q", row[1])
		}
	}
}
