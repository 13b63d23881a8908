package temporal

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/engine"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// A field that a reader does not know, as a newer slipway of the same version of workflows may send it, is refused by
// name, with the version that wrote it, wherever it is in a session, its result, or what a batch is started with: it is
// not left out in silence.
func TestUnknownFieldsAreRefused(t *testing.T) {
	t.Parallel()
	request := convergeRequest{Build: "9.1.0", Node: site.Node{Name: "a"}, Manifest: converge.Manifest{Site: "lon1"}}
	result := convergeResult{Build: "9.1.0", Results: []converge.Result{{Message: "m"}}}
	for _, tt := range []struct {
		of     any
		within string // what is before the field
		into   any
	}{
		{request, `{`, &convergeRequest{}},
		{request, `"Node":{`, &convergeRequest{}},
		{request, `"Manifest":{`, &convergeRequest{}},
		{slot{"s", request}, `{`, &slot{}},
		{slot{"s", request}, `"Manifest":{`, &slot{}},
		{result, `"Results":[{`, &convergeResult{}},
		{slotResult{Result: &result}, `{`, &slotResult{}},
		{slotResult{Result: &result}, `"Summary":{`, &slotResult{}},
		{convergeInput{Build: "9.1.0", Site: "lon1"}, `{`, &convergeInput{}},
	} {
		whole, err := json.Marshal(tt.of)
		if err != nil {
			t.Fatal(err)
		}
		if err := decode(whole, tt.into); err != nil {
			t.Errorf("%s: %v", whole, err)
		}
		text := strings.Replace(string(whole), tt.within, tt.within+`"Newer":1,`, 1)
		err = decode([]byte(text), tt.into)
		if want := `unknown field "Newer": slipway 9.1.0 wrote it`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v: %s", want, err, text)
		}
		if _, payload := tt.into.(*convergeInput); !payload {
			continue
		}
		err = json.Unmarshal([]byte(text), tt.into) // as the SDK does
		if want := `unknown field "Newer": slipway 9.1.0 wrote it`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v: %s", want, err, text)
		}
	}
}

// A worker that gets a session with a field that it does not know does nothing with the node.
func TestASessionWithAnUnknownFieldIsNotRun(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflow(Converge)
	env.RegisterActivity(&Zone{Executor: func() rollout.Executor { return answering{fail: true} }, places: make(chan struct{}, 1)})
	env.ExecuteWorkflow(Converge, convergeInput{Site: "lon1", Zone: "rack1", Queue: "zone", ZoneWait: time.Minute, LostAfter: time.Minute,
		Look: []byte(`{"Build":"9.1.0","Node":{"Newer":true},"Manifest":{}}`)})
	err := env.GetWorkflowError()
	if want := `the session cannot be read: unknown field "Newer": slipway 9.1.0 wrote it`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("no %q in %v", want, err)
	}
}

// What is left for a worker names the version that wrote it.
func TestSessionsNameTheirVersion(t *testing.T) {
	t.Parallel()
	s := &server{ends: []error{nobodyTook(t)}}
	e, node := looking(t, s)
	e.server.settings.Build = "1.1.0"
	if _, err := e.Converge(t.Context(), node, converge.Manifest{Site: engine.NoSite, Mode: converge.Check}, nil); err == nil {
		t.Error("a look without a worker succeeds")
	}
	if in := s.asked[0]; in.Build != "1.1.0" || !strings.Contains(string(in.Look), `"Build":"1.1.0"`) {
		t.Errorf("the payload is of version %q: %s", in.Build, in.Look)
	}
	if got := (convergeRequest{}).converge(t.Context(), "1.1.0", answering{}).Build; got != "1.1.0" {
		t.Errorf("the result is of version %q", got)
	}
}
