package values

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
)

// The encoding of values is the one of the plugin protocol, "Wire Format for Terraform Objects and Associated Values":
// an object is a map, a value of a dynamic attribute a pair of its type and itself, an unknown value an extension.

// attributes are the names of the opaque attributes of a resource.
type attributes map[string]bool

// change replaces an encoded value.
type change func(msgpack.RawMessage) (msgpack.RawMessage, error)

// wrap replaces an encoded value of any type by the opaque one.
func wrap(value msgpack.RawMessage) (msgpack.RawMessage, error) {
	return msgpack.Marshal(base64.RawStdEncoding.EncodeToString(value))
}

// unwrap replaces an opaque value by what is inside.
func unwrap(payload msgpack.RawMessage) (msgpack.RawMessage, error) {
	var text string
	if err := msgpack.Unmarshal(payload, &text); err != nil {
		return nil, err
	}
	return base64.RawStdEncoding.DecodeString(text)
}

// apply returns an encoded object with its opaque attributes changed and all else as it is, byte for byte. What is null
// or unknown stays.
func (a attributes) apply(object *tfprotov6.DynamicValue, change change) (*tfprotov6.DynamicValue, error) {
	if object == nil || len(a) == 0 || absence(object.MsgPack) != present {
		return object, nil
	}
	if len(object.MsgPack) == 0 {
		if len(object.JSON) == 0 {
			return object, nil
		}
		return nil, fmt.Errorf("an object came as JSON, which Terraform uses for saved states only")
	}
	var out bytes.Buffer
	out.Grow(len(object.MsgPack) * 3 / 2)
	d, e := msgpack.NewDecoder(bytes.NewReader(object.MsgPack)), msgpack.NewEncoder(&out)
	members, err := d.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	if err := e.EncodeMapLen(members); err != nil {
		return nil, err
	}
	for range members {
		name, err := d.DecodeString()
		if err != nil {
			return nil, err
		}
		value, err := d.DecodeRaw()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if a[name] && absence(value) == present {
			if value, err = change(value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := e.EncodeString(name); err != nil {
			return nil, err
		}
		out.Write(value)
	}
	return &tfprotov6.DynamicValue{MsgPack: out.Bytes()}, nil
}

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

// isToday reports whether a saved state is an object that has no attributes but those of a schema.
func isToday(state *tfprotov6.RawState, schema tftypes.Type) bool {
	var saved map[string]json.RawMessage
	object, ok := schema.(tftypes.Object)
	if !ok || state == nil || json.Unmarshal(state.JSON, &saved) != nil || saved == nil {
		return false
	}
	for name := range saved {
		if _, ok := object.AttributeTypes[name]; !ok {
			return false
		}
	}
	return true
}
