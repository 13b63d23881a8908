package ledger

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// A directory that slipway made is undone after what is below it, an area for swapping included. That has any title,
// and a device that need not be a path.
func TestUndoOrder(t *testing.T) {
	for name, test := range map[string]struct {
		before string
		want   []resource.ID
	}{
		"a file":      {`{"swap": "/srv/disk/area"}`, []resource.ID{"mount[extra swap]", "file[/srv/disk]"}},
		"a label":     {`{"swap": "LABEL=swap"}`, []resource.ID{"file[/srv/disk]", "mount[extra swap]"}},
		"not a mount": {`{}`, []resource.ID{"file[/srv/disk]", "mount[extra swap]"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []resource.ID
			for _, e := range UndoOrder([]*Entry{
				{ID: "mount[extra swap]", Type: "mount", Title: "extra swap", Before: json.RawMessage(test.before)},
				{ID: "file[/srv/disk]", Type: "file", Title: "/srv/disk",
					Before: json.RawMessage(`{"path": "/srv/disk", "kind": "absent"}`)},
			}) {
				got = append(got, e.ID)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
