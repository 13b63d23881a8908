package edit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// ParseEdits reads edits as they stand in a document or a request (lsm.md 4): a list of objects with edit_id, operation, target and value.
func ParseEdits(value any) ([]Edit, []catalog.Mistake) {
	list, ok := value.([]any)
	if !ok {
		return nil, []catalog.Mistake{{Path: "edits", Code: catalog.BadEdit, Message: "is no list of edits"}}
	}
	var mistakes []catalog.Mistake
	edits := make([]Edit, len(list))
	for i, element := range list {
		at := fmt.Sprintf("edits[%d]", i)
		report := func(path, format string, args ...any) {
			mistakes = append(mistakes, catalog.Mistake{Path: path, Code: catalog.BadEdit, Message: fmt.Sprintf(format, args...)})
		}
		object, ok := element.(map[string]any)
		if !ok {
			report(at, "is %s; an edit is an object with edit_id, operation, target and value", kind(element))
			continue
		}
		edits[i] = readEdit(object, func(key, format string, args ...any) { report(at+"."+key, format, args...) })
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return edits, nil
}

// editKeys are the keys of an edit.
var editKeys = []string{"edit_id", "operation", "target", "value"}

func readEdit(object map[string]any, report func(key, format string, args ...any)) Edit {
	var e Edit
	for i, into := range []*string{&e.ID, &e.Operation, &e.Target} {
		key := editKeys[i]
		value, given := object[key]
		text, ok := value.(string)
		switch {
		case given && !ok:
			report(key, "is no text")
		case !given && key != "edit_id":
			report(key, "is needed")
		}
		*into = text
	}
	value, given := object["value"]
	if !given && e.Operation != Remove {
		report("value", "is needed for the operation %s; null is a value too", e.Operation)
	}
	e.Value = value
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if slices.Contains(editKeys, key) {
			continue
		}
		hint := "use " + strings.Join(editKeys, ", ")
		if near := resource.Nearest(key, editKeys); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		report(key, "an edit has no such key; %s", hint)
	}
	return e
}
