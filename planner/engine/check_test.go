package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/transport"
)

// A value that is not there is called empty.
func TestChangeOfEmptyValues(t *testing.T) {
	item := rollout.DriftItem{Differences: []types.Difference{{Parameter: "groups", Should: "adm"}, {Parameter: "comment", Is: "x"}, {Parameter: "mode", Is: "0600", Should: "0644"}}}
	if got, want := change(item), "groups is empty, should be adm; comment is x, should be empty; mode is 0600, should be 0644"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The same error on many nodes is said once, with their number and the first names.
func TestReasonsSaySameErrorOnce(t *testing.T) {
	of := map[string]error{"other": errors.New("no space left"), "lonely": &transport.Error{Node: "lonely", Message: "the host key changed"}}
	for i := range 100 {
		name := fmt.Sprintf("n%03d", i)
		of[name] = &transport.Error{Node: name, Message: "no key was accepted"}
	}
	want := "lonely: node \"lonely\": the host key changed\n100 nodes (n000, n001, n002, n003, n004 and 95 more): no key was accepted\nother: no space left\n"
	if got := Reasons(of); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
