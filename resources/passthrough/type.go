package passthrough

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
)

// parts returns the type, in JSON, and the encoding of a value that has its type beside it.
func parts(encoded []byte) (typ []byte, value msgpack.RawMessage, err error) {
	d := msgpack.NewDecoder(bytes.NewReader(encoded))
	n, err := d.DecodeArrayLen()
	if err != nil {
		return nil, nil, err
	}
	if n != 2 {
		return nil, nil, fmt.Errorf("%d parts, a type and a value are needed", n)
	}
	if typ, err = d.DecodeBytes(); err != nil {
		return nil, nil, err
	}
	value, err = d.DecodeRaw()
	return typ, value, err
}

// typeFromJSON reads a type. A list of a thousand objects has a thousand types, most of them equal: each is read once.
func typeFromJSON(raw []byte) (tftypes.Type, error) {
	known := map[string]tftypes.Type{}
	read := func(raw []byte) (tftypes.Type, error) {
		if typ, ok := known[string(raw)]; ok {
			return typ, nil
		}
		var null bytes.Buffer // of the type: the library reads types beside values only
		e := msgpack.NewEncoder(&null)
		if err := errors.Join(e.EncodeArrayLen(2), e.EncodeBytes(raw), e.EncodeNil()); err != nil {
			return nil, err
		}
		v, err := tfprotov6.DynamicValue{MsgPack: null.Bytes()}.Unmarshal(tftypes.DynamicPseudoType)
		if err != nil {
			return nil, err
		}
		known[string(raw)] = v.Type()
		return v.Type(), nil
	}
	var pair []json.RawMessage
	if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 {
		return read(raw) // it has no parts, or is wrong
	}
	switch string(pair[0]) {
	case `"tuple"`:
		var elements []json.RawMessage
		if err := json.Unmarshal(pair[1], &elements); err != nil {
			return nil, err
		}
		typ := tftypes.Tuple{ElementTypes: make([]tftypes.Type, len(elements))}
		for i, e := range elements {
			var err error
			if typ.ElementTypes[i], err = read(e); err != nil {
				return nil, err
			}
		}
		return typ, nil
	case `"object"`:
		var members map[string]json.RawMessage
		if err := json.Unmarshal(pair[1], &members); err != nil {
			return nil, err
		}
		typ := tftypes.Object{AttributeTypes: make(map[string]tftypes.Type, len(members))}
		for name, m := range members {
			var err error
			if typ.AttributeTypes[name], err = read(m); err != nil {
				return nil, err
			}
		}
		return typ, nil
	}
	return read(raw)
}
