package passthrough

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// wrapState returns a saved state with its attributes opaque. A state file holds a value of any type as {"type": ...,
// "value": ...}.
func (a attributes) wrapState(state *tfprotov6.RawState) (*tfprotov6.RawState, error) {
	if state == nil || len(state.JSON) == 0 {
		return state, nil
	}
	var saved map[string]json.RawMessage
	if err := json.Unmarshal(state.JSON, &saved); err != nil || saved == nil {
		return state, nil //nolint:nilerr // what is no object is for the framework to report
	}
	for name := range a {
		raw, ok := saved[name]
		if !ok || string(raw) == "null" {
			continue
		}
		value, err := tfprotov6.RawState{JSON: raw}.Unmarshal(tftypes.DynamicPseudoType)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		opaque, err := Encode(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if saved[name], err = json.Marshal(opaque.payload.ValueStringPointer()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	opaque, err := json.Marshal(saved)
	return &tfprotov6.RawState{JSON: opaque}, err
}

// encodeState returns a saved state, of the schema as it is today, in the encoding of the protocol. An error means that
// it is not written the way Terraform writes it, or not for this schema.
func encodeState(state *tfprotov6.RawState, typ tftypes.Type) (*tfprotov6.DynamicValue, error) {
	if state == nil || typ == nil {
		return nil, errUnusual
	}
	var out bytes.Buffer
	out.Grow(len(state.JSON))
	if err := encode(state.JSON, typ, &out); err != nil {
		return nil, err
	}
	return &tfprotov6.DynamicValue{MsgPack: out.Bytes()}, nil
}
