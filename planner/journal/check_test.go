package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Checks are recorded without a lease, also while a run has the site, and only the newest are kept.
func TestChecks(t *testing.T) {
	conform(t, func(t *testing.T, at Location) {
		s := openSite(t, at)
		c := &clock{t: time.UnixMilli(1e12)}
		c.use(s)
		if got, err := s.Checks(t.Context(), 10); err != nil || len(got) != 0 {
			t.Errorf("before the first: %v, %v", got, err)
		}
		w := start(t, s, "run-1")
		found := []Drift{{Node: "n1", Resource: "file[/etc/motd]", Change: "content differs\n-a\n+b\xff\x00" + strings.Repeat("x", outputLimit)}}
		if err := s.RecordCheck(t.Context(), Check{Nodes: 3, Drift: found, Unreachable: []string{"n2"}}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Checks(t.Context(), 1)
		if err != nil || len(got) != 1 || got[0].Owner != w.run.Owner || !got[0].Time.Equal(c.t) || got[0].Nodes != 3 ||
			cmp.Diff([]string{"n2"}, got[0].Unreachable) != "" || len(got[0].Drift) != 1 || len(got[0].Drift[0].Change) > outputLimit+8 ||
			!strings.HasPrefix(got[0].Drift[0].Change, "content differs\n-a\n+b") {
			t.Errorf("%+v, %v", got, err)
		}
		many := make([]Drift, DriftLimit+7)
		for i := range checksKept + 5 {
			if err := s.RecordCheck(t.Context(), Check{Nodes: i, Drift: many[:max(0, DriftLimit+7-i*DriftLimit)]}); err != nil {
				t.Fatal(err)
			}
		}
		all, err := s.Checks(t.Context(), 1000)
		if err != nil || len(all) != checksKept || all[0].Nodes != checksKept+4 || all[checksKept-1].Nodes != 5 {
			t.Errorf("%d checks are kept, %v", len(all), err)
		}
		if err := s.RecordCheck(t.Context(), Check{Drift: many}); err != nil {
			t.Fatal(err)
		}
		if all, err = s.Checks(t.Context(), 1); err != nil || len(all[0].Drift) != DriftLimit || all[0].More != 7 {
			t.Errorf("%d are listed, %d more, %v", len(all[0].Drift), all[0].More, err)
		}
		if text := fmt.Sprint(all[0].Unreachable); text != "[]" {
			t.Errorf("unreachable is %s", text)
		}
		finish(t, w)
	})
}
