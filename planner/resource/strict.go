package resource

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// DecodeStrictly reads one JSON value without unknown fields, and nothing after it.
func DecodeStrictly(content []byte, value any) error {
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	if err := dec.Decode(value); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its end")
	}
	return nil
}
