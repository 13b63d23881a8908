package converge

import (
	"encoding/json"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// hold is what the ledger says of a node that is locked.
type hold struct {
	Run string `json:"run"` // the run that locked it
	// Unlock is the command that unlocks it, as that run's catalog named it: whoever unlocks the node later may have none.
	// Empty when the run had none either.
	Unlock string `json:"unlock,omitempty"`
}

// UnmarshalJSON also reads the older form, which is the run alone.
func (h *hold) UnmarshalJSON(text []byte) error {
	*h = hold{}
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &h.Run)
	}
	type plain hold // has no UnmarshalJSON
	return resource.DecodeStrictly(text, (*plain)(h))
}
