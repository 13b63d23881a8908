package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const (
	// maxShowSize bounds the JSON of a Terraform plan or state, in bytes.
	maxShowSize = 256 << 20
	// maxJSONDepth bounds the nesting of values.
	maxJSONDepth = 200
)

// jsonTree decodes JSON into YAML nodes with positions. Unlike the YAML decoder, it takes time proportional to the
// size.
type jsonTree struct {
	decoder *json.Decoder
	data    []byte

	// Lines and columns are counted up to this offset.
	offset, line, column int
}

func newJSONTree(data []byte) *jsonTree {
	t := &jsonTree{decoder: json.NewDecoder(bytes.NewReader(data)), data: data, line: 1, column: 1}
	t.decoder.UseNumber()
	return t
}

// root decodes the whole text. Of a top-level object it decodes only the keys that keep accepts. It drops null members
// of objects.
func (t *jsonTree) root(keep func(key string) bool) (*yaml.Node, error) {
	n, err := t.value(0, keep)
	if err != nil {
		return nil, err
	}
	if _, err := t.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the end of the JSON text")
	}
	return n, nil
}

// place moves the count to the start of the next token.
func (t *jsonTree) place(n *yaml.Node) {
	target := int(t.decoder.InputOffset())
	for target < len(t.data) && strings.IndexByte(" \t\r\n,:", t.data[target]) >= 0 {
		target++
	}
	for t.offset < target {
		if t.data[t.offset] == '\n' {
			t.line, t.column = t.line+1, 0
		}
		if utf8.RuneStart(t.data[t.offset]) {
			t.column++
		}
		t.offset++
	}
	n.Line, n.Column = t.line, t.column
}

func (t *jsonTree) value(depth int, keep func(string) bool) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	t.place(n)
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("values are more than %d levels deep", maxJSONDepth)
	}
	token, err := t.decoder.Token()
	if err != nil {
		return nil, complete(err)
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
			err = t.members(n, depth, keep)
		} else {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
			err = t.elements(n, depth)
		}
	case string:
		n.Tag, n.Value = "!!str", v
	case json.Number:
		n.Tag, n.Value = "!!int", v.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(v)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, err
}

func (t *jsonTree) members(n *yaml.Node, depth int, keep func(string) bool) error {
	for t.decoder.More() {
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}
		t.place(key)
		token, err := t.decoder.Token()
		if err != nil {
			return complete(err)
		}
		name, ok := token.(string)
		if !ok {
			return errors.New("a key is not text")
		}
		key.Value = name
		if keep != nil && !keep(name) {
			var passed json.RawMessage
			if err := t.decoder.Decode(&passed); err != nil {
				return complete(err)
			}
			continue
		}
		value, err := t.value(depth+1, nil)
		if err != nil {
			return err
		}
		if value.Tag != "!!null" {
			n.Content = append(n.Content, key, value)
		}
	}
	_, err := t.decoder.Token()
	return complete(err)
}

func (t *jsonTree) elements(n *yaml.Node, depth int) error {
	for t.decoder.More() {
		value, err := t.value(depth+1, nil)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, value)
	}
	_, err := t.decoder.Token()
	return complete(err)
}

// complete returns "not complete" in place of the decoder's EOF.
func complete(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text is not complete")
	}
	return err
}
