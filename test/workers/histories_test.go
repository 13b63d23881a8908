package workers

import (
	"cmp"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"
	sdkworkflow "go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/temporal"
	"github.com/slipway/terraform-provider-slipway/planner/temporal/temporaltest"
)

var record = flag.Bool("record", false, "keep the histories of TestHistories for TestRecordedHistories")

// recordedKey encrypts what is in recorded histories.
const recordedKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// recorded is the directory of the histories of a version.
var recorded = fmt.Sprintf("testdata/histories/v%d", temporal.Version)

// replay replays a history with the workflows of this program.
func replay(t *testing.T, events *history.History) error {
	t.Helper()
	keys, err := encryption.Parse(recordedKey)
	if err != nil {
		t.Fatal(err)
	}
	var options client.Options
	temporal.Encrypt(&options, keys)
	r, err := sdk.NewWorkflowReplayerWithOptions(sdk.WorkflowReplayerOptions{DataConverter: options.DataConverter,
		FailureConverter: options.FailureConverter})
	if err != nil {
		t.Fatal(err)
	}
	(&temporal.Runs{}).Register(registry{r})
	started := events.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	return r.ReplayWorkflowHistoryWithOptions(nil, events, sdk.ReplayWorkflowHistoryOptions{
		OriginalExecution: sdkworkflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()}})
}

// registry is a replayer, which needs no activities.
type registry struct{ sdk.WorkflowReplayer }

func (registry) RegisterActivity(any) {}

// histories returns what the server has of the workflows of a site.
func (c *cluster) histories() (found []*workflow.WorkflowExecutionInfo) {
	c.t.Helper()
	service := c.server.Client(c.t, client.Options{}).WorkflowService()
	for page := []byte(nil); ; {
		answer, err := service.ListWorkflowExecutions(c.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: temporaltest.Namespace, NextPageToken: page, Query: "WorkflowId STARTS_WITH 'slipway/" + c.site.Name + "/'"})
		if err != nil {
			c.t.Fatal(err)
		}
		found = append(found, answer.Executions...)
		if page = answer.NextPageToken; len(page) == 0 {
			return found
		}
	}
}

// decide decides about the run that is active.
func (c *cluster) decide(action string) {
	c.t.Helper()
	store := c.store()
	c.await(action, func() bool {
		active, err := store.Run(c.t.Context(), "")
		if err == nil {
			_, err = journal.Decision{Action: action, Person: "somebody"}.Record(c.t.Context(), store, active)
		}
		return err == nil
	})
}

// What a workflow decides follows from its history alone: runs with batches, soaks, approval, a zone without workers, a
// host that ends, and a stop are replayed. With -record, their histories are kept.
func TestHistories(t *testing.T) {
	t.Parallel()
	c := newCluster(t, site.Node{Name: "a"}, site.Node{Name: "b"}, site.Node{Name: "c", Zone: "rack9"})
	c.key, c.site.Name = recordedKey, "histories"
	control := []string{"--control", "--zone-wait", "2s"}
	first := c.worker(control)
	c.worker(ofNodes())
	c.gated("task")
	none := 0
	c.site.Groups = []site.Group{
		{Name: "early", Selectors: site.Selectors{{NodeNames: []string{"c"}}}},
		{Name: "rest", Critical: true, Selectors: site.Selectors{{NodeNames: []string{"a", "b"}}},
			SuccessCriteria: &site.SuccessCriteria{MaximumFailedNodes: &none},
			Rolling:         &site.Rolling{MaxParallel: 1, Batches: []string{"1", "2"}, Approve: []string{"1"}, Soak: time.Second}}}
	r := c.start()
	c.atWork("a")
	c.worker(control)
	if first.end(syscall.SIGTERM).ExitCode() != 0 {
		t.Error("the host of the run did not end in order")
	}
	c.write("a", "go")
	c.decide(journal.Approve)
	c.write("b", "go")
	if out, said := r.wait(); out.Status != engine.Degraded {
		t.Fatalf("the run ended as %q, want degraded: %s", cmp.Or(out.Status, "not started"), said)
	}
	for _, node := range []string{"a", "b"} {
		c.logs(node, "start task\nend task\n")
		if err := os.Remove(c.path(node, "go")); err != nil {
			t.Fatal(err)
		}
	}
	c.gated("more")
	r = c.start()
	c.await("the command on a", func() bool { return strings.Contains(c.content("a", "log"), "start more") })
	c.decide(journal.Cancel)
	c.write("a", "go")
	if out, said := r.wait(); out.Status != engine.Interrupted {
		t.Fatalf("the run ended as %q, want interrupted: %s", cmp.Or(out.Status, "not started"), said)
	}
	if *record {
		if err := os.RemoveAll(recorded); err != nil {
			t.Fatal(err)
		}
	}
	server := c.server.Client(t, client.Options{})
	types := map[string]int{}
	for _, w := range c.histories() {
		name := w.GetType().GetName()
		types[name]++
		events := &history.History{}
		for i := server.GetWorkflowHistory(t.Context(), w.GetExecution().GetWorkflowId(), w.GetExecution().GetRunId(), false,
			enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); i.HasNext(); {
			e, err := i.Next()
			if err != nil {
				t.Fatal(err)
			}
			events.Events = append(events.Events, e)
		}
		if err := replay(t, events); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if *record && types[name] <= most {
			keep(t, fmt.Sprintf("%s-%d.json.gz", name, types[name]), events)
		}
	}
	for name, least := range map[string]int{temporal.RunName: 3, temporal.SessionsName: 3, temporal.ConvergeName: 3} {
		if types[name] < least {
			t.Errorf("%d histories of %s, want %d", types[name], name, least)
		}
	}
}

// most is how many histories of a kind are kept.
const most = 3

// identity is what a history says of the machine where it was recorded.
var identity = regexp.MustCompile(`"(identity|binaryChecksum|buildId)": *"[^"]*"`)

// sticky is the name of a task queue that the SDK makes of the name of that machine.
var sticky = regexp.MustCompile(`"[^":]+(:[0-9a-f-]{36}")`)

// keep writes a history.
func keep(t *testing.T, name string, events *history.History) {
	t.Helper()
	text, err := protojson.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(recorded, 0o755); err != nil { //nolint:gosec // of the project
		t.Fatal(err)
	}
	text = sticky.ReplaceAll(identity.ReplaceAll(text, []byte(`"$1":"test"`)), []byte(`"test$1`))
	file, err := os.Create(filepath.Join(recorded, name))
	if err != nil {
		t.Fatal(err)
	}
	packed := gzip.NewWriter(file)
	_, err = packed.Write(text)
	if err := errors.Join(err, packed.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// Histories that this version recorded give the same commands. Where they do not, runs that are under way at an upgrade
// would fail: raise the version of the workflows, and record anew with
// `go test ./test/workers -run 'TestHistories$' -record`.
func TestRecordedHistories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(recorded, "*.json.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories of version %d are recorded in %s: %v", temporal.Version, recorded, err)
	}
	for _, file := range files {
		events, err := kept(file)
		if err == nil {
			err = replay(t, events)
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// kept reads a history that was written by keep.
func kept(name string) (*history.History, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return client.HistoryFromJSON(text, client.HistoryJSONOptions{})
}
