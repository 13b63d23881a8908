package template

import (
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// timeCmpFunction compares two points in time: -1, 0 or 1.
var timeCmpFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "timestamp_a", Type: cty.String}, {Name: "timestamp_b", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var at [2]time.Time
		for i, a := range args {
			var err error
			if at[i], err = time.Parse(time.RFC3339, a.AsString()); err != nil {
				return cty.NilVal, function.NewArgErrorf(i,
					"must be a time as in RFC 3339, such as 2026-01-31T08:00:00Z")
			}
		}
		return cty.NumberIntVal(int64(at[0].Compare(at[1]))), nil
	},
})
