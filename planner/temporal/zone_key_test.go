package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/encryption"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// apart is the codec of a test environment, which has one for all: workflows have the keys of the site, activities those
// of their worker.
type apart struct {
	codec
	worker codec
}

func (a apart) WithSerializationContext(of converter.SerializationContext) converter.PayloadCodec {
	if _, is := of.(converter.ActivitySerializationContext); is {
		return a.worker.WithSerializationContext(of)
	}
	return a.codec.WithSerializationContext(of)
}

// answering is a worker's executor of nodes.
type answering struct{ fail bool }

func (answering) Close() error { return nil }

func (a answering) Converge(_ context.Context, n site.Node, _ converge.Manifest, each func(converge.Result)) (
	converge.Summary, error) {
	if a.fail {
		panic("the executor fails")
	}
	each(converge.Result{Message: "of node " + n.Name})
	return converge.Summary{}, nil
}

// TestAWorkerWithTheKeyOfItsZoneAlone: in the SDK's test environment, a worker that has the key of its zone and nothing
// else takes a look from the workflow, and answers; the workflow takes the text of its error. With the key of another
// zone it cannot read what it is asked.
func TestAWorkerWithTheKeyOfItsZoneAlone(t *testing.T) {
	keys := newKeys(t, encryption.New())
	for name, tt := range map[string]struct {
		zone string // of the worker's key
		fail bool
		err  string
	}{
		"its zone":     {"rack1", false, ""},
		"an error":     {"rack1", true, "its worker failed: panic: the executor fails"},
		"another zone": {"rack2", false, `of the zone "rack1": the keys here are those of the zones "rack2"`},
		"no zone":      {"", false, `of the zone "rack1": the keys here are those of the zones ""`},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			c := newCodec(keys)
			payloads := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(),
				apart{c, newCodec(ofZone(t, keys, tt.zone))})
			env.SetDataConverter(payloads)
			env.SetFailureConverter(failuresOf(payloads))
			env.RegisterWorkflow(Converge)
			env.RegisterActivity(&Zone{Executor: func() rollout.Executor { return answering{tt.fail} }, places: make(chan struct{}, 1)})
			look, err := json.Marshal(convergeRequest{Node: site.Node{Name: "a", Zone: "rack1"}})
			if err != nil {
				t.Fatal(err)
			}
			env.ExecuteWorkflow(Converge, convergeInput{Site: "lon1", Zone: "rack1", Look: look,
				Queue: Settings{Keys: keys}.zones("rack1")[0], ZoneWait: time.Minute, LostAfter: time.Minute})
			var text []byte
			err = errors.Join(env.GetWorkflowError(), env.GetWorkflowResult(&text))
			switch {
			case tt.err == "" && (err != nil || !strings.Contains(string(text), "of node a")):
				t.Errorf("the answer is %q, %v", text, err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("no %q in %v", tt.err, err)
			}
		})
	}
}
