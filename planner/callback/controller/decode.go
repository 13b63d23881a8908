package controller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

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

// visible leaves out of the texts of a value what acts on terminals.
func visible(value any) any {
	switch v := value.(type) {
	case string:
		return resource.Visible(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = visible(e)
		}
		return out
	case map[string]any:
		return visibleMembers(v)
	}
	return value
}

// visibleMembers does so with the members of an object, and their names. A name that needs nothing left out keeps its
// value where another one becomes the same.
func visibleMembers(members map[string]any) map[string]any {
	if members == nil {
		return nil
	}
	out := make(map[string]any, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		shown := resource.Visible(name)
		if _, taken := members[shown]; shown == name || !taken {
			out[shown] = visible(members[name])
		}
	}
	return out
}
