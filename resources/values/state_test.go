package values

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Every state of today that Terraform may have saved comes back as it is, whether it is indented or not, and has the value that
// the protocol's library reads from it.
func TestStateOfToday(t *testing.T) {
	p := newPair(t)
	for seed := range uint64(1000) {
		state := savedState(t, random{rand.New(rand.NewPCG(seed, 4)), false}.thing())
		if seed%2 == 0 {
			var indented bytes.Buffer
			if err := json.Indent(&indented, state, "  ", "  "); err != nil {
				t.Fatal(err)
			}
			state = indented.Bytes()
		}
		resp, err := p.opaque.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: "toy_thing",
			RawState: &tfprotov6.RawState{JSON: state}})
		if err != nil || len(resp.Diagnostics) > 0 || !bytes.Equal(resp.UpgradedState.JSON, state) || resp.UpgradedState.MsgPack != nil {
			t.Fatalf("seed %d: %v, %v: %s", seed, err, resp, state)
		}
		got, err := resp.UpgradedState.Unmarshal(thingType)
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, state)
		}
		want, err := tfprotov6.RawState{JSON: state}.Unmarshal(thingType)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Equal(want) {
			t.Fatalf("seed %d: got %s, want %s", seed, got, want)
		}
	}
}

// What is no object of today's attributes is left to the framework.
func TestOtherStates(t *testing.T) {
	for _, state := range []string{``, `null`, `[]`, `7`, `{`, `{}]`, `{} {}`, `{"unknown":1}`, `{"number":1e}`,
		`{"open":{"type":"string" "value":""}}`} {
		if isToday(&tfprotov6.RawState{JSON: []byte(state)}, thingType) {
			t.Errorf("%s counts as a state of today", state)
		}
	}
	if isToday(nil, thingType) || isToday(&tfprotov6.RawState{Flatmap: map[string]string{"a": "b"}}, thingType) {
		t.Error("no state, or that of an old Terraform, counts as one of today")
	}
}
