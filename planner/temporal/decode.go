package temporal

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// decode reads what another process of slipway wrote of a session. A field that this version does not know is an error,
// which names the version that wrote it where the text has one.
func decode(text []byte, into any) error {
	err := resource.Decode(text, into)
	if err == nil {
		return nil
	}
	type written struct{ Build string }
	var by struct {
		written
		Request, Result written // of a slot, and of its result
	}
	if json.Unmarshal(text, &by) != nil {
		return err
	}
	if build := cmp.Or(by.Build, by.Request.Build, by.Result.Build); build != "" {
		return fmt.Errorf("%w: slipway %s wrote it; use one version of slipway", err, resource.Text(build))
	}
	return err
}

// UnmarshalJSON reads a payload as decode does.
func (in *convergeInput) UnmarshalJSON(text []byte) error {
	type plain convergeInput // has no UnmarshalJSON
	return decode(text, (*plain)(in))
}
