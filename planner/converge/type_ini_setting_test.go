package converge

import (
	"testing"
)

// A section that slipway made goes when the setting in it is to be absent.
func TestIniSettingTakesItsSectionAlong(t *testing.T) {
	for _, text := range []string{"[a]\nx=1\n", "[a]\nx=1\n[new]\n"} {
		b := nodeOf(t, map[string]string{"/x.ini": text})
		b.apply(item("ini_setting[s]", "path", "/x.ini", "section", "new", "setting", "color", "value", "red"))
		b.apply(item("ini_setting[s]", "path", "/x.ini", "section", "new", "setting", "color", "ensure", "absent"))
		if got := b.get("/x.ini"); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}
