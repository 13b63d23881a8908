package controller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

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
	return resource.Plain(value, resource.DropNulls)
}
