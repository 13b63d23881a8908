// Package helpertest builds the helper for tests, which run from a clean clone where none is embedded.
package helpertest

import (
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/remote"
	"github.com/slipway/terraform-provider-slipway/planner/converge/remote/internal/helperbuild"
)

// Helpers builds the helper for the given platforms (GOOS/GOARCH; none: linux/amd64) from the source at hand. Go's
// build cache makes every time but the first quick.
func Helpers(t testing.TB, platforms ...string) remote.Helpers {
	t.Helper()
	if len(platforms) == 0 {
		platforms = []string{"linux/amd64"}
	}
	compressed := map[string][]byte{}
	for _, p := range platforms {
		data, err := helperbuild.Build(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		compressed[p] = data
	}
	helpers, err := remote.NewHelpers(compressed)
	if err != nil {
		t.Fatal(err)
	}
	return helpers
}

// Script returns a shell script in the place of a helper for every platform, for tests of the controller's side;
// directory stands for the one on the node.
func Script(t testing.TB, directory, script string) remote.Helpers {
	t.Helper()
	data, err := helperbuild.Compress([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	helpers, err := remote.NewHelpers(map[string][]byte{"linux/amd64": data, "linux/arm64": data})
	if err != nil {
		t.Fatal(err)
	}
	return helpers.In(directory)
}
