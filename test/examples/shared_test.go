package examples

import (
	"os"
	"strings"
	"testing"
)

// TestSharedByServicesAndSites: what three services of two sites bring to a node is there until the last one goes.
func TestSharedByServicesAndSites(t *testing.T) {
	t.Parallel()
	s := newSite(t, "shared", "web1")
	for _, dir := range []string{"srv", "etc/nginx/conf.d"} {
		if err := os.MkdirAll(s.path("web1", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.apply()
	if got := s.output("steps"); !strings.Contains(got, "file[/srv/www] (brought by blog, shop)") {
		t.Errorf("the steps are %s", got)
	}
	s.settled()
	s.has("web1", "srv/www/blog/index.html", "Welcome to the blog\n")

	status, out := s.status("destroy", "-auto-approve", "-target=slipway_deployment.shop")
	if want := `file[/srv/www]: it stays on the node for the site "status", which has it, too`; status != 0 || !strings.Contains(out, want) {
		t.Errorf("status %d, without %q:\n%s", status, want, out)
	}
	s.has("web1", "srv/www/blog/index.html", "")
	s.has("web1", "srv/www/status/index.html", "All is well\n")
	s.settled("-target=slipway_deployment.status")

	s.does("destroy", "-auto-approve")
	if left, err := os.ReadDir(s.path("web1", "srv")); err != nil || len(left) > 0 {
		t.Errorf("the last site leaves %v, %v", left, err)
	}
}
