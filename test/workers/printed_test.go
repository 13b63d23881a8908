package workers

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// A worker prints what it is and does, with the port that it serves, but no key, and that it ends.
func TestWorkerPrints(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"worker", "--control"}, `, with the key [0-9a-f]{16}; hosts runs; `},
		{[]string{"worker", "--zone", "rack1"},
			`, with the key [0-9a-f]{16}, the key [0-9a-f]{16} of the zone "rack1"; runs sessions, up to 100 at once; `},
	} {
		w := c.companion(true, append(tt.args, "--listen", "127.0.0.1:0")...)
		c.await("the worker works", func() bool { return strings.Contains(w.text(), "working for ") })
		if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		text := w.says(0)
		want := regexp.MustCompile(`^working for ` + regexp.QuoteMeta(c.server.Address) + `: worker of slipway ` +
			regexp.QuoteMeta(build) + ` on \S+, process \d+` + tt.want +
			`/healthz and /metrics are at http://127\.0\.0\.1:[1-9]\d*/\nending: takes nothing more, .*\nended\n$`)
		if !want.MatchString(text) || strings.Contains(text, c.key) {
			t.Errorf("%v printed\n%s\nwant %s", tt.args, text, want)
		}
	}
}
