package workers

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"github.com/slipway/terraform-provider-slipway/planner/callback/controller"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// large returns a site on the shared servers: nodes in groups, with so many files each.
func large(b *testing.B, nodes, groups, files int) *cluster {
	b.Helper()
	titles := map[string]resource.Parameters{}
	for i := range files {
		titles[fmt.Sprintf("/etc/file%02d", i)] = resource.Parameters{"content": fmt.Sprintln(i)}
	}
	var members []site.Node
	for n := range nodes {
		members = append(members, site.Node{Name: fmt.Sprintf("node%04d", n), Tags: []string{fmt.Sprint("g", n%groups)}})
	}
	c := newCluster(b, members...)
	c.site.Services = []site.Service{{Name: "app", Configuration: resource.Configuration{"file": titles}}}
	for g := range groups {
		c.site.Groups = append(c.site.Groups, site.Group{Name: fmt.Sprint("g", g), Critical: true,
			Selectors: site.Selectors{{NodeTags: []string{fmt.Sprint("g", g)}}}})
	}
	return c
}

// timed applies the site with an engine and returns how long that took.
func (c *cluster) timed(e *engine.Engine) time.Duration {
	c.t.Helper()
	begin := time.Now()
	if out := e.Apply(c.t.Context(), nil, c.site, engine.Run{}); out.Status != engine.Deployed {
		c.t.Fatalf("the run ended as %q: %v", out.Status, out.Messages)
	}
	return time.Since(begin)
}

// BenchmarkAgainstInProcess applies the same site with a worker and in this process, in turn, on nodes that are folders.
func BenchmarkAgainstInProcess(b *testing.B) {
	var handed, here time.Duration
	for b.Loop() {
		c := large(b, 300, 1, 20)
		w := c.worker(nil)
		handed += c.timed(c.engine(c.settings()))
		w.end(syscall.SIGKILL)
		c = large(b, 300, 1, 20)
		here += c.timed(&engine.Engine{Journals: journal.Location{Path: c.dir}, Now: time.Now,
			Executor: func() rollout.Executor { return folders{} }, Caller: controller.New(controller.Options{})})
	}
	b.ReportMetric(handed.Seconds()/float64(b.N), "handed-s")
	b.ReportMetric(here.Seconds()/float64(b.N), "here-s")
	b.ReportMetric(handed.Seconds()/here.Seconds(), "ratio")
}

// BenchmarkHistory applies a site of 2,000 nodes with a worker, and reports the longest history of a workflow, the
// largest snapshot with which the run continued as new, and the largest of all payloads, as the server stores them.
func BenchmarkHistory(b *testing.B) {
	for b.Loop() {
		c := large(b, 2000, 20, 5)
		c.worker(nil)
		took := c.timed(c.engine(c.settings()))
		events, bytes, workflows, snapshot, payload := int64(0), int64(0), 0, 0, 0
		server := c.server.Client(b, client.Options{})
		for _, w := range c.histories() {
			workflows++
			events, bytes = max(events, w.GetHistoryLength()), max(bytes, w.GetHistorySizeBytes())
			id := w.GetExecution()
			for i := server.GetWorkflowHistory(b.Context(), id.GetWorkflowId(), id.GetRunId(), false,
				enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); i.HasNext(); {
				e, err := i.Next()
				if err != nil {
					b.Fatal(err)
				}
				payload = max(payload, proto.Size(e))
				for _, p := range e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetInput().GetPayloads() {
					snapshot = max(snapshot, len(p.GetData()))
				}
			}
		}
		b.ReportMetric(took.Seconds(), "run-s")
		b.ReportMetric(float64(workflows), "workflows")
		b.ReportMetric(float64(events), "events")
		b.ReportMetric(float64(bytes), "bytes")
		b.ReportMetric(float64(snapshot), "snapshot-bytes")
		b.ReportMetric(float64(payload), "payload-bytes")
	}
}
