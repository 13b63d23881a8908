package temporal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// alive is a server that knows the activities of a worker.
type alive struct{ client.Client }

func (alive) RecordActivityHeartbeat(context.Context, []byte, ...any) error { return nil }

// TestSessionsGetFilesFromTheJournal: a worker brings a node the files of the controller that its node lacks from the
// journal, with the key of its zone alone, and says which one is not there.
func TestSessionsGetFilesFromTheJournal(t *testing.T) {
	keys, err := encryption.Parse(encryption.New())
	if err != nil {
		t.Fatal(err)
	}
	ofZone, err := keys.ForZone("rack1")
	if err != nil {
		t.Fatal(err)
	}
	at := journal.Location{Path: t.TempDir(), Keys: keys}
	store, err := at.Open(t.Context(), "lon1")
	if err != nil {
		t.Fatal(err)
	}
	writer, err := store.Start(t.Context(), journal.Run{ID: "r1", Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	content := bytes.Repeat([]byte("0123456789abcdef"), journal.PartSize/16*2+1)
	if err := store.PutFile(t.Context(), "r1", "rack1", resource.SHA256(content), bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	m := converge.Manifest{Protocol: converge.Protocol, Site: "lon1", Run: "r1", Mode: converge.Apply}
	for title, text := range map[string][]byte{"/app": content, "/gone": []byte("nobody left it")} {
		m.Items = append(m.Items, converge.Item{Resource: resource.Resource{Type: "file", Title: title, Parameters: resource.Parameters{
			"source_file": "app", "source_sha256": resource.SHA256(text)}}})
	}
	in := convergeInput{Site: "lon1", Run: "r1", Batch: "b1", Zone: "rack1", Queue: "zone", ZoneWait: time.Minute,
		LostAfter: time.Minute}
	node := site.Node{Name: "a", Zone: "rack1", Connection: site.Connection{Transport: "local", Root: root}}
	for i, r := range []slot{{"s1", convergeRequest{Node: node, Manifest: m}}, {}} {
		if _, err := in.name(t.Context(), store, inBatch{"b1", i}.slot(), r); err != nil {
			t.Fatal(err)
		}
	}
	if at.Keys, err = encryption.Parse(ofZone); err != nil {
		t.Fatal(err)
	}
	zone := &Zone{Journals: at, Executor: func() rollout.Executor { return rollout.NewInProcess() }, client: alive{},
		places: make(chan struct{}, 1)}
	defer zone.close()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflow(Converge)
	env.RegisterActivity(zone)
	env.ExecuteWorkflow(Converge, in)
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(root, "app")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the node has %d bytes, %v", len(got), err)
	}
	var result slotResult
	found, err := store.Named(t.Context(), "r1", "rack1", inBatch{"b1", 0}.result())
	if err == nil {
		err = resource.Decode(found[inBatch{"b1", 0}.result()], &result)
	}
	if err != nil || result.Result == nil || len(result.Result.Results) != 2 {
		t.Fatalf("the result is %+v, %v", result, err)
	}
	for _, r := range result.Result.Results {
		if r.ID == "file[/app]" && r.Status != converge.Changed {
			t.Errorf("%+v", r)
		}
		if r.ID == "file[/gone]" && !strings.Contains(r.Message, "the run has no such content") {
			t.Errorf("%+v", r)
		}
	}
	if err := errors.Join(writer.Finish(t.Context(), "succeeded", ""), store.Close()); err != nil {
		t.Error(err)
	}
}
