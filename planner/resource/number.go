package resource

import (
	"encoding/json"
	"errors"
	"math"
)

// PlainNumber returns a number of a JSON document as Go has it: an int64 when it is whole and written so, else a
// float64. A number out of bounds is an error.
func PlainNumber(n json.Number) (any, error) {
	if whole, err := n.Int64(); err == nil {
		return whole, nil
	}
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		return nil, errors.New("is a number out of bounds")
	}
	return f, nil
}

// PlainNumbers replaces each json.Number in a decoded value, in place, see [PlainNumber]. One out of bounds becomes its
// text, which nothing accepts as a number.
func PlainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		n, err := PlainNumber(v)
		if err != nil {
			return v.String()
		}
		return n
	case []any:
		for i := range v {
			v[i] = PlainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = PlainNumbers(v[k])
		}
	}
	return value
}
