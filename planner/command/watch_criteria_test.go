package command

import (
	"reflect"
	"strings"
	"testing"
)

// TestEveryCriterionIsShown: `watch` shows each success criterion of a group that the outline of its run has.
func TestEveryCriterionIsShown(t *testing.T) {
	var g watchedGroup
	number, n := 77, 0
	for _, field := range reflect.VisibleFields(reflect.TypeFor[watchedGroup]()) {
		if field.Type != reflect.TypeFor[*int]() {
			continue
		}
		n++
		reflect.ValueOf(&g).Elem().FieldByIndex(field.Index).Set(reflect.ValueOf(&number))
		if got := strings.Count(g.criteria(), "77"); got != n {
			t.Errorf("with %s, watch shows %q", field.Name, g.criteria())
		}
	}
	if n == 0 {
		t.Error("the outline has no criteria")
	}
}
