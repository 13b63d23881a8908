package item

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/pattern"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// valueValidators is the table of kinds of [Validator]. mistake tells what is wrong with a validator itself, check what is wrong with a
// value; both are empty when nothing is.
var valueValidators = map[string]struct {
	mistake func(v Validator) string
	check   func(v Validator, value string) string
}{
	"one_of":   {needsValues, oneOf},    // Values
	"none_of":  {needsValues, noneOf},   // Values
	"integer":  {inOrder, integer},      // Min, Max: bounds, both included
	"length":   {lengthBounds, inRange}, // Min, Max: bounds of the number of characters
	"address":  {nothing, address},      // an IPv4 or IPv6 address
	"network":  {nothing, network},      // an address with the length of its prefix
	"no_digit": {nothing, notDigits},    // not a number only
}

func needsValues(v Validator) string {
	if len(v.Values) == 0 {
		return "needs values"
	}
	return ""
}

func inOrder(v Validator) string {
	if v.Min != nil && v.Max != nil && *v.Min > *v.Max {
		return fmt.Sprintf("min %d is greater than max %d", *v.Min, *v.Max)
	}
	return ""
}

func lengthBounds(v Validator) string {
	if v.Min == nil && v.Max == nil {
		return "needs min or max"
	}
	return inOrder(v)
}

func nothing(Validator) string { return "" }

func oneOf(v Validator, value string) string {
	if slices.Contains(v.Values, value) {
		return ""
	}
	return fmt.Sprintf("is none of %s%s", strings.Join(v.Values, ", "), meant(resource.Nearest(value, v.Values)))
}

func noneOf(v Validator, value string) string {
	if slices.Contains(v.Values, value) {
		return "is reserved; choose another value"
	}
	return ""
}

func integer(v Validator, value string) string {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return "is no whole number"
	case v.Min != nil && n < *v.Min:
		return fmt.Sprintf("is less than %d", *v.Min)
	case v.Max != nil && n > *v.Max:
		return fmt.Sprintf("is more than %d", *v.Max)
	}
	return ""
}

func inRange(v Validator, value string) string {
	n := int64(len([]rune(value)))
	switch {
	case v.Min != nil && n < *v.Min:
		return fmt.Sprintf("has %d characters; at least %d are needed", n, *v.Min)
	case v.Max != nil && n > *v.Max:
		return fmt.Sprintf("has %d characters; at most %d are allowed", n, *v.Max)
	}
	return ""
}

func address(_ Validator, value string) string {
	if _, err := netip.ParseAddr(value); err != nil {
		return "is no IP address"
	}
	return ""
}

func network(_ Validator, value string) string {
	if _, err := netip.ParsePrefix(value); err != nil {
		return `is no network; write it as "192.0.2.0/24"`
	}
	return ""
}

func notDigits(_ Validator, value string) string {
	if value != "" && strings.Trim(value, "0123456789") == "" {
		return "has digits only; use at least one other character"
	}
	return ""
}

// itemValidators is the table of kinds of [ItemValidator]. check gets the values of those of its properties that are set, in the order of
// the validator, and tells what is wrong, or nothing.
var itemValidators = map[string]func(v ItemValidator, set []string, values map[string]string) string{
	"exactly_one": func(v ItemValidator, set []string, _ map[string]string) string {
		return wrong(len(set) != 1, "set exactly one of %s; %d are set", strings.Join(v.Properties, ", "), len(set))
	},
	"at_least_one": func(v ItemValidator, set []string, _ map[string]string) string {
		return wrong(len(set) == 0, "set at least one of %s", strings.Join(v.Properties, ", "))
	},
	"at_most_one": func(_ ItemValidator, set []string, _ map[string]string) string {
		return wrong(len(set) > 1, "%s exclude each other; set one of them", strings.Join(set, " and "))
	},
	"together": func(v ItemValidator, set []string, _ map[string]string) string {
		return wrong(len(set) > 0 && len(set) < len(v.Properties), "set all of %s, or none; only %s is set",
			strings.Join(v.Properties, ", "), strings.Join(set, ", "))
	},
	"different": func(_ ItemValidator, set []string, values map[string]string) string {
		for i, name := range set {
			for _, other := range set[:i] {
				if values[name] == values[other] {
					return fmt.Sprintf("%s and %s have the same value; use different ones", other, name)
				}
			}
		}
		return ""
	},
	"ascending": func(_ ItemValidator, set []string, values map[string]string) string {
		for i := 1; i < len(set); i++ {
			a, errA := strconv.ParseInt(values[set[i-1]], 10, 64)
			b, errB := strconv.ParseInt(values[set[i]], 10, 64)
			if errA == nil && errB == nil && a > b {
				return fmt.Sprintf("%s is greater than %s", set[i-1], set[i])
			}
		}
		return ""
	},
}

func wrong(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// values is a property type ready for use.
type values struct {
	PropertyType
	pattern *pattern.Pattern // nil: anything
}

// mistake tells what is wrong with a value, empty when nothing is. It never repeats the value, which may be a secret.
func (t *values) mistake(value string) string {
	if t.pattern != nil {
		switch found, err := t.pattern.Match(value); {
		case err != nil:
			return fmt.Sprintf("is too long for the pattern %s of property type %q", t.Pattern, t.ID)
		case !found:
			return fmt.Sprintf("does not match the pattern %s of property type %q", t.Pattern, t.ID)
		}
	}
	for _, v := range t.Validators {
		if m := valueValidators[v.Kind].check(v, value); m != "" {
			return m
		}
	}
	return ""
}

// whole compiles a pattern that the whole value must match.
func whole(text string) (*pattern.Pattern, error) { return pattern.Compile(`^(?:` + text + `)$`) }
