package rollout

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// The process that goes on with a run knows of an error of a connection what the process before knew.
func TestSavedErrorOfAConnection(t *testing.T) {
	want := transport.Error{Kind: transport.Unreachable, Node: "a", Message: resource.Text("away"), Early: true,
		Unasked: true}
	text, err := json.Marshal(SaveError(&want))
	if err != nil {
		t.Fatal(err)
	}
	var saved SavedError
	if err := json.Unmarshal(text, &saved); err != nil {
		t.Fatal(err)
	}
	var got *transport.Error
	if !errors.As(saved.Err(), &got) || *got != want {
		t.Errorf("%+v became %+v", want, got)
	}
}
