package controller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// deepest bounds the nesting of values.
const deepest = 100

// decode decodes JSON into the types of values that callbacks return. It drops null members of objects and refuses null
// items of lists, because values are never null.
func decode(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		// A syntax error quotes one character and no more.
		return nil, fmt.Errorf("at byte %d: %w", decoder.InputOffset(), err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows its end")
	}
	return plain(value, 0)
}

func plain(value any, depth int) (any, error) {
	if depth > deepest {
		return nil, fmt.Errorf("values are more than %d levels deep", deepest)
	}
	switch v := value.(type) {
	case json.Number:
		n, err := resource.PlainNumber(v)
		if err != nil {
			return nil, errors.New("a number is too large")
		}
		return n, nil
	case []any:
		for i, e := range v {
			p, err := plain(e, depth+1)
			if err != nil {
				return nil, err
			}
			if p == nil {
				return nil, errors.New("an item of a list is null")
			}
			v[i] = p
		}
	case map[string]any:
		for k, e := range v {
			p, err := plain(e, depth+1)
			if err != nil {
				return nil, err
			}
			if v[k] = p; p == nil {
				delete(v, k)
			}
		}
	}
	return value, nil
}
