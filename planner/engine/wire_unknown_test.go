package engine

import (
	"strings"
	"testing"
)

// A request and an outcome with a field that this version does not know are refused by name, also where their version of
// the wire is that of this slipway.
func TestUnknownFieldsOfTheWire(t *testing.T) {
	for text, into := range map[string]any{
		`{"Version":2,"Site":{"Newer":1}}`:        &request{},
		`{"Version":2,"Newer":1}`:                 &request{},
		`{"Version":2,"Status":"x","Newer":true}`: &wireOutcome{},
	} {
		if _, err := decodeWire([]byte(text), into); err == nil || !strings.Contains(err.Error(), `unknown field "Newer"`) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
