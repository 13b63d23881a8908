package passthrough

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
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
