package temporal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// idle is a server with which no worker of a zone is.
type idle struct {
	client.Client
	started chan string // ids of batches
}

func (i *idle) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun,
	error) {
	i.started <- o.ID
	return waiting{}, nil
}

// waiting is a workflow that does not end.
type waiting struct{ client.WorkflowRun }

func (waiting) Get(ctx context.Context, _ any) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestASessionThatNoWorkerTookIsGivenUp: a session of a batch that waits for a worker of its zone ends when it is
// given up, says which zone has none, and is begun by no worker that comes later.
func TestASessionThatNoWorkerTookIsGivenUp(t *testing.T) {
	keys, err := encryption.Parse(encryption.New())
	if err != nil {
		t.Fatal(err)
	}
	store, err := journal.Location{Path: t.TempDir(), Keys: keys}.Open(t.Context(), "lon1")
	if err != nil {
		t.Fatal(err)
	}
	writer, err := store.Start(t.Context(), journal.Run{ID: "r1", Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	server := &idle{started: make(chan string, 1)}
	node := site.Node{Name: "a", Zone: "rack1"}
	in := convergeInput{Site: "lon1", Run: "r1", Zone: node.Zone, ZoneWait: 2 * time.Minute}
	l := &lane{in: in, store: store, server: &Client{Settings{Keys: keys}, server}, sent: map[*sent]bool{}, news: make(chan struct{}, 1)}
	l.context, l.close = context.WithCancel(t.Context())
	defer func() {
		l.close()
		l.ended.Wait()
		if err := errors.Join(writer.Finish(t.Context(), "failed", ""), store.Close()); err != nil {
			t.Error(err)
		}
	}()
	ctx, give := context.WithCancel(t.Context())
	defer give()
	ended := make(chan answer, 1)
	go func() { ended <- l.run(ctx, "s1", []byte(`{"Session": "s1"}`)) }()
	batch := <-server.started
	give()
	a := <-ended
	text := in.failed(node, a.err, a.notBegun).Error()
	if want := `it has the zone "rack1", and no worker had begun its session when that was given up; start ` +
		"`terraform-provider-slipway worker --zone rack1`"; !strings.Contains(text, want) {
		t.Errorf("no %q in %q", want, text)
	}
	if begun, err := in.begin(t.Context(), store, "s1", inBatch{Batch: batch}); err != nil || begun.Batch == batch {
		t.Errorf("a worker that comes later begins the session in batch %q, %v", begun.Batch, err)
	}
	if a := l.run(t.Context(), "s1", []byte(`{"Session": "s1"}`)); !a.notBegun {
		t.Errorf("whoever asks for the session once more gets %+v", a)
	}
}
