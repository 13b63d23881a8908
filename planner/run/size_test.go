package run

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// TestSizes measures what a distributed executor would store and send (design.md 6 and 11), at 2,000 nodes with five
// sessions each and names of the length that hosts have: a session of a program at most 150 bytes, a snapshot below 1 MB
// at any event.
func TestSizes(t *testing.T) {
	const nodes, sessions = 2000, 5
	rolling := &site.Rolling{MaxParallel: 100, Lock: "drain", Unlock: "undrain", Batches: []string{"1", "10%", "50%"}}
	for name, p := range map[string]Program{
		"groups of 20":                  wide(t, nodes, 20, sessions, 100, nil),
		"rolling group":                 wide(t, nodes, nodes, sessions, 100, rolling),
		"groups of 20, long names":      named(t, wide(t, nodes, 20, sessions, 100, nil)),
		"rolling group with long names": named(t, wide(t, nodes, nodes, sessions, 100, rolling)),
	} {
		t.Run(name, func(t *testing.T) {
			most, event := 0, 0
			drive(t, p, func(m *Machine) {
				if event++; event%100 != 0 {
					return
				}
				data, err := m.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				most = max(most, len(data))
			})
			each := size(t, p) / (nodes * sessions)
			t.Logf("a session of the program has %d bytes, the largest of %d snapshots %d", each, event/100, most)
			if each > 150 {
				t.Errorf("a session of the program has %d bytes, want at most 150", each)
			}
			if most >= 1e6 {
				t.Errorf("a snapshot has %d bytes, want less than 1 MB", most)
			}
		})
	}
}

// named returns a program whose nodes and groups have names of 26 characters and more.
func named(t *testing.T, p Program) Program {
	t.Helper()
	type fields Program
	data, err := json.Marshal(fields(p))
	if err != nil {
		t.Fatal(err)
	}
	data = regexp.MustCompile(`"(n\d{5}|g\d+)"`).ReplaceAll(data, []byte(`"compute-${1}.rack-07.lon1.example"`))
	var out Program
	if err := json.Unmarshal(data, (*fields)(&out)); err != nil {
		t.Fatal(err)
	}
	return out
}

// size returns the length of a value as JSON.
func size(t *testing.T, v any) int {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}
