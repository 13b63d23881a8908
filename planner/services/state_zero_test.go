package services_test

import (
	"encoding/json"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/services"
)

// What a run saves of a site without services is what a refresh saves, so that Terraform finds no difference.
func TestAStateWithoutServicesIsLeftOut(t *testing.T) {
	text, err := json.Marshal(struct {
		Services services.Inventory `json:"services,omitzero"`
	}{services.Inventory{Records: map[string]services.Record{}, Former: map[string]int{}}})
	if err != nil || string(text) != "{}" {
		t.Errorf("%s, %v; want {}", text, err)
	}
}
