package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestSharedByTwoSites applies examples/shared: nginx comes with the first of three virtual hosts of two sites, and goes with the last one.
func TestSharedByTwoSites(t *testing.T) {
	t.Parallel()
	one := nodes.Take(t, 1)
	n := one[0]
	before := fingerprints(t, n)
	root := t.TempDir()
	for _, dir := range []string{"modules", "shared"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join("../../examples", dir))); err != nil {
			t.Fatal(err)
		}
	}
	w := &workspace{t: t, dir: filepath.Join(root, "shared")}
	w.write("lab_override.tf", fmt.Sprintf("provider \"slipway\" {\n  connection = %s\n}\nlocals {\n  machine = true\n  web1 = %s\n}\n",
		asJSON(t, connection()), asJSON(t, map[string]any{"address": n.Address})))
	w.init()
	answers := func(want string) {
		t.Helper()
		const ask = `for p in 8001 8002 8003; do
	(exec 3<>/dev/tcp/127.0.0.1/$p && printf "GET / HTTP/1.0\r\n\r\n" >&3 && tail -n 1 <&3) 2>/dev/null || echo -
done`
		if got := n.On(t, "bash -c '"+ask+"'"); got != want {
			t.Errorf("the virtual hosts answer %q, want %q", got, want)
		}
	}
	w.must(w.apply(), 0, "package[nginx] (brought by blog, shop)")
	answers("Welcome to the shop\nWelcome to the blog\nAll is well\n")
	w.must(w.plan(), 0, "No changes")

	t.Log("both sites see that nginx is stopped, and one of them starts it for both")
	n.On(t, "systemctl stop nginx")
	w.must(w.plan(), 2, "repair service[nginx]")
	w.must(w.apply("-target=slipway_deployment.status"), 0)
	w.must(w.apply(), 0, "0 added, 0 changed, 0 destroyed") // but for the outputs

	t.Log("one site goes, and the other one keeps nginx")
	w.must(w.run("destroy", "-input=false", "-no-color", "-auto-approve", "-target=slipway_deployment.shop"), 0,
		`package[nginx]: it stays on the node for the site "status", which has it, too`)
	w.must(w.plan("-target=slipway_deployment.status"), 2, "update service[nginx]")
	w.must(w.apply("-target=slipway_deployment.status"), 0)
	answers("-\n-\nAll is well\n")
	w.must(w.plan("-target=slipway_deployment.status"), 0, "No changes")
	w.mustDestroy()
	n.On(t, "rm -r /var/www") // nginx's package makes it when it is installed, and purging leaves it
	assertUntouched(t, before, n)
}
