package workers

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// A worker that gets SIGTERM while it works on a node finishes that, takes nothing more, and ends with status 0; another
// one does the rest. What it serves says so.
func TestDrain(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"}, site.Node{Name: "b"})
	c.worker([]string{"--control"})
	c.site.Groups = []site.Group{{Name: "first", Critical: true, Selectors: site.Selectors{{NodeNames: []string{"a"}}}},
		{Name: "second", Critical: true, DependsOn: []string{"first"}, Selectors: site.Selectors{{NodeNames: []string{"b"}}}}}
	c.gated("task")
	c.write("b", "go")
	first := c.worker([]string{"--zone", ""})
	serves := func(healthy int, active string) bool {
		status, _ := first.get("/healthz")
		return status == healthy && first.metric("slipway_sessions_active") == active
	}
	if !serves(http.StatusOK, "0") {
		t.Error("a worker that waits is not healthy, or says that it works")
	}
	r := c.start()
	c.atWork("a")
	if !serves(http.StatusOK, "1") {
		t.Error("a worker that works is not healthy, or does not count its session")
	}
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.await("/healthz says that the worker ends", func() bool { return serves(http.StatusServiceUnavailable, "1") })
	c.worker([]string{"--zone", ""})
	c.write("a", "go")
	if err := first.cmd.Wait(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	if out, said := r.wait(); out.Status != engine.Deployed {
		t.Fatalf("the run ended as %q: %s", out.Status, said)
	}
	for _, node := range []string{"a", "b"} {
		if got := c.content(node, "log"); got != "start task\nend task\n" {
			t.Errorf("the log of node %s:\n%s", node, got)
		}
	}
}

// A control worker that gets SIGTERM while it runs a callback ends when the callback has ended, and its end counts: the
// worker that goes on with the run neither calls again, nor takes the callback for failed.
func TestDrainInACallback(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	c.worker(ofNodes())
	first := c.worker([]string{"--control"})
	c.file("x\n")
	files := []string{c.document(), "catalog.yaml"}
	catalog := fmt.Sprintf(`
entities:
  calls:
    tasks:
    - name: call
      tag: cluster
      callback: {type: command, parameters: {output: none, argv: [sh, -c, 'cd "$0"; echo start call >>log; while [ ! -e go ];
        do /bin/sleep 0.05; done; echo end call >>log', %q]}}
`, c.path("a", ""))
	if err := os.WriteFile(filepath.Join(c.dir, files[1]), []byte(catalog), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "calls.yaml"), []byte("services: [{name: calls, entity: calls, selectors: []}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	apply := c.companion(true, append([]string{"apply", "--yes"}, append(files, "calls.yaml")...)...)
	c.atWork("a")
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.await("/healthz says that the worker ends", func() bool {
		status, _ := first.get("/healthz")
		return status == http.StatusServiceUnavailable
	})
	c.worker([]string{"--control"})
	c.write("a", "go")
	if err := first.cmd.Wait(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	c.contains("the apply", apply.says(0), "site lon1: deployed")
	c.logs("a", "start call\nend call\n")
}

// A worker serves on the address that it is given and no other, and counts in the text format of Prometheus.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"})
	w := c.worker(nil)
	c.file("x\n")
	c.apply()
	_, text := w.get("/metrics")
	for series, kind := range map[string]string{"slipway_runs": "gauge", "slipway_sessions_active": "gauge",
		"slipway_sessions_total": "counter"} {
		if !strings.Contains(text, "# HELP "+series+" ") || !strings.Contains(text, "# TYPE "+series+" "+kind+"\n") {
			t.Errorf("no %s %s in:\n%s", kind, series, text)
		}
	}
	before := w.metric("slipway_sessions_total")
	c.file("y\n")
	c.apply()
	if after := w.metric("slipway_sessions_total"); before == "0" || after == before {
		t.Errorf("%s sessions after the first run, %s after the second", before, after)
	}
	c.await("no run is at work", func() bool { return w.metric("slipway_runs") == "0" })
	if text := c.refused(1, []string{"--listen", w.listen}); !strings.Contains(text, "worker: --listen: listen tcp "+w.listen) {
		t.Errorf("an address that is taken: %s", text)
	}
	_, port, err := net.SplitHostPort(w.listen)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("tcp", "127.0.0.2:"+port); err != nil {
		t.Errorf("the worker serves on more than its address: %v", err)
	} else if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A zone whose worker is busy is none without a worker: sessions wait for it as long as they must.
func TestBusyWorker(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"}, site.Node{Name: "b"})
	c.worker([]string{"--control", "--zone-wait", "3s"})
	w := c.worker([]string{"--zone", "", "--sessions", "1"})
	c.gated("task")
	r := c.start()
	c.await("one session is at work and one waits", func() bool {
		return w.metric("slipway_sessions_active") == "1" && w.metric("slipway_sessions_waiting") == "1"
	})
	c.write("a", "go")
	c.write("b", "go")
	if out, said := r.wait(); out.Status != engine.Deployed {
		t.Errorf("the run ended as %q: %s", out.Status, said)
	}
}
