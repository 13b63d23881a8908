package command

import (
	"fmt"
	"strings"
	"testing"
)

// TestErrorsInTheOrderOfTheFile: and no more of them than somebody reads.
func TestErrorsInTheOrderOfTheFile(t *testing.T) {
	var names strings.Builder
	for i := range maxListed + 12 {
		fmt.Fprintf(&names, "      - ghost%d\n", i)
	}
	file := write(t, "site.yaml", "nodes: [{name: a}]\ngroups:\n  - name: z\n    critical: false\n    depends_on_groups: []\n    selectors:\n    - node_names:\n"+names.String()+"      - a\n"+
		"  - {name: b, critical: false, depends_on_groups: [], selectors: [{node_names: [ghost]}]}\n")
	out, errOut, status := answer(t, "", "validate", file)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errOut)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, line := range lines[:maxListed] {
		if want := fmt.Sprintf("%s:%d:9: warning: ", file, i+8); !strings.HasPrefix(line, want) {
			t.Fatalf("line %d: got %s, want %s...", i, line, want)
		}
	}
	if got, want := lines[maxListed], file+": warning: there are 14 more; they are shown when these are fixed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
