package catalog

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Rule is a rule for values, by its name in the table of rules.
type Rule struct {
	Name     string `json:"rule"`
	Argument any    `json:"argument"` // string, bool, int64, float64 or a list of them
}

// rule declares a rule. Its messages start with what is right ("must be ...") and never contain the checked value.
type rule struct {
	name     string
	kinds    []Kind                           // kinds of values that it is for
	list     bool                             // it is about a list as a whole, not its elements
	form     string                           // what the argument is, for people
	argument func(any) bool                   // whether an argument is usable
	check    func(argument, value any) string // what is wrong, empty when nothing is
}

var (
	numeric = []Kind{Int, Float, Number}
	textual = []Kind{String}
	simple  = []Kind{String, Int, Float, Number, Bool}
)

// rules is the table of rules (lsm.md 2). To add one, add its line here.
var rules = []rule{
	{"ge", numeric, false, "a number", isNumber, bound("at least", func(c int) bool { return c >= 0 })},
	{"gt", numeric, false, "a number", isNumber, bound("more than", func(c int) bool { return c > 0 })},
	{"le", numeric, false, "a number", isNumber, bound("at most", func(c int) bool { return c <= 0 })},
	{"lt", numeric, false, "a number", isNumber, bound("less than", func(c int) bool { return c < 0 })},
	{"multiple_of", numeric, false, "a number above 0",
		func(a any) bool { return isNumber(a) && rational(a).Sign() > 0 }, checkMultiple},
	{"max_digits", numeric, false, "a whole number, 0 or more", isCount, checked(checkDigits)},
	{"decimal_places", numeric, false, "a whole number, 0 or more", isCount, checked(checkPlaces)},
	{"min_length", textual, false, "a whole number, 0 or more", isCount, checked(func(least int64, v string) string {
		return when(int64(utf8.RuneCountInString(v)) < least, "must have at least %d characters", least)
	})},
	{"max_length", textual, false, "a whole number, 0 or more", isCount, checked(func(most int64, v string) string {
		return when(int64(utf8.RuneCountInString(v)) > most, "must have at most %d characters", most)
	})},
	{"regex", textual, false, expressionForm, isExpression, checked(checkRegex)},
	{"pattern", textual, false, expressionForm, isExpression, checked(checkPattern)},
	{"format", textual, false, "the name of a format", isFormat, checked(checkFormat)},
	{"enum", simple, false, "a list of values", isValues, checked(func(values []any, v any) string {
		return when(!slices.ContainsFunc(values, func(e any) bool { return same(e, v) }), "must be one of %s",
			listed(values))
	})},
	{"min_items", nil, true, "a whole number, 0 or more", isCount, checked(func(least int64, list []any) string {
		return when(int64(len(list)) < least, "must have at least %d elements", least)
	})},
	{"max_items", nil, true, "a whole number, 0 or more", isCount, checked(func(most int64, list []any) string {
		return when(int64(len(list)) > most, "must have at most %d elements", most)
	})},
	{"unique", nil, true, "true or false", func(a any) bool { _, ok := a.(bool); return ok }, checked(checkUnique)},
}

const expressionForm = "a regular expression in RE2 syntax, which knows no look-around and no back references, of at most 4096 bytes and 16384 instructions, where what is repeated counts as often"

// RuleNames returns the names of the rules that a type or attribute can have, in the order of the documentation.
func RuleNames() []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	return names
}

func ruleNamed(name string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

// validateRules reports rules that do not apply to the kind or have invalid arguments. Paths end in the rule's name.
func (m *errs) validateRules(path string, written []Rule, kind Kind, list bool) {
	for _, r := range written {
		at := invalid.PathTo(path, r.Name)
		definition, ok := ruleNamed(r.Name)
		switch {
		case !ok:
			m.add(at, BadValue, "%s", resource.NoSuch("rule", r.Name, RuleNames()))
		case definition.list && !list:
			m.add(at, BadValue, "is for lists; the type is not a list: write it with [] behind it, or leave %s out", r.Name)
		case !definition.list && !slices.Contains(definition.kinds, kind):
			m.add(at, BadValue, "is not for the type %s, only for %s", kind,
				strings.Join(resource.Texts(definition.kinds), ", "))
		case !definition.argument(r.Argument):
			m.add(at, BadValue, "must be %s", definition.form)
		case r.Name == "enum":
			values, _ := r.Argument.([]any) // anything else is already reported above
			for i, e := range values {
				if _, ok := kind.normal(e); !ok {
					m.add(invalid.PathAt(at, i), TypeMismatch, "is %s, but the type is %s", describe(e, false), kind)
				}
			}
		}
	}
}

func when(wrong bool, format string, args ...any) string {
	if !wrong {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// checked returns a check for an argument and a value of the given types. Values of other types break the rule; they do
// not occur, because the types are checked before.
func checked[A, V any](check func(argument A, value V) string) func(argument, value any) string {
	return func(argument, value any) string {
		a, usable := argument.(A)
		v, fits := value.(V)
		if !usable || !fits {
			return fmt.Sprintf("must be of the type %T", v)
		}
		return check(a, v)
	}
}

func isNumber(a any) bool { _, ok := Number.normal(a); return ok }

func isCount(a any) bool { n, ok := a.(int64); return ok && n >= 0 }

// decimal returns a number in its shortest decimal form, without exponent.
func decimal(v any) string {
	switch n := v.(type) {
	case int64:
		return strconv.FormatInt(n, 10)
	case float64:
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return ""
}

// rational returns the exact decimal number: 0.1 is one tenth.
func rational(v any) *big.Rat {
	r, ok := new(big.Rat).SetString(decimal(v))
	if !ok {
		return new(big.Rat)
	}
	return r
}

func bound(words string, fine func(int) bool) func(argument, value any) string {
	return func(a, v any) string {
		return when(!fine(rational(v).Cmp(rational(a))), "must be %s %s", words, decimal(a))
	}
}

func checkMultiple(a, v any) string {
	return when(!new(big.Rat).Quo(rational(v), rational(a)).IsInt(), "must be a multiple of %s", decimal(a))
}

func checkDigits(most int64, v any) string {
	whole, places, _ := strings.Cut(strings.TrimPrefix(decimal(v), "-"), ".")
	digits := len(strings.TrimLeft(whole, "0")) + len(places)
	return when(int64(digits) > most, "must have at most %d digits", most)
}

func checkPlaces(most int64, v any) string {
	_, places, _ := strings.Cut(decimal(v), ".")
	return when(int64(len(places)) > most, "must have at most %d decimal places", most)
}

// expressionLimit bounds a regular expression, in bytes.
const expressionLimit = 4096

func isExpression(a any) bool {
	s, ok := a.(string)
	if !ok || len(s) > expressionLimit {
		return false
	}
	if _, err := CompilePattern(s); err != nil {
		return false
	}
	_, err := anchored(s)
	return err == nil
}

// anchored compiles an expression that matches only at the start of a value.
func anchored(text string) (*Pattern, error) { return CompilePattern(`\A(?:` + text + `)`) }

// matches returns the error of a value that does not match.
func matches(p *Pattern, v, format, text string) string {
	found, err := p.Match(v)
	if err != nil {
		return fmt.Sprintf("is too long to be compared with %s", text)
	}
	return when(!found, format, text)
}

// checkRegex is Python's re.match: the expression is anchored at the start of the value only (lsm.md 2).
func checkRegex(text, v string) string {
	p, err := anchored(text)
	if err != nil {
		return err.Error()
	}
	return matches(p, v, "its beginning must match %s", text)
}

// checkPattern is pydantic's pattern: the expression may match anywhere in the value.
func checkPattern(text, v string) string {
	p, err := CompilePattern(text)
	if err != nil {
		return err.Error()
	}
	return matches(p, v, "must match %s", text)
}

func isValues(a any) bool {
	list, ok := a.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(e any) bool {
		switch e.(type) {
		case string, bool, int64, float64:
			return false
		}
		return true
	})
}

func listed(values []any) string {
	const most = 20
	texts := make([]string, 0, most+1)
	for i, v := range values {
		if i == most {
			texts = append(texts, "...")
			break
		}
		texts = append(texts, fmt.Sprint(v))
	}
	return strings.Join(texts, ", ")
}

// same compares two simple values; 1 and 1.0 are the same number.
func same(a, b any) bool {
	if isNumber(a) && isNumber(b) {
		return rational(a).Cmp(rational(b)) == 0
	}
	switch a.(type) {
	case string, bool:
		return a == b
	}
	return false
}

func checkUnique(wanted bool, list []any) string {
	if !wanted {
		return ""
	}
	seen := make(map[string]int, len(list))
	for i, e := range list {
		key := resource.Canonical(e)
		if first, ok := seen[key]; ok {
			return fmt.Sprintf("must have no element twice; elements %d and %d are the same", first, i)
		}
		seen[key] = i
	}
	return ""
}
