package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteLifecycle reads back what is written: all shipped lifecycles, and one with everything that a document can
// say.
func TestWriteLifecycle(t *testing.T) {
	const full = `lifecycles:
  "on":
    description: "a: b"
    initial: up
    alternative_initial: ["no"]
    annotations: {web: {order: 1}}
    states:
      up: {description: x, label: null, export: true, self: active, others: active, previous_on_export: rollback, values: {a: [1]}, annotations: {b: c}}
      "no": {label: warning, model_state: designed, previous_on_validate: active}
      gone: {deleted: true}
    transfers:
    - {from: up, to: "no", trigger: auto, validate: true, error: gone, config: yes_please, op: promote, error_op: clear candidate, description: y}
    - {from: "no", to: up, error: "no", trigger: resource_based, same: true, error_same: true, annotations: {d: e}}
    - {from: "no", to: gone, trigger: on_delete}
`
	parsed, err := ParseLifecycles([]Source{{"l.yaml", []byte(full)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range append(ShippedLifecycles(), parsed...) {
		want := l
		want.Name = "own_" + l.Name
		text, err := WriteLifecycle(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseLifecycles([]Source{{"l.yaml", text}})
		if err != nil {
			t.Errorf("%s: %v\n%s", l.Name, err, text)
			continue
		}
		if d := cmp.Diff(want, got[0]); d != "" {
			t.Errorf("%s: %s", l.Name, d)
		}
	}
}
