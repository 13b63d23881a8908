package passthrough

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/big"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
)

// errUnusual says that a saved state is not as Terraform writes it.
var errUnusual = errors.New("not the form in which Terraform saves a state")

func encode(value []byte, typ tftypes.Type, out *bytes.Buffer) error {
	in := json.NewDecoder(bytes.NewReader(value))
	in.UseNumber()
	e := encoder{in: in, out: out, to: msgpack.NewEncoder(out)}
	if err := e.value(typ); err != nil {
		return err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errUnusual
	}
	return nil
}

// encoder copies a value from JSON to msgpack token by token, without making values of it.
type encoder struct {
	in  *json.Decoder
	out *bytes.Buffer
	to  *msgpack.Encoder
}

func (e *encoder) value(typ tftypes.Type) error {
	if typ.Is(tftypes.DynamicPseudoType) {
		return e.dynamic()
	}
	token, err := e.in.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case nil:
		return e.to.EncodeNil()
	case string:
		if typ.Is(tftypes.String) {
			return e.to.EncodeString(token)
		}
	case bool:
		if typ.Is(tftypes.Bool) {
			return e.to.EncodeBool(token)
		}
	case json.Number:
		if typ.Is(tftypes.Number) {
			return e.number(token)
		}
	case json.Delim:
		return e.collection(token, typ)
	}
	return errUnusual
}

func (e *encoder) collection(opening json.Delim, typ tftypes.Type) error {
	each := func(element tftypes.Type) error {
		return e.sized(e.to.EncodeArrayLen, func() (int, error) {
			return e.elements(func(int) tftypes.Type { return element })
		})
	}
	switch typ := typ.(type) {
	case tftypes.List:
		if opening == '[' {
			return each(typ.ElementType)
		}
	case tftypes.Set:
		if opening == '[' {
			return each(typ.ElementType)
		}
	case tftypes.Tuple:
		if opening == '[' {
			return e.sized(e.to.EncodeArrayLen, func() (int, error) { return e.tuple(typ.ElementTypes) })
		}
	case tftypes.Map:
		if opening == '{' {
			return e.sized(e.to.EncodeMapLen, func() (int, error) { return e.entries(typ.ElementType) })
		}
	case tftypes.Object:
		if opening == '{' {
			return e.object(typ.AttributeTypes)
		}
	}
	return errUnusual
}

// dynamic encodes a value that has its type beside it.
func (e *encoder) dynamic() error {
	var saved map[string]json.RawMessage
	if err := e.in.Decode(&saved); err != nil {
		return err
	}
	if saved == nil {
		return e.to.EncodeNil()
	}
	var typ bytes.Buffer
	if err := json.Compact(&typ, saved["type"]); err != nil {
		return err
	}
	of, err := typeFromJSON(typ.Bytes())
	if err != nil {
		return err
	}
	if of.Is(tftypes.DynamicPseudoType) || len(saved["value"]) == 0 || len(saved) > 2 {
		return errUnusual
	}
	if err := e.to.EncodeArrayLen(2); err != nil {
		return err
	}
	if err := e.to.EncodeBytes(typ.Bytes()); err != nil {
		return err
	}
	return encode(saved["value"], of, e.out)
}

// number encodes as Terraform does: as the smallest integer, else as a float where that is exact, else as text.
func (e *encoder) number(text json.Number) error {
	if i, err := text.Int64(); err == nil {
		return e.to.EncodeInt(i)
	}
	n, _, err := big.ParseFloat(text.String(), 10, 512, big.ToNearestEven)
	if err != nil {
		return err
	}
	if i, accuracy := n.Int64(); accuracy == big.Exact {
		return e.to.EncodeInt(i)
	}
	if f, accuracy := n.Float64(); accuracy == big.Exact {
		return e.to.EncodeFloat64(f)
	}
	return e.to.EncodeString(n.Text('f', -1))
}

// sized writes a header with the number of what comes behind it, which is known only after that was read.
func (e *encoder) sized(header func(int) error, content func() (int, error)) error {
	start := e.out.Len()
	n, err := content()
	if err != nil {
		return err
	}
	if _, err := e.in.Token(); err != nil { // the closing bracket
		return err
	}
	behind := bytes.Clone(e.out.Bytes()[start:])
	e.out.Truncate(start)
	if err := header(n); err != nil {
		return err
	}
	_, err = e.out.Write(behind)
	return err
}

func (e *encoder) elements(of func(int) tftypes.Type) (n int, err error) {
	for ; e.in.More(); n++ {
		s := of(n)
		if s == nil {
			return n, errUnusual
		}
		if err := e.value(s); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (e *encoder) tuple(members []tftypes.Type) (int, error) {
	n, err := e.elements(func(i int) tftypes.Type {
		if i >= len(members) {
			return nil
		}
		return members[i]
	})
	if err == nil && n != len(members) {
		err = errUnusual
	}
	return n, err
}

// entries encodes what is in a map. Keys come in order.
func (e *encoder) entries(typ tftypes.Type) (n int, err error) {
	last := ""
	for ; e.in.More(); n++ {
		key, err := e.key()
		if err != nil {
			return n, err
		}
		if n > 0 && key <= last {
			return n, errUnusual
		}
		last = key
		if err := e.to.EncodeString(key); err != nil {
			return n, err
		}
		if err := e.value(typ); err != nil {
			return n, err
		}
	}
	return n, nil
}

// object encodes what is in an object. Attributes come in order; one that is left out is null.
func (e *encoder) object(attributes map[string]tftypes.Type) error {
	names := slices.Sorted(maps.Keys(attributes))
	if err := e.to.EncodeMapLen(len(names)); err != nil {
		return err
	}
	next := 0
	for e.in.More() {
		name, err := e.key()
		if err != nil {
			return err
		}
		for ; next < len(names) && names[next] < name; next++ {
			if err := e.absent(names[next]); err != nil {
				return err
			}
		}
		if next == len(names) || names[next] != name {
			return errUnusual // unknown, twice or not in order
		}
		if err := e.to.EncodeString(name); err != nil {
			return err
		}
		if err := e.value(attributes[name]); err != nil {
			return err
		}
		next++
	}
	for ; next < len(names); next++ {
		if err := e.absent(names[next]); err != nil {
			return err
		}
	}
	_, err := e.in.Token() // the closing brace
	return err
}

func (e *encoder) absent(name string) error {
	if err := e.to.EncodeString(name); err != nil {
		return err
	}
	return e.to.EncodeNil()
}

func (e *encoder) key() (string, error) {
	token, err := e.in.Token()
	if err != nil {
		return "", err
	}
	key, ok := token.(string)
	if !ok {
		return "", errUnusual
	}
	return key, nil
}
