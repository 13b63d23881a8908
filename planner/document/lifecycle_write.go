package document

import (
	"bytes"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// WriteLifecycle encodes a lifecycle as a document that [ParseLifecycles] reads. The caller chooses the name; reading
// refuses the name of a shipped lifecycle.
func WriteLifecycle(l lifecycle.Lifecycle) ([]byte, error) {
	w := lifecycleWriter{}
	root := w.mapping(entry{lifecyclesKey, w.mapping(entry{l.Name, w.lifecycle(l)})})
	if w.err != nil {
		return nil, w.err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// lifecycleWriter makes the nodes of a document and keeps the first error.
type lifecycleWriter struct{ err error }

// entry is a key with its value. A nil value is left out.
type entry struct {
	name  string
	value *yaml.Node
}

func (w *lifecycleWriter) mapping(entries ...entry) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, e := range entries {
		if e.value != nil {
			out.Content = append(out.Content, w.value(e.name), e.value)
		}
	}
	return out
}

// value returns the node of a value.
func (w *lifecycleWriter) value(v any) *yaml.Node {
	out := new(yaml.Node)
	if err := out.Encode(v); err != nil && w.err == nil {
		w.err = err
	}
	return out
}

// given returns the value, or nil if it is the zero value of its type.
func given[T comparable](w *lifecycleWriter, v T) *yaml.Node {
	var none T
	if v == none {
		return nil
	}
	return w.value(v)
}

func (w *lifecycleWriter) values(v map[string]any) *yaml.Node {
	if len(v) == 0 {
		return nil
	}
	return w.value(v)
}

func flow(n *yaml.Node) *yaml.Node {
	n.Style = yaml.FlowStyle
	return n
}

func (w *lifecycleWriter) lifecycle(l lifecycle.Lifecycle) *yaml.Node {
	var alternative *yaml.Node
	if len(l.AlternativeInitial) > 0 {
		alternative = flow(w.value(l.AlternativeInitial))
	}
	states := make([]entry, len(l.States))
	for i, s := range l.States {
		states[i] = entry{s.Name, w.state(s)}
	}
	transfers := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, t := range l.Transfers {
		transfers.Content = append(transfers.Content, w.transfer(t))
	}
	return w.mapping(
		entry{"description", given(w, l.Description)}, entry{"initial",
			w.value(l.Initial)}, entry{"alternative_initial", alternative},
		entry{"annotations", w.values(l.Annotations)}, entry{"states", w.mapping(states...)}, entry{"transfers",
			transfers},
	)
}

func (w *lifecycleWriter) state(s lifecycle.State) *yaml.Node {
	label := given(w, s.Label)
	switch s.Label {
	case lifecycle.Info:
		label = nil // which is what counts then
	case "":
		label = w.value(nil)
	}
	return flow(w.mapping(
		entry{"description", given(w, s.Description)}, entry{"label", label}, entry{"export", given(w, s.Export)},
		entry{"self", given(w, s.ValidateSelf)}, entry{"others", given(w, s.ValidateOthers)}, entry{"purge",
			given(w, s.Purge)},
		entry{"deleted", given(w, s.Deleted)}, entry{"previous_on_validate", given(w, s.PreviousOnValidate)},
		entry{"previous_on_export", given(w, s.PreviousOnExport)}, entry{"model_state", given(w, s.ModelState)},
		entry{"values", w.values(s.Values)}, entry{"annotations", w.values(s.Annotations)},
	))
}

func (w *lifecycleWriter) transfer(t lifecycle.Transfer) *yaml.Node {
	return flow(w.mapping(
		entry{"from", w.value(t.Source)}, entry{"to", w.value(t.Target)}, entry{"error",
			given(w, t.Error)}, entry{"trigger", w.value(t.Trigger)},
		entry{"validate", given(w, t.Validate)}, entry{"config", given(w, t.Config)}, entry{"op",
			given(w, t.Operation)},
		entry{"error_op", given(w, t.ErrorOperation)}, entry{"same", given(w, t.Preserves)}, entry{"error_same",
			given(w, t.ErrorPreserves)},
		entry{"description", given(w, t.Description)}, entry{"annotations", w.values(t.Annotations)},
	))
}
