package workers

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// counting is an executor that counts the bytes of the results of its sessions.
type counting struct {
	rollout.Executor
	bytes *int
}

func (e counting) Converge(ctx context.Context, n site.Node, m converge.Manifest, each func(converge.Result)) (
	converge.Summary, error) {
	return e.Executor.Converge(ctx, n, m, func(r converge.Result) {
		text, _ := json.Marshal(r) //nolint:errchkjson // of a test
		*e.bytes += len(text)
		each(r)
	})
}

// A node whose content and whose drift are each more than a payload of Temporal takes is refreshed by the worker of its
// zone. The payloads have neither, and nothing of it stays in the journal.
func TestLargeNodeIsRefreshed(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a", Zone: "rack1"})
	c.site.Name = "large"
	c.worker([]string{"--control"})
	c.worker([]string{"--zone", "rack1"}, c.ofZone("rack1"))
	files := map[string]resource.Parameters{"/etc/large": {"content": strings.Repeat("0123456789abcde\n", 5<<16)}}
	const many = 600
	long := func(start string) (text string) {
		for i := range 40 {
			text += fmt.Sprintf("%s %0150d\n", start, i)
		}
		return text
	}
	for i := range many {
		files[fmt.Sprint("/etc/f", i)] = resource.Parameters{"content": long("should")}
	}
	c.site.Services = []site.Service{{Name: "app", Configuration: resource.Configuration{"file": files}}}
	c.apply()
	for i := range many {
		if err := os.WriteFile(c.path("a", fmt.Sprint("etc/f", i)), []byte(long("is")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e, seen := c.engine(c.settings()), 0
	workers := e.Executor
	e.Executor = func() rollout.Executor { return counting{workers(), &seen} }
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	found := e.Check(ctx, c.prior.State, c.site, engine.Inspection{})
	if len(found.Drift) != many || len(found.Unreachable) != 0 || found.Failed() {
		t.Errorf("%d files have drifted, %v, %v", len(found.Drift), found.Unreachable, found.Messages)
	}
	const payload = 2 << 20
	if seen < payload {
		t.Errorf("the results have %d bytes, which a payload takes", seen)
	}
	looks := 0
	for _, w := range c.histories() {
		if strings.Contains(w.Execution.WorkflowId, "/look/") {
			looks++
			if w.HistorySizeBytes > 64<<10 {
				t.Errorf("the history of a look has %d bytes", w.HistorySizeBytes)
			}
		}
	}
	if looks == 0 {
		t.Error("no worker looked")
	}
	db, err := sql.Open("pgx", c.journal)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // read only
	var left int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM slipway_large.looks").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d looks are left, %v", left, err)
	}
}

// A refresh with one place at a time checks the nodes of a zone that has a worker, while it waits for those of several
// zones whose worker has gone: for all of these at once, and for a part of its time.
func TestRefreshWithZonesWithoutAWorker(t *testing.T) {
	t.Parallel()
	nodes := []site.Node{{Name: "z", Zone: "rack1"}}
	zones := []string{}
	for i := range 6 {
		zone := fmt.Sprint("gone", i)
		zones = append(zones, "--zone", zone)
		nodes = append(nodes, site.Node{Name: fmt.Sprint("a", i), Zone: zone}, site.Node{Name: fmt.Sprint("b", i), Zone: zone})
	}
	c := newCluster(t, nodes...)
	c.worker([]string{"--control"})
	c.worker([]string{"--zone", "rack1"}, c.ofZone("rack1"))
	gone := c.worker(zones)
	c.file("x\n")
	c.apply()
	gone.end(syscall.SIGTERM)
	if err := os.WriteFile(c.path("z", "etc/app"), []byte("drifted\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const limit = 30 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin := time.Now()
	found := c.engine(c.settings()).Check(ctx, c.prior.State, c.site, engine.Inspection{Parallelism: 1})
	if took := time.Since(begin); took > limit*2/3 {
		t.Errorf("the refresh took %s of %s", took, limit)
	}
	if len(found.Drift) != 1 || found.Drift[0].Node != "z" {
		t.Errorf("the drift is %v, want that of the node whose zone has a worker; %v", found.Drift, found.Messages)
	}
	if len(found.Unreachable) != len(nodes)-1 || !slices.Equal(found.State.Unasked, found.Unreachable) {
		t.Errorf("unreachable are %v, of which nobody asked %v, want the nodes of all zones without a worker in both",
			found.Unreachable, found.State.Unasked)
	}
	said := fmt.Sprint(found.Messages)
	for i := range 6 {
		if want := fmt.Sprintf(`it has the zone "gone%d", and no worker took its session in `, i); !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
}
