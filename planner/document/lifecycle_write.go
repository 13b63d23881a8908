package document

import (
	"bytes"
	"reflect"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// WriteLifecycle encodes a lifecycle as a document that [ParseLifecycles] reads. The caller chooses the name; reading
// refuses the name of a shipped lifecycle.
func WriteLifecycle(l lifecycle.Lifecycle) ([]byte, error) {
	w := lifecycleWriter{}
	root := w.mapping(lifecyclesKey, w.mapping(l.Name, w.object(l)))
	if w.err != nil {
		return nil, w.err
	}
	return Encode(root)
}

// Encode returns a document with two blanks for each level.
func Encode(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// lifecycleWriter makes the nodes of a document and keeps the first error.
type lifecycleWriter struct{ err error }

// mapping returns a mapping with one key.
func (w *lifecycleWriter) mapping(name string, value *yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{w.value(name), value}}
}

// value returns the node of a value; lists are on one line.
func (w *lifecycleWriter) value(v any) *yaml.Node {
	out := new(yaml.Node)
	if err := out.Encode(v); err != nil && w.err == nil {
		w.err = err
	}
	if out.Kind == yaml.SequenceNode {
		out.Style = yaml.FlowStyle
	}
	return out
}

// object returns the node of a struct with the keys that [reader.keys] reads, without what counts anyway.
func (w *lifecycleWriter) object(v any) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	fields := reflect.ValueOf(v)
	for i := range fields.NumField() {
		name, o, ok := keyOf(fields.Type().Field(i))
		if !ok || fields.Field(i).IsZero() && !o.has("required") && name != "label" {
			continue
		}
		value := &yaml.Node{}
		switch v := fields.Field(i).Interface().(type) {
		case []lifecycle.State:
			value.Kind = yaml.MappingNode
			for _, s := range v {
				value.Content = append(value.Content, w.mapping(s.Name, w.line(s)).Content...)
			}
		case []lifecycle.Transfer:
			value.Kind = yaml.SequenceNode
			for _, t := range v {
				value.Content = append(value.Content, w.line(t))
			}
		case lifecycle.Label:
			if v == lifecycle.Info {
				continue
			}
			if value = w.value(v); v == "" {
				value = w.value(nil)
			}
		default:
			value = w.value(v)
		}
		out.Content = append(out.Content, w.mapping(name, value).Content...)
	}
	return out
}

// line is object on one line.
func (w *lifecycleWriter) line(v any) *yaml.Node {
	out := w.object(v)
	out.Style = yaml.FlowStyle
	return out
}
