package command

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
)

// What keeps `key --zone` from printing a key is named: the flag or the variable, and what it has.
func TestKeyOfAZoneRefused(t *testing.T) {
	key := encryption.New()
	t.Setenv("SLIPWAY_KEY", key)
	ofZone, err := run(t, "key", "--zone", "rack1")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ key, zone, want string }{
		{"", "rack1", "SLIPWAY_KEY: keys of zones come from the key of the provider, and it is not set"},
		{ofZone, "rack1", `SLIPWAY_KEY: keys of zones come from the key of the provider, and it has keys of zones alone: ["rack1"]`},
		{key, "a:b", `--zone: "a:b" is not a usable name`},
		{key, strings.Repeat("x", 300), "--zone: the name has 300 characters"},
	} {
		t.Setenv("SLIPWAY_KEY", tt.key)
		if _, err := run(t, "key", "--zone", tt.zone); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("no %q in: %v", tt.want, err)
		}
	}
}
