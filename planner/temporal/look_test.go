package temporal

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// server is one that answers calls that start a workflow, and those that ask how it ended, in their order.
type server struct {
	workers
	starts, ends []error
	asked        []convergeInput
	found        []string // workflows that were there already
}

// workers is what a server knows of workers.
type workers struct {
	client.Client
	names []string // identities
}

// otherPartition is a part of every task queue. The last worker is known there alone, and the first in the queue itself.
const otherPartition = "/_sys/partition/1"

func (w workers) DescribeTaskQueue(_ context.Context, queue string, _ enums.TaskQueueType) (
	*workflowservice.DescribeTaskQueueResponse, error) {
	out := &workflowservice.DescribeTaskQueueResponse{}
	for i, name := range w.names {
		if queue == otherPartition && i == 0 || queue != otherPartition && i > 0 && i == len(w.names)-1 {
			continue
		}
		out.Pollers = append(out.Pollers, &taskqueue.PollerInfo{Identity: name, LastAccessTime: timestamppb.Now()})
	}
	return out, nil
}

func (workers) WorkflowService() workflowservice.WorkflowServiceClient { return partitions{} }

// partitions answers which partitions a task queue has.
type partitions struct {
	workflowservice.WorkflowServiceClient
}

func (partitions) ListTaskQueuePartitions(_ context.Context, r *workflowservice.ListTaskQueuePartitionsRequest,
	_ ...grpc.CallOption) (*workflowservice.ListTaskQueuePartitionsResponse, error) {
	all := []*taskqueue.TaskQueuePartitionMetadata{{Key: r.GetTaskQueue().GetName()}, {Key: otherPartition}}
	return &workflowservice.ListTaskQueuePartitionsResponse{ActivityTaskQueuePartitions: all, WorkflowTaskQueuePartitions: all}, nil
}

// first takes the first of errors; the last one stays.
func first(errs *[]error) (err error) {
	if len(*errs) > 0 {
		err = (*errs)[0]
	}
	if len(*errs) > 1 {
		*errs = (*errs)[1:]
	}
	return err
}

func (s *server) ExecuteWorkflow(_ context.Context, _ client.StartWorkflowOptions, _ any, args ...any) (
	client.WorkflowRun, error) {
	s.asked = append(s.asked, args[0].(convergeInput))
	return endedRun{server: s}, first(&s.starts)
}

func (s *server) GetWorkflow(_ context.Context, id, _ string) client.WorkflowRun {
	s.found = append(s.found, id)
	return endedRun{server: s}
}

// endedRun is a workflow that has ended.
type endedRun struct {
	client.WorkflowRun
	server *server
}

func (e endedRun) Get(context.Context, any) error { return first(&e.server.ends) }

// looking returns an executor that a server serves, and the node that it is to look at.
func looking(t *testing.T, s *server) (*Remote, site.Node) {
	t.Helper()
	keys, err := encryption.Parse(encryption.New())
	if err != nil {
		t.Fatal(err)
	}
	settings := Settings{Address: "temporal.example.org:7233", Keys: keys, ZoneWait: time.Hour,
		Named: func(setting string) string { return "engine.temporal." + setting }}
	e := &Remote{server: &Client{settings, s}, journals: journal.Location{Path: t.TempDir(), Keys: keys}}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, site.Node{Name: "a", Zone: "rack1"}
}

// An error of the server that stays when a call is repeated ends a look, and a session of a run, at once, and names what
// is wrong. One that may pass is waited for.
func TestErrorsOfTheServerThatStay(t *testing.T) {
	t.Parallel()
	at := `the Temporal server at "temporal.example.org:7233" `
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"payload": {serviceerror.NewInvalidArgument("Blob data size exceeds limit."),
			"engine.temporal.: " + at + "refuses the call: Blob data size exceeds limit."},
		"message": {serviceerror.FromStatus(status.New(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)")),
			"engine.temporal.: " + at + "refuses the call: grpc: received message larger than max"},
		"namespace":  {serviceerror.NewNamespaceNotFound("default"), "engine.temporal.namespace: " + at + `has no namespace "default"`},
		"permission": {serviceerror.NewPermissionDenied("Request unauthorized.", ""), "engine.temporal.api_key: " + at + `refuses it for the namespace "default"`},
		"key": {serviceerror.FromStatus(status.New(codes.Unauthenticated, "Request unauthenticated.")),
			"engine.temporal.api_key: " + at + `refuses it for the namespace "default"`},
	} {
		for what, m := range map[string]converge.Manifest{"look": {Site: "lon1", Mode: converge.Check},
			"identify": {Site: engine.NoSite, Mode: converge.Check}, "session": {Site: "lon1", Run: "r1", Mode: converge.Apply}} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				s := &server{starts: []error{serviceerror.NewUnavailable("starting"), tt.err}}
				e, node := looking(t, s)
				store := journalOf(ctx, t, e, m)
				_, err := e.Converge(ctx, node, m, nil)
				var failed *transport.Error
				if !errors.As(err, &failed) || failed.Kind != transport.Unreachable || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("no %q in %v", tt.want, err)
				}
				if ctx.Err() != nil || len(s.asked) != 2 {
					t.Errorf("the server was asked %d times, %v", len(s.asked), ctx.Err())
				}
				if what == "look" {
					if _, err := store.Asked(ctx, s.asked[0].Batch, s.asked[0].Zone); !errors.Is(err, journal.ErrNoLook) {
						t.Errorf("the look is still there: %v", err)
					}
				}
				if what != "look" {
					return
				}
				s = &server{ends: []error{serviceerror.NewUnavailable("starting"), tt.err}}
				e, node = looking(t, s)
				if _, err = e.Converge(ctx, node, m, nil); err == nil || !strings.Contains(err.Error(), tt.want) || ctx.Err() != nil {
					t.Errorf("who waits for the end: no %q in %v", tt.want, err)
				}
			})
		}
	}
}

// Where the database of the journal refuses connections or does not answer, looks wait for it once, and not one after the
// other, and say so.
func TestLooksWithoutTheJournal(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0") // connections are made and never answered
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close() //nolint:errcheck // nothing follows
	for name, tt := range map[string]struct {
		address, want string
	}{
		"refused": {"127.0.0.1:1", "connect: connection refused"},
		"mute":    {mute.Addr().String(), "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			e, node := looking(t, &server{})
			e.journals = journal.Location{URL: "postgres://nobody@" + tt.address + "/none?connect_timeout=2&sslmode=disable",
				Keys: e.server.settings.Keys}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			look := func() {
				_, err := e.Converge(ctx, node, converge.Manifest{Site: "lon1", Mode: converge.Check}, nil)
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("no %q in %v", tt.want, err)
				}
			}
			var all sync.WaitGroup
			for range 3 {
				all.Go(look)
			}
			all.Wait()
			look()
			if took := time.Since(start); took > 4*time.Second {
				t.Errorf("four looks took %s", took)
			}
		})
	}
}

// A payload has the id of a look and none of its content. The workflow of a call whose answer was lost is found again.
func TestPayloadsOfLooks(t *testing.T) {
	t.Parallel()
	s := &server{starts: []error{serviceerror.NewUnavailable("its answer was lost"),
		serviceerror.NewWorkflowExecutionAlreadyStarted("", "", "")}, ends: []error{errors.New("lost"), serviceerror.NewNotFound("")}}
	e, node := looking(t, s)
	m := converge.Manifest{Site: "lon1", Mode: converge.Check, Items: []converge.Item{{}}}
	if _, err := e.Converge(t.Context(), node, m, nil); err == nil {
		t.Error("a look without an answer succeeds")
	}
	for _, in := range s.asked {
		if in.Look != nil || in.Batch == "" {
			t.Errorf("the payload is %+v", in)
		}
	}
	if len(s.found) != 1 || s.found[0] != s.asked[0].Batch {
		t.Errorf("found again: %q", s.found)
	}
}

// journalOf returns the journal of the site lon1, with the run of a manifest, if it is of one.
func journalOf(ctx context.Context, t *testing.T, e *Remote, m converge.Manifest) *journal.Store {
	t.Helper()
	store, err := e.store(ctx, "lon1", patiently)
	if err != nil {
		t.Fatal(err)
	}
	if m.Run == "" {
		return store
	}
	w, err := store.Start(ctx, journal.Run{ID: m.Run, Site: "lon1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Finish(context.WithoutCancel(ctx), "failed", "") })
	return store
}
