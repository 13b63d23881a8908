package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Validation turns the validation of an attribute, as Inmanta's catalogs have it (lsm.md 2: validation_type,
// validation_parameters), into rules. The type may end in `?` or `[]`: that of the attribute counts. The error says
// the parameter, or the type, and what would be right.
func Validation(validationType string, parameters map[string]any) ([]Rule, error) {
	base, _, _ := ParseType(validationType)
	v, ok := validations()[base]
	if !ok {
		names := slices.Sorted(maps.Keys(validations()))
		return nil, fmt.Errorf("%s", resource.NoSuch("validation type", base, names))
	}
	out := slices.Clone(v.rules)
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		argument := parameters[name]
		if !slices.Contains(v.parameters, name) {
			return nil, fmt.Errorf("%s", resource.NoSuch("parameter of "+base, name, v.parameters))
		}
		switch {
		case argument == nil: // not set
		case name == "names":
			labels, ok := argument.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("names is %s, not a map of labels to values", describe(argument, false))
			}
			values := make([]any, 0, len(labels))
			for _, label := range slices.Sorted(maps.Keys(labels)) {
				values = append(values, labels[label])
			}
			out = append(out, Rule{"enum", values})
		case slices.Contains(noRule, name):
		default:
			out = append(out, Rule{name, argument})
		}
	}
	if base == "pydantic.condecimal" {
		out = append(out, wholeDigits(parameters)...)
	}
	return out, nil
}

// wholeDigits are the rules that follow from max_digits and decimal_places together: what the places may take is kept
// free, so before the point there are as many digits less.
func wholeDigits(parameters map[string]any) []Rule {
	digits, ok := parameters["max_digits"].(int64)
	places, also := parameters["decimal_places"].(int64)
	const exact = 18 // powers of ten that an int64 holds; beyond, max_digits alone counts
	if n := digits - places; ok && also && n >= 0 && n <= exact {
		limit := int64(1)
		for range n {
			limit *= 10
		}
		return []Rule{{"lt", limit}, {"gt", -limit}}
	}
	return nil
}

// noRule are parameters that limit nothing: types are always strict, a check does not shorten what it looks at, and the
// value of an enumeration is the name of its type.
var noRule = []string{"strict", "curtail_length", "value"}

// validation is what a validation type stands for.
type validation struct {
	rules      []Rule
	parameters []string // names it can have
}

func validations() map[string]validation {
	number := []string{"gt", "ge", "lt", "le", "multiple_of", "strict"}
	out := map[string]validation{
		"enum":                {parameters: []string{"names", "value"}},
		"pydantic.conint":     {parameters: number},
		"pydantic.confloat":   {parameters: number},
		"pydantic.condecimal": {parameters: append([]string{"max_digits", "decimal_places"}, number...)},
		// Types are strict as they are, and have no number that is none.
		"pydantic.StrictStr": {}, "pydantic.StrictInt": {}, "pydantic.StrictFloat": {}, "pydantic.StrictBool": {},
		"pydantic.FiniteFloat": {},
		"pydantic.constr": {parameters: []string{"regex", "pattern", "min_length", "max_length", "curtail_length",
			"strict"}},
	}
	for sign, r := range map[string]Rule{"Positive": {"gt", int64(0)}, "Negative": {"lt", int64(0)},
		"NonNegative": {"ge", int64(0)}, "NonPositive": {"le", int64(0)}} {
		for _, kind := range []string{"Int", "Float"} {
			out["pydantic."+sign+kind] = validation{rules: []Rule{r}}
		}
	}
	for _, f := range formats {
		for _, name := range strings.Fields(f.types) {
			out[name] = validation{rules: []Rule{{"format", f.name}}}
		}
	}
	return out
}
