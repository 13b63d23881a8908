package passthrough

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Every state that Terraform may have saved is encoded in one pass, and to the value that the protocol's library reads from it, whether it is indented or not.
func TestEncodeState(t *testing.T) {
	s := thingType
	for seed := range uint64(1000) {
		state := savedState(t, random{rand.New(rand.NewPCG(seed, 4)), false}.thing())
		if seed%2 == 0 {
			var indented bytes.Buffer
			if err := json.Indent(&indented, state, "  ", "  "); err != nil {
				t.Fatal(err)
			}
			state = indented.Bytes()
		}
		encoded, err := encodeState(&tfprotov6.RawState{JSON: state}, s)
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, state)
		}
		got, err := encoded.Unmarshal(thingType)
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

// Attributes that are left out are null.
func TestEncodeStateWithoutAttributes(t *testing.T) {
	encoded, err := encodeState(&tfprotov6.RawState{JSON: []byte(`{"extra":null,"number":7}`)}, thingType)
	if err != nil {
		t.Fatal(err)
	}
	got, err := encoded.Unmarshal(thingType)
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]tftypes.Value{}
	for name, typ := range thingType.AttributeTypes {
		members[name] = tftypes.NewValue(typ, nil)
	}
	members["number"] = tftypes.NewValue(tftypes.Number, 7)
	if want := tftypes.NewValue(thingType, members); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

var unusualStates = []string{
	``, `null`, `[]`, `7`, `{`, `{}]`, `{} {}`, `{"number":"7"}`, `{"number":true}`, `{"computed":7}`, `{"unknown":1}`, `{"number":1,"number":2}`, `{"secret":"","extra":null}`,
	`{"open":{"value":1}}`, `{"open":{"type":"string"}}`, `{"open":{"type":"text","value":""}}`, `{"open":{"type":"string","value":[]}}`, `{"open":{"type":"string","value":"","more":1}}`,
	`{"open":{"type":["list"],"value":[]}}`, `{"open":{"type":["tuple",["string"]],"value":[]}}`, `{"open":{"type":["tuple",[]],"value":["a"]}}`, `{"open":{"type":["map","string"],"value":{"b":"","a":""}}}`,
	`{"open":{"type":["object",{"b":"string","a":"string"}],"value":{"b":"","a":""}}}`, `{"open":{"type":["object",{"a":"string"}],"value":{"b":""}}}`, `{"open":{"type":"dynamic","value":1}}`,
	`{"open":{"type":["list","string"],"value":{}}}`, `{"open":{"type":["set",7],"value":[]}}`, `{"number":1e}`, `{"open":{"type":"string" "value":""}}`,
}

// What is not as Terraform writes it is left to the framework.
func TestUnusualStates(t *testing.T) {
	s := thingType
	for _, state := range unusualStates {
		encoded, err := encodeState(&tfprotov6.RawState{JSON: []byte(state)}, s)
		if state == `null` {
			if err != nil || absence(encoded.MsgPack) != null {
				t.Errorf("%s: %v, %v", state, encoded, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s is encoded", state)
		}
	}
	if _, err := encodeState(nil, s); !errors.Is(err, errUnusual) {
		t.Errorf("no state: %v", err)
	}
	if _, err := encodeState(&tfprotov6.RawState{Flatmap: map[string]string{"a": "b"}}, s); err == nil {
		t.Error("a state of an old Terraform is encoded")
	}
}

var astronomical = regexp.MustCompile(`[eE][+-]?[0-9]{4,}`)

// Whatever is encoded is what the protocol's library would have made of it.
func FuzzEncodeState(f *testing.F) {
	for _, state := range unusualStates {
		f.Add([]byte(state))
	}
	for seed := range uint64(20) {
		f.Add(savedState(f, random{rand.New(rand.NewPCG(seed, 5)), false}.thing()))
	}
	s := thingType
	f.Fuzz(func(t *testing.T, state []byte) {
		if astronomical.Match(state) {
			t.Skip("numbers of millions of digits take the library minutes")
		}
		encoded, err := encodeState(&tfprotov6.RawState{JSON: state}, s)
		if err != nil {
			return
		}
		want, err := tfprotov6.RawState{JSON: state}.Unmarshal(thingType)
		if err != nil {
			t.Fatalf("%s is encoded, and an error for the library: %v", state, err)
		}
		got, err := encoded.Unmarshal(thingType)
		if err != nil {
			t.Fatalf("%s: %v", state, err)
		}
		if !got.Equal(want) {
			t.Fatalf("%s: got %s, want %s", state, got, want)
		}
	})
}
