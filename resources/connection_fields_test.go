package resources

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

func FuzzBastions(f *testing.F) {
	for _, s := range []string{"jump", "u@jump:22,[::1]:23", "@", "[", "[]:", "a@b@c", ":1", ","} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var c site.Connection
		if err := parseBastions(&c, s); err != nil {
			return
		}
		for _, b := range c.Bastions {
			if b.Host == "" || b.Port < 0 || b.Port > 65535 {
				t.Errorf("%q was taken as %+v", s, c.Bastions)
			}
		}
	})
}
