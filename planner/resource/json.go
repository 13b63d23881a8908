package resource

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// CompactJSON returns a value as JSON on one line, in which <, > and & stand as they are.
func CompactJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

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
