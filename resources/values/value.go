package values

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

var (
	_ basetypes.StringTypable  = OpaqueType{}
	_ basetypes.StringValuable = Opaque{}
)

// OpaqueType is the type of an opaque attribute.
type OpaqueType struct{ basetypes.StringType }

// Equal reports whether the other type is OpaqueType.
func (t OpaqueType) Equal(o attr.Type) bool {
	_, ok := o.(OpaqueType)
	return ok
}

// String names the type.
func (t OpaqueType) String() string { return "values.OpaqueType" }

// ValueType returns an Opaque.
func (t OpaqueType) ValueType(context.Context) attr.Value { return Opaque{} }

// ValueFromString returns the Opaque with the given payload.
func (t OpaqueType) ValueFromString(_ context.Context, payload basetypes.StringValue) (basetypes.StringValuable,
	diag.Diagnostics) {
	return Opaque{payload}, nil
}

// ValueFromTerraform returns the Opaque with the given payload.
func (t OpaqueType) ValueFromTerraform(ctx context.Context, payload tftypes.Value) (attr.Value, error) {
	v, err := t.StringType.ValueFromTerraform(ctx, payload)
	if err != nil {
		return nil, err
	}
	text, ok := v.(basetypes.StringValue)
	if !ok {
		return nil, fmt.Errorf("the payload of an opaque value is a %T", v)
	}
	return Opaque{text}, nil
}

// Opaque is an opaque value. The zero Opaque is null.
type Opaque struct{ payload basetypes.StringValue }

// Encode returns the opaque form of a value of any type.
func Encode(v tftypes.Value) (Opaque, error) {
	encoded, err := tfprotov6.NewDynamicValue(tftypes.DynamicPseudoType, v)
	if err != nil {
		return Opaque{}, err
	}
	switch absence(encoded.MsgPack) {
	case null:
		return Opaque{}, nil
	case unknown:
		return Opaque{basetypes.NewStringUnknown()}, nil
	}
	return Opaque{basetypes.NewStringValue(base64.RawStdEncoding.EncodeToString(encoded.MsgPack))}, nil
}

// Decode returns the value inside, of the type that it has. Without a type it is null or unknown of
// tftypes.DynamicPseudoType.
func (v Opaque) Decode() (tftypes.Value, error) {
	switch {
	case v.payload.IsNull():
		return tftypes.NewValue(tftypes.DynamicPseudoType, nil), nil
	case v.payload.IsUnknown():
		return tftypes.NewValue(tftypes.DynamicPseudoType, tftypes.UnknownValue), nil
	}
	encoded, err := base64.RawStdEncoding.DecodeString(v.payload.ValueString())
	if err != nil {
		return tftypes.Value{}, fmt.Errorf("not an opaque value: %w", err)
	}
	raw, value, err := parts(encoded)
	if err != nil {
		return tftypes.Value{}, fmt.Errorf("not an opaque value: %w", err)
	}
	typ, err := typeFromJSON(raw)
	if err != nil {
		return tftypes.Value{}, fmt.Errorf("not an opaque value: %w", err)
	}
	return tfprotov6.DynamicValue{MsgPack: value}.Unmarshal(typ)
}

// IsNull reports whether the value is null, with or without a type.
func (v Opaque) IsNull() bool { return v.payload.IsNull() || v.inside() == null }

// IsUnknown reports whether the value as a whole is unknown, with or without a type.
func (v Opaque) IsUnknown() bool { return v.payload.IsUnknown() || v.inside() == unknown }

// Equal reports whether the other value is an Opaque of the same type with the same inside.
func (v Opaque) Equal(other attr.Value) bool {
	o, ok := other.(Opaque)
	if !ok {
		return false
	}
	if v.payload.Equal(o.payload) {
		return true
	}
	a, err := v.Decode()
	if err != nil {
		return false
	}
	b, err := o.Decode()
	return err == nil && a.Equal(b)
}

// Type returns OpaqueType.
func (v Opaque) Type(context.Context) attr.Type { return OpaqueType{} }

// String says whether there is a value. It does not show it: it is long and may hold secrets.
func (v Opaque) String() string {
	switch {
	case v.IsNull():
		return attr.NullValueString
	case v.IsUnknown():
		return attr.UnknownValueString
	}
	return "<opaque>"
}

// ToTerraformValue returns the payload: what the framework sees.
func (v Opaque) ToTerraformValue(ctx context.Context) (tftypes.Value, error) {
	return v.payload.ToTerraformValue(ctx)
}

// ToStringValue returns the payload.
func (v Opaque) ToStringValue(context.Context) (basetypes.StringValue, diag.Diagnostics) {
	return v.payload, nil
}

// presence says whether an encoded value is there.
type presence int

const (
	present presence = iota
	null
	unknown
)

// absence reads the presence of an encoded value that has no type beside it.
func absence(encoded []byte) presence {
	switch {
	case len(encoded) > 0 && encoded[0] == msgpcode.Nil:
		return null
	case len(encoded) > 0 && msgpcode.IsExt(encoded[0]):
		return unknown
	}
	return present
}

// inside reads the presence of a value that has a type: it is encoded as a pair of both.
func (v Opaque) inside() presence {
	if v.payload.IsNull() || v.payload.IsUnknown() {
		return present
	}
	encoded, err := base64.RawStdEncoding.DecodeString(v.payload.ValueString())
	if err != nil {
		return present
	}
	_, value, err := parts(encoded)
	if err != nil {
		return present
	}
	return absence(value)
}

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
