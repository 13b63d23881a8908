package passthrough

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"

	"github.com/vmihailenco/msgpack/v5"
)

// errUnusual says that a saved state is not as Terraform writes it.
var errUnusual = errors.New("not the form in which Terraform saves a state")

func encode(value []byte, s *shape, out *bytes.Buffer) error {
	e := encoder{in: reader(value), out: out, to: msgpack.NewEncoder(out)}
	if err := e.value(s); err != nil {
		return err
	}
	return ended(e.in)
}

func reader(raw []byte) *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d
}

func ended(d *json.Decoder) error {
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
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

func (e *encoder) value(s *shape) error {
	if s.kind == dynamicShape {
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
		if s.kind == stringShape {
			return e.to.EncodeString(token)
		}
	case bool:
		if s.kind == boolShape {
			return e.to.EncodeBool(token)
		}
	case json.Number:
		if s.kind == numberShape {
			return e.number(token)
		}
	case json.Delim:
		switch {
		case token == '[' && s.kind == listShape:
			return e.sized(e.to.EncodeArrayLen, func() (int, error) { return e.elements(func(int) *shape { return s.element }) })
		case token == '[' && s.kind == tupleShape:
			return e.sized(e.to.EncodeArrayLen, func() (int, error) { return e.tuple(s.members) })
		case token == '{' && s.kind == mapShape:
			return e.sized(e.to.EncodeMapLen, func() (int, error) { return e.entries(s.element) })
		case token == '{' && s.kind == objectShape:
			return e.object(s)
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
	s, err := newShape(typ.Bytes())
	if err != nil {
		return err
	}
	if s.kind == dynamicShape || len(saved["value"]) == 0 || len(saved) > 2 {
		return errUnusual
	}
	if err := e.to.EncodeArrayLen(2); err != nil {
		return err
	}
	if err := e.to.EncodeBytes(typ.Bytes()); err != nil {
		return err
	}
	return encode(saved["value"], s, e.out)
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

func (e *encoder) elements(of func(int) *shape) (n int, err error) {
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

func (e *encoder) tuple(members []*shape) (int, error) {
	n, err := e.elements(func(i int) *shape {
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
func (e *encoder) entries(s *shape) (n int, err error) {
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
		if err := e.value(s); err != nil {
			return n, err
		}
	}
	return n, nil
}

// object encodes what is in an object. Attributes come in order; one that is left out is null.
func (e *encoder) object(s *shape) error {
	if err := e.to.EncodeMapLen(len(s.names)); err != nil {
		return err
	}
	next := 0
	for e.in.More() {
		name, err := e.key()
		if err != nil {
			return err
		}
		for ; next < len(s.names) && s.names[next] < name; next++ {
			if err := e.absent(s.names[next]); err != nil {
				return err
			}
		}
		if next == len(s.names) || s.names[next] != name {
			return errUnusual // unknown, twice or not in order
		}
		if err := e.to.EncodeString(name); err != nil {
			return err
		}
		if err := e.value(s.members[next]); err != nil {
			return err
		}
		next++
	}
	for ; next < len(s.names); next++ {
		if err := e.absent(s.names[next]); err != nil {
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
