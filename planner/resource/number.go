package resource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
)

// exactFloat bounds the whole numbers that a float64 distinguishes from their neighbours.
const exactFloat = 1 << 53

// Whole returns the integer that v is. JSON and HCL know one kind of number only, so a float64 counts when it is whole
// (lsm.md 18, 1).
func Whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < exactFloat {
			return int64(n), true
		}
	}
	return 0, false
}

// Number returns a number of Terraform or of a template in its one form: an int64 if it is whole, else the nearest
// float64, which may be infinite.
func Number(f *big.Float) any {
	if n, accuracy := f.Int64(); accuracy == big.Exact {
		return n
	}
	n, _ := f.Float64()
	return n
}

// numberOf returns a number of JSON in its one form: 1000 and 1e3 are one int64. A number out of bounds is an error.
func numberOf(n json.Number) (any, error) {
	if whole, err := n.Int64(); err == nil {
		return whole, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, errors.New("is a number out of bounds")
	}
	if whole, ok := Whole(f); ok {
		return whole, nil
	}
	return f, nil
}

// Nulls says what becomes of null in a value, which no parameter has.
type Nulls int

// The rules for null.
const (
	KeepNulls   Nulls = iota
	DropNulls         // from objects; a null in a list is an error
	RefuseNulls       // any null is an error
)

// Plain makes a value that JSON was decoded to, with [json.Decoder.UseNumber], one of string, bool, int64 for whole
// numbers, float64 for others, []any and map[string]any. It changes the value in place. A number out of bounds is an
// error.
func Plain(value any, nulls Nulls) (any, error) {
	return plain(value, nulls, numberOf)
}

// PlainNumbers is [Plain] for what slipway itself wrote: nulls stay, and a number out of bounds becomes its text, which
// nothing accepts as a number.
func PlainNumbers(value any) any {
	value, _ = plain(value, KeepNulls, func(n json.Number) (any, error) { // has no error
		if number, err := numberOf(n); err == nil {
			return number, nil
		}
		return n.String(), nil
	})
	return value
}

// PlainNumbersIn is [PlainNumbers] for all values of the type any in what a pointer points to, decoded from JSON with
// numbers as json.Number.
func PlainNumbersIn(pointer any) { plainNumbersIn(reflect.ValueOf(pointer)) }

func plainNumbersIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			v.Set(reflect.ValueOf(PlainNumbers(v.Interface())))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			switch value := v.MapIndex(key); value.Kind() {
			case reflect.Interface:
				if !value.IsNil() {
					v.SetMapIndex(key, reflect.ValueOf(PlainNumbers(value.Interface())))
				}
			case reflect.Map, reflect.Pointer, reflect.Slice:
				plainNumbersIn(value)
			case reflect.Struct, reflect.Array:
				changed := reflect.New(value.Type()).Elem()
				changed.Set(value)
				plainNumbersIn(changed)
				v.SetMapIndex(key, changed)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			plainNumbersIn(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			plainNumbersIn(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				plainNumbersIn(v.Field(i))
			}
		}
	}
}

func plain(value any, nulls Nulls, number func(json.Number) (any, error)) (any, error) {
	var err error
	switch v := value.(type) {
	case nil:
		if nulls != KeepNulls {
			return nil, errors.New("is null; it must be left out instead")
		}
	case json.Number:
		return number(v)
	case []any:
		for i := range v {
			if v[i], err = plain(v[i], nulls, number); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k] == nil && nulls == DropNulls {
				delete(v, k)
			} else if v[k], err = plain(v[k], nulls, number); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// Decode reads JSON that another process of slipway wrote. Numbers in values of the type any get their one form. A
// field that into does not have is an error that names it: left out, what a newer version asks for would not be done.
func Decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return fmt.Errorf("unknown field %s", field)
		}
		return err
	}
	PlainNumbersIn(into)
	return nil
}
