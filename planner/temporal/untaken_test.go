package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// nobodyTook returns how a workflow ends whose activity no worker took in its time.
func nobodyTook(t *testing.T) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflow(Converge)
	env.RegisterActivityWithOptions(func(context.Context, convergeInput) error {
		return temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	}, activity.RegisterOptions{Name: "Sessions"})
	env.ExecuteWorkflow(Converge, convergeInput{Run: "r", Queue: "zone", ZoneWait: time.Minute, LostAfter: time.Minute})
	return env.GetWorkflowError()
}

// A look, and a session of a run, that no worker of the zone took in its time ends then: it does not wait for that time
// again. A later session of the same zone and run waits for a part of it, and for all of it when a worker came.
func TestAZoneIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	for what, m := range map[string]converge.Manifest{"look": {Site: "lon1", Mode: converge.Check},
		"session": {Site: "lon1", Run: "r1", Mode: converge.Apply}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			defer time.AfterFunc(20*time.Second, cancel).Stop()
			s := &server{ends: []error{nobodyTook(t)}}
			e, node := looking(t, s)
			journalOf(ctx, t, e, m)
			fails := func(want string, asked int) {
				t.Helper()
				_, err := e.Converge(ctx, node, m, nil)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
				if ctx.Err() != nil || len(s.asked) != asked {
					t.Fatalf("the zone was asked %d times, want %d, %v", len(s.asked), asked, ctx.Err())
				}
			}
			fails(`it has the zone "rack1", and no worker took its session in 1h0m0s; start `, 1)
			if what == "session" {
				fails("no worker took its session in 6m0s; start ", 2)
				fails("no worker took its session in 6m0s; start ", 3)
				s.ends = []error{nil, nobodyTook(t)} // a worker comes, and is gone again
				fails("no worker took its session in 1h0m0s; start ", 5)
			}
		})
	}
}

// zoned is a server with workers for the zone rack2 alone.
type zoned struct {
	workers
	ended error // what looks in other zones end with

	mu     sync.Mutex
	waited []time.Duration // of looks in other zones
}

func (s *zoned) ExecuteWorkflow(_ context.Context, _ client.StartWorkflowOptions, _ any, args ...any) (
	client.WorkflowRun, error) {
	in := args[0].(convergeInput)
	if in.Zone != "rack2" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waited = append(s.waited, in.ZoneWait)
	}
	return zonedRun{server: s, in: in}, nil
}

type zonedRun struct {
	client.WorkflowRun
	server *zoned
	in     convergeInput
}

func (r zonedRun) Get(ctx context.Context, result any) error {
	if r.in.Zone == "rack2" {
		text, err := json.Marshal(convergeResult{})
		*result.(*[]byte) = text
		return err
	}
	select {
	case <-time.After(r.in.ZoneWait):
		return r.server.ended
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (*zoned) CancelWorkflow(context.Context, string, string) error { return errors.New("not there") }

// A refresh looks at the nodes whose zone answers, however few places and how little time it has, and however many zones
// without a worker there are, with however many nodes: each of these is asked once, all at the same time, for a part of
// the time, and the nodes of each have the same reason.
func TestZonesWithoutAWorkerLeavePlaces(t *testing.T) {
	t.Parallel()
	s := &zoned{ended: nobodyTook(t)}
	e, _ := looking(t, &server{})
	e.server.client = s
	const zones, limit = 12, 6 * time.Second
	nodes := []site.Node{{Name: "z", Zone: "rack2"}}
	for i := range 3 * zones {
		nodes = append(nodes, site.Node{Name: fmt.Sprintf("a%02d", i), Zone: fmt.Sprint("dead", i%zones)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin := time.Now()
	found := rollout.Survey(ctx, nodes, nil, engine.NoSite, rollout.Options{Executor: e, Parallelism: 1})
	if took := time.Since(begin); took > limit*2/3 {
		t.Errorf("it took %s of %s", took, limit)
	}
	for _, n := range nodes {
		err := found[n.Name].Error
		if n.Zone == "rack2" {
			if err != nil {
				t.Errorf("the node whose worker is there: %v", err)
			}
			continue
		}
		if want := "no worker took its session in 2s"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if len(s.waited) != zones {
		t.Errorf("zones without a worker were asked %d times, for %s, want each of %d once", len(s.waited), s.waited, zones)
	}
}

// A session that no worker took says which workers there are that are for its zone, with another key, or of another
// version, and with which ones it was asked for.
func TestWorkersThatTakeNothingAreNamed(t *testing.T) {
	t.Parallel()
	s := &server{ends: []error{nobodyTook(t)}}
	e, node := looking(t, s)
	e.server.settings.Build = "1.1.0"
	of := func(build string, zones ...string) string {
		t.Helper()
		keys := newKeys(t, encryption.New())
		for i, zone := range zones {
			key, err := keys.ForZone(zone)
			if err != nil {
				t.Fatal(err)
			}
			zones[i] = key
		}
		names := []string{"rack1", "rack2"}[:len(zones)]
		name, err := Settings{Build: build, Keys: newKeys(t, strings.Join(zones, " "))}.identity(names)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	wrong, both := of("1.1.0", "rack1"), of("1.1.0", "rack1", "rack2")
	other, err := Settings{Build: "1.1.0", Keys: newKeys(t, encryption.New())}.identity([]string{"", "rack10"})
	if err != nil {
		t.Fatal(err)
	}
	ended, err := e.server.settings.identity([]string{"rack1"})
	if err != nil {
		t.Fatal(err)
	}
	s.names = []string{wrong, both, other, ended, "worker of slipway 1.0.0 on old, process 7, with keys of zones alone"}
	_, err = e.Converge(t.Context(), node, converge.Manifest{Site: "lon1", Mode: converge.Check}, nil)
	if err == nil {
		t.Fatal("a session without a worker succeeds")
	}
	for _, want := range append(s.names[:2:2], s.names[4], ". A worker with this key asked for sessions in the last 1m10s", "start `terraform-provider-slipway worker --zone rack1`. This is "+
		"slipway 1.1.0 with the key "+e.server.settings.Keys.IDs("rack1")[0]+` of the zone "rack1". There is a worker of `) {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "rack10") || strings.Contains(err.Error(), ended) {
		t.Errorf("a worker of another zone, or one that fits, is in %v", err)
	}
}

// The identity of a worker of many zones is one that the server takes.
func TestIdentityOfAWorkerOfManyZones(t *testing.T) {
	t.Parallel()
	var zones []string
	for i := range 100 {
		zones = append(zones, strings.Repeat("z", 250)+fmt.Sprint(i))
	}
	name, err := Settings{Build: "1.1.0", Keys: newKeys(t, encryption.New()+" "+encryption.New())}.identity(zones)
	if err != nil || len(name) > 1000 || !strings.HasSuffix(name, "those of 98 more zones") {
		t.Errorf("%d bytes, %v: %s", len(name), err, name)
	}
}
