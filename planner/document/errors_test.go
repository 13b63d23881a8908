package document

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestManyErrorsInCatalogs: the time to report errors grows with their number, not with its square.
func TestManyErrorsInCatalogs(t *testing.T) {
	const many = 10_000
	for name, line := range map[string]string{
		"unknown bases": "  ent%05[1]d: {extends: net%05[1]d}\n", "a chain": "  e%[1]d: {extends: e%[2]d}\n",
		"unknown relations": "  e%[1]d: {relations: {r: {entity: n%[1]d, modifier: rw}}}\n",
	} {
		var b strings.Builder
		b.WriteString("entities:\n")
		for i := range many {
			b.WriteString(strings.Split(fmt.Sprintf(line, i, i+1), "%!")[0])
		}
		start := time.Now()
		if _, err := ParseCatalog([]Source{{"doc.yaml", []byte(b.String())}}); err == nil {
			t.Errorf("%s: there is no error", name)
		}
		if spent := time.Since(start); spent > hang {
			t.Errorf("%s: it took %s", name, spent)
		}
	}
}
