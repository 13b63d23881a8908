package strategy

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Fields is the dynamic state of something as JSON, which encodes equal state equally: name -> pointer to the value, or
// what was decoded.
type Fields map[string]any

// UnmarshalJSON keeps the values undecoded, for [Fields.To].
func (f *Fields) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*f = make(Fields, len(raw))
	for name, value := range raw {
		(*f)[name] = value
	}
	return nil
}

// To sets the values of into to those that were decoded.
func (f Fields) To(into Fields) error {
	for name, value := range into {
		raw, ok := f[name].(json.RawMessage)
		if !ok {
			return fmt.Errorf("the snapshot has no %s", name)
		}
		if _, own := value.(json.Unmarshaler); !own { // else a map would keep what it has
			reflect.ValueOf(value).Elem().SetZero()
		}
		if err := json.Unmarshal(raw, value); err != nil {
			return fmt.Errorf("the snapshot: %s: %w", name, err)
		}
	}
	return nil
}

// SavedError is an error in [Fields], as its text.
type SavedError struct{ Err *error }

// MarshalJSON encodes the text, null for no error.
func (e *SavedError) MarshalJSON() ([]byte, error) {
	if *e.Err == nil {
		return []byte("null"), nil
	}
	return json.Marshal((*e.Err).Error())
}

// UnmarshalJSON sets the error to one with the text.
func (e *SavedError) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil || text == nil {
		return err
	}
	*e.Err = errors.New(*text)
	return nil
}

// State returns the dynamic state of the walk.
func (m *Machine) State() Fields {
	f := Fields{"next": &m.next, "nodes": &m.nodes, "warnings": &m.warnings, "err": &SavedError{&m.err}}
	for _, g := range m.groups {
		f["group "+g.Name] = &savedGroup{g}
	}
	return f
}

// savedGroup is a group in [Fields].
type savedGroup struct{ *group }

func (g *savedGroup) fields() Fields {
	return Fields{"stage": &g.stage, "started": &g.started, "working": &g.working, "submitted": &g.submitted,
		"shortfalls": &g.shortfalls, "failedBy": &g.failedBy, "root": &g.root}
}

// MarshalJSON encodes what changes of a group during the walk.
func (g *savedGroup) MarshalJSON() ([]byte, error) { return json.Marshal(g.fields()) }

// UnmarshalJSON is the reverse of MarshalJSON.
func (g *savedGroup) UnmarshalJSON(data []byte) error {
	var f Fields
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	return f.To(g.fields())
}
