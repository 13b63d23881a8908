package engine

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// What the error of a credential says to write instead is there: only a private key may be a file of the workers.
func TestOwnSecrets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		defaults   site.Connection
		want, file string
	}{
		{site.Connection{PrivateKey: "s3cret"}, "as SLIPWAY_PRIVATE_KEY", ", or as a file that private_key_file names there"},
		{site.Connection{Passphrase: "s3cret"}, "as SLIPWAY_PASSPHRASE", ""},
		{site.Connection{SudoPassword: "s3cret"}, "as SLIPWAY_SUDO_PASSWORD", ""},
	} {
		errs := ownSecrets(site.Site{}, tt.defaults)
		if len(errs) != 1 {
			t.Errorf("%s: %v", tt.want, errs)
			continue
		}
		if text := errs[0].Error(); !strings.HasSuffix(text, "give it to the workers, "+tt.want+tt.file+".") ||
			strings.Contains(text, "s3cret") {
			t.Errorf("the error says %s", text)
		}
	}
}
