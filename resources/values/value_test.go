package values

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// What is opaque comes out as it went in, and what is seen of it from outside is right.
func TestSealThenOpenIsTheIdentity(t *testing.T) {
	for seed := range uint64(3000) {
		r := random{rand.New(rand.NewPCG(seed, 1)), true}
		in := r.any()
		v, err := Encode(in)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, in, err)
		}
		out, err := v.Decode()
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, in, err)
		}
		if !out.Equal(in) {
			t.Errorf("seed %d: %s became %s", seed, in, out)
		}
		if v.IsNull() != in.IsNull() || v.IsUnknown() == in.IsKnown() {
			t.Errorf("seed %d: %s: null %v, unknown %v", seed, in, v.IsNull(), v.IsUnknown())
		}
		payload, err := v.ToTerraformValue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again, err := OpaqueType{}.ValueFromTerraform(t.Context(), payload)
		if err != nil || !v.Equal(again) {
			t.Errorf("seed %d: %s is another behind the framework, %v", seed, in, err)
		}
		other := r.any()
		if o, err := Encode(other); err != nil || v.Equal(o) != in.Equal(other) {
			t.Errorf("seed %d: %s and %s: equal %v, %v", seed, in, other, v.Equal(o), err)
		}
	}
}

// An object on the wire is the same after it was opaque and opened, byte for byte, whatever else it holds. That goes for what this package
// would not write itself, too: an unknown value with what is known of it, and members in another order.
func TestWireIsTheIdentity(t *testing.T) {
	a := attributes{"one": true, "two": true}
	typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"one": tftypes.DynamicPseudoType, "two": tftypes.DynamicPseudoType, "other": tftypes.DynamicPseudoType, "text": tftypes.String}}
	for seed := range uint64(1000) {
		r := random{rand.New(rand.NewPCG(seed, 2)), true}
		members := map[string]tftypes.Value{"one": r.any(), "two": r.any(), "other": r.any(), "text": r.value(tftypes.String)}
		object, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, members))
		if err != nil {
			t.Fatal(err)
		}
		there := thereAndBack(t, a, object.MsgPack)
		inner := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"one": tftypes.String, "two": tftypes.String, "other": tftypes.DynamicPseudoType, "text": tftypes.String}}
		seen, err := there.Unmarshal(inner)
		if err != nil {
			t.Fatalf("seed %d: the framework cannot read %s: %v", seed, members, err)
		}
		var inside map[string]tftypes.Value
		if err := seen.As(&inside); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"one", "two"} {
			v, err := OpaqueType{}.ValueFromTerraform(t.Context(), inside[name])
			if err != nil {
				t.Fatal(err)
			}
			if got, err := v.(Opaque).Decode(); err != nil || !got.Equal(members[name]) { //nolint:forcetypeassert // its type
				t.Errorf("seed %d: %s became %s, %v", seed, members[name], got, err)
			}
		}
	}
	const refined = "\xc7\x03\x0c\x81\x01\xc2" // unknown, but not null
	for _, object := range []string{
		"\xc0", "\xd4\x00\x00", refined,
		"\x84\xa3two" + refined + "\xa4text\xa0\xa3one\x92\xc4\x11[\"list\",\"string\"]" + refined + "\xa5other\xc0",
		"\x81\xa3one\x92\xd9\x08\"string\"\xd9\x01x", // longer than it need be
	} {
		thereAndBack(t, a, []byte(object))
	}
}

func thereAndBack(t *testing.T, a attributes, object []byte) *tfprotov6.DynamicValue {
	t.Helper()
	there, err := a.apply(&tfprotov6.DynamicValue{MsgPack: object}, wrap)
	if err != nil {
		t.Fatalf("%x: %v", object, err)
	}
	back, err := a.apply(there, unwrap)
	if err != nil {
		t.Fatalf("%x: %v", object, err)
	}
	if !bytes.Equal(back.MsgPack, object) {
		t.Errorf("%x became %x", object, back.MsgPack)
	}
	return there
}

// What is damaged is an error and nothing worse.
func FuzzApply(f *testing.F) {
	f.Add([]byte("\x81\xa3one\xa4text"))
	f.Add([]byte("\xde\xff\xff"))
	f.Fuzz(func(t *testing.T, object []byte) {
		a := attributes{"one": true}
		if there, err := a.apply(&tfprotov6.DynamicValue{MsgPack: object}, wrap); err == nil {
			if _, err := a.apply(there, unwrap); err != nil {
				t.Errorf("opaque but not opened: %v", err)
			}
		}
		_, _ = a.apply(&tfprotov6.DynamicValue{MsgPack: object}, unwrap)
		v := Opaque{basetypes.NewStringValue(string(object))}
		_, _ = v.IsNull(), v.IsUnknown()
		_, _ = v.Decode()
	})
}

func TestValuesDoNotShowThemselves(t *testing.T) {
	v, err := Encode(tftypes.NewValue(tftypes.String, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := Encode(tftypes.NewValue(tftypes.String, tftypes.UnknownValue))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		v    Opaque
		want string
	}{{v, "<opaque>"}, {unknown, "<unknown>"}, {Opaque{}, "<null>"}} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// A value without a type may stand in a list or object of values.
func TestOpenNullsWithoutType(t *testing.T) {
	null := tftypes.NewValue(tftypes.DynamicPseudoType, nil)
	for _, v := range []tftypes.Value{
		tftypes.NewValue(tftypes.Tuple{ElementTypes: []tftypes.Type{tftypes.DynamicPseudoType, tftypes.String, tftypes.String}},
			[]tftypes.Value{null, tftypes.NewValue(tftypes.String, "a"), tftypes.NewValue(tftypes.String, nil)}),
		tftypes.NewValue(tftypes.Object{AttributeTypes: map[string]tftypes.Type{"a": tftypes.DynamicPseudoType}}, map[string]tftypes.Value{"a": null}),
	} {
		opaque, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := opaque.Decode(); err != nil || !got.Equal(v) {
			t.Errorf("%s became %s, %v", v, got, err)
		}
	}
}

// What is no pair of a type and a value is reported as that.
func TestOpenWhatIsNotOpaque(t *testing.T) {
	for payload, want := range map[string]string{
		"!":    "not an opaque value: illegal base64",
		"kQE":  "not an opaque value: 1 parts, a type and a value are needed",
		"oWE":  "not an opaque value: msgpack",
		"ksQA": "not an opaque value: EOF",
	} {
		if _, err := (Opaque{basetypes.NewStringValue(payload)}).Decode(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", payload, err, want)
		}
	}
}
