package template

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// bounded makes a function refuse arguments whose result, or work, would be out of all proportion to them. The bound
// sees known arguments without marks, and null where one is not known.
func bounded(f function.Function, bound func(args []cty.Value) error) function.Function {
	look := func(args []cty.Value) error {
		plain := make([]cty.Value, len(args))
		for i, a := range args {
			a, _ = a.UnmarkDeep()
			if !a.IsWhollyKnown() {
				a = cty.NullVal(cty.DynamicPseudoType)
			}
			plain[i] = a
		}
		return bound(plain)
	}
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		VarParam:    f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := look(args); err != nil { // some functions compute their result already to know its type
				return cty.DynamicPseudoType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if err := look(args); err != nil {
				return cty.NilVal, err
			}
			return f.Call(args)
		},
	})
}

func isText(v cty.Value) bool { return !v.IsNull() && v.Type() == cty.String }

func tooLarge(n int) error {
	if n > MaxResult || n < 0 {
		return errTooLarge
	}
	return nil
}

// formatNumber is a width or a precision in a format.
var formatNumber = regexp.MustCompile(`[0-9]+`)

// maxWidth bounds the width and precision in a format, and the spaces of an indentation.
const maxWidth = 1000

func formatBound(args []cty.Value) error {
	if len(args) == 0 || !isText(args[0]) {
		return nil
	}
	verbs := args[0].AsString()
	for _, digits := range formatNumber.FindAllString(verbs, -1) {
		if n, err := strconv.Atoi(digits); (err != nil || n > maxWidth) && strings.Contains(verbs, "%") {
			return function.NewArgErrorf(0, "has the width, precision or number %s; %d is the most", digits, maxWidth)
		}
	}
	// One verb may name any argument, so each may come as often as there are verbs.
	longest := 0
	for _, a := range args[1:] {
		longest = max(longest, size(a, true, MaxResult))
	}
	return tooLarge(len(verbs) + strings.Count(verbs, "%")*min(longest+maxWidth, MaxResult))
}

func indentBound(args []cty.Value) error {
	if len(args) != 2 || args[0].IsNull() || !isText(args[1]) {
		return nil
	}
	n, _ := args[0].AsBigFloat().Int64()
	if n < 0 || n > maxWidth {
		return function.NewArgErrorf(0, "must be from 0 to %d", maxWidth)
	}
	text := args[1].AsString()
	return tooLarge(len(text) + int(n)*strings.Count(text, "\n"))
}

func joinBound(args []cty.Value) error {
	if len(args) == 0 || !isText(args[0]) {
		return nil
	}
	total := 0
	for _, list := range args[1:] {
		if list.IsNull() || !list.CanIterateElements() {
			continue
		}
		total += size(list, true, MaxResult) + list.LengthInt()*len(args[0].AsString())
		if err := tooLarge(total); err != nil {
			return err
		}
	}
	return nil
}

// searchBound refuses a regular expression and a text for which a search takes too much work.
func searchBound(search func(p *catalog.Pattern, text string) error) func(args []cty.Value) error {
	return func(args []cty.Value) error {
		if len(args) != 2 || !isText(args[0]) || !isText(args[1]) {
			return nil
		}
		p, err := catalog.CompilePattern(args[0].AsString())
		if err != nil {
			return function.NewArgErrorf(0, "is not a regular expression: %s", err)
		}
		if err := search(p, args[1].AsString()); err != nil {
			return function.NewArgError(1, err)
		}
		return nil
	}
}

var (
	regexBound    = searchBound(func(p *catalog.Pattern, text string) error { _, err := p.Match(text); return err })
	regexAllBound = searchBound(func(p *catalog.Pattern, text string) error { _, err := p.Matches(text); return err })
)

// maxDistinct bounds a list that is compared element by element with itself.
const maxDistinct = 1000

func distinctBound(args []cty.Value) error {
	if len(args) == 0 || args[0].IsNull() || !args[0].CanIterateElements() {
		return nil
	}
	if n := args[0].LengthInt(); n > maxDistinct {
		return function.NewArgErrorf(0, "has %d elements; %d is the most. toset does the same for any number", n,
			maxDistinct)
	}
	return nil
}

func productBound(args []cty.Value) error {
	total := 1
	for _, a := range args {
		if a.IsNull() || !a.CanIterateElements() {
			continue
		}
		total *= max(a.LengthInt(), 1)
		if err := tooLarge(total * len(args)); err != nil {
			return err
		}
	}
	return nil
}

// replace puts one text for another, or for what a regular expression between slashes matches, where `$1` is its first
// group.
func replace(text, old, with string) (string, error) {
	if n := len(old); n > 1 && old[0] == '/' && old[n-1] == '/' {
		return replaceMatches(text, old[1:n-1], with)
	}
	if err := tooLarge(len(text) + (strings.Count(text, old))*min(len(with), MaxResult)); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, old, with), nil
}

func replaceMatches(text, expression, with string) (string, error) {
	p, err := catalog.CompilePattern(expression)
	if err != nil {
		return "", function.NewArgErrorf(1, "is not a regular expression: %s", err)
	}
	matches, err := p.Matches(text)
	if err != nil {
		return "", function.NewArgError(0, err)
	}
	var out []byte
	last := 0
	for _, match := range matches {
		// Each `$` stands for one group, which is at most the whole match.
		most := len(with) + strings.Count(with, "$")*(match[1]-match[0])
		if err := tooLarge(len(out) + match[0] - last + most); err != nil {
			return "", fmt.Errorf("%w, or could be", err)
		}
		out = append(out, text[last:match[0]]...)
		out = p.ExpandString(out, with, text, match)
		last = match[1]
	}
	return string(out) + text[last:], nil
}
