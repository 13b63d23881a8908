package converge

import (
	"fmt"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
)

// BenchmarkFiles applies 2,000 files to a node, and does it again without a change.
func BenchmarkFiles(b *testing.B) {
	items := []Item{item("file[/srv]", "ensure", "directory")}
	for i := range 2000 {
		items = append(items, item(fmt.Sprintf("file[/srv/%04d]", i), "content", fmt.Sprint(i), "mode", "0640"))
	}
	session := func(s *system.System, c Manifest) {
		c.Protocol, c.Site, c.Run, c.Mode = Protocol, "one", "r", Apply
		summary := Run(b.Context(), s, c, func(r Result) {
			if r.Status == Failed {
				b.Fatal(r.Message)
			}
		})
		if summary.Error != nil {
			b.Fatal(summary.Error)
		}
	}
	for b.Loop() {
		s, err := system.New(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		session(s, Manifest{Items: items})
		session(s, Manifest{Items: items})
		session(s, Manifest{TearDown: true})
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
