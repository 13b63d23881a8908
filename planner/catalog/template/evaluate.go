package template

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Result is what a template gives.
type Result struct {
	// Value is a string, or of any kind where the template is one expression and nothing else ("${self.servers}"):
	// string, bool, int64, float64, []any, map[string]any, or nil for null. It is nil when it is not known.
	Value     any
	Unknown   bool     // some of it is not known yet: evaluate again when it is
	Awaits    []string // attributes that it waits for: `self.vni`, sorted
	Sensitive bool     // made from a sensitive attribute, in whole or in part
}

// Evaluate gives the result of a template. The error is of type [invalid.Errors]; its texts do not repeat sensitive
// values.
func (t *Template) Evaluate(s Scope) (Result, error) {
	left := MaxResult
	return t.within(s, &left)
}

// within evaluates a template of a tree; left is what the result of the tree may still have.
func (t *Template) within(s Scope, left *int) (Result, error) {
	if t.expression == nil {
		if *left -= 1 + len(t.text); *left < 0 {
			return Result{}, invalid.Errors{{Message: errTooLarge.Error()}}
		}
		return Result{Value: t.text}, nil
	}
	value, err := t.evaluate(s)
	if err != nil {
		return Result{}, err
	}
	return t.awaiting(value, s, left)
}

// awaiting takes a value apart. Where try and can hid which attributes one waits for that is not known, all count that
// the template reads and that are not known, and whether they are sensitive.
func (t *Template) awaiting(value cty.Value, s Scope, left *int) (Result, error) {
	out, err := result(value, left)
	if err != nil {
		return Result{}, invalid.Errors{{Message: err.Error()}}
	}
	if !out.Unknown || len(out.Awaits) > 0 {
		return out, nil
	}
	for _, read := range t.reads {
		for v := read; len(v) > 0; v = v[:len(v)-1] { // as far as it leads anywhere
			if value, diagnostics := v.TraverseAbs(&hcl.EvalContext{Variables: s.variables}); !diagnostics.HasErrors() {
				_, marks := value.UnmarkDeepWithPaths()
				secret, awaits := marksOf(marks)
				out.Sensitive = out.Sensitive || secret
				out.Awaits = append(out.Awaits, awaits...)
				break
			}
		}
	}
	slices.Sort(out.Awaits)
	out.Awaits = slices.Compact(out.Awaits)
	return out, nil
}

// EvaluateText is Evaluate where a text is wanted: a number, true and false count as theirs. Its value is a string.
func (t *Template) EvaluateText(s Scope) (Result, error) { return t.as(s, cty.String, "text") }

// EvaluateBool is Evaluate where true or false is wanted, also as text. Its value is a bool.
func (t *Template) EvaluateBool(s Scope) (Result, error) { return t.as(s, cty.Bool, "true or false") }

func (t *Template) as(s Scope, want cty.Type, name string) (Result, error) {
	value, err := t.evaluate(s)
	if err != nil {
		return Result{}, err
	}
	converted, err := convertTo(value, want, name)
	if err != nil {
		return Result{}, err
	}
	left := MaxResult
	return t.awaiting(converted, s, &left)
}

// convertTo turns a value into a simple type. Null is an error.
func convertTo(value cty.Value, want cty.Type, name string) (cty.Value, error) {
	if value.IsNull() {
		return cty.NilVal, invalid.Errors{{Message: "gives null, not " + name}}
	}
	if size(value, false, MaxResult) > MaxResult { // a number may have more digits than there is room for
		return cty.NilVal, invalid.Errors{{Message: errTooLarge.Error()}}
	}
	converted, err := convert.Convert(value, want)
	if err != nil {
		return cty.NilVal, invalid.Errors{{Message: fmt.Sprintf("gives %s, not %s", value.Type().FriendlyName(), name)}}
	}
	return converted, nil
}

// result takes a value apart.
func result(value cty.Value, left *int) (Result, error) {
	// Walking takes as long as the value is large, which a few shared parts can make enormous.
	if size(value, true, MaxResult) > MaxResult {
		return Result{}, errTooLarge
	}
	value, marks := value.UnmarkDeepWithPaths()
	var out Result
	out.Sensitive, out.Awaits = marksOf(marks)
	if !value.IsWhollyKnown() {
		out.Unknown = true
		return out, nil
	}
	out.Awaits = nil // what was not needed in the end
	var err error
	out.Value, err = toGo(value, left)
	return out, err
}

// evaluate gives the value with its marks.
func (t *Template) evaluate(s Scope) (value cty.Value, err error) {
	if t.expression == nil {
		return cty.StringVal(t.text), nil
	}
	// The evaluator panics where a value breaks one of its rules, which must not take a plan down with it.
	defer func() {
		if broken := recover(); broken != nil {
			value, err = cty.NilVal, invalid.Errors{
				{Message: "the template cannot be evaluated: a value in it has no meaning to the functions or operators that take it"}}
		}
	}()
	work := &meter{left: maxWork}
	scope := s.with(meterName, cty.CapsuleVal(meterType, work))
	value, diagnostics := t.expression.Value(&hcl.EvalContext{Variables: scope.variables, Functions: functions})
	if work.over != nil && !diagnostics.HasErrors() {
		diagnostics = hcl.Diagnostics{work.over} // try and can took the error away, and all after it has no value
	}
	if diagnostics.HasErrors() {
		return cty.NilVal, t.errs(diagnostics, s)
	}
	return value, nil
}

// errors turns what went wrong into errors. Where a sensitive value takes part, only the kind of error is shown.
func (t *Template) errs(diagnostics hcl.Diagnostics, s Scope) invalid.Errors {
	shown := make(hcl.Diagnostics, 0, len(diagnostics))
	whole := &hcl.EvalContext{Variables: s.variables}
	all := secret(t.reads, whole)
	for _, d := range diagnostics {
		hidden := all
		// In a loop, the elements of a sensitive list are variables that do not say so: there the whole template
		// counts.
		if d.Expression != nil && d.EvalContext != nil && d.EvalContext.Parent() == nil {
			hidden = secret(variables(d.Expression), d.EvalContext)
		}
		if hidden && d.Summary != tooMuch {
			d = &hcl.Diagnostic{Severity: d.Severity, Subject: d.Subject,
				Detail: d.Summary + "; the error is not shown in full because a sensitive value takes part"}
		} else {
			d = withNearestKey(d)
		}
		shown = append(shown, d)
	}
	return errorsOf(t.text, shown)
}

// withNearestKey adds to the error of a key that a map does not have which one may be meant.
func withNearestKey(d *hcl.Diagnostic) *hcl.Diagnostic {
	e, ok := d.Expression.(*hclsyntax.ScopeTraversalExpr)
	if !ok || d.EvalContext == nil {
		return d
	}
	for i := 1; i < len(e.Traversal); i++ {
		of, diagnostics := e.Traversal[:i].TraverseAbs(d.EvalContext)
		key, is := e.Traversal[i].(hcl.TraverseAttr)
		if is && !diagnostics.HasErrors() && of.Type().IsObjectType() && !of.Type().HasAttribute(key.Name) {
			near := *d
			near.Detail = fmt.Sprintf("there is no %q here", key.Name) +
				resource.Choices(key.Name, slices.Sorted(maps.Keys(of.Type().AttributeTypes())))
			return &near
		}
		if !is || diagnostics.HasErrors() || !of.Type().IsMapType() || of.IsMarked() || !of.IsKnown() || of.IsNull() ||
			of.HasIndex(cty.StringVal(key.Name)).True() {
			continue
		}
		near := *d
		near.Detail = fmt.Sprintf("the map has no key %q (lookup(map, %q, \"default\") reads one that may be missing)",
			key.Name, key.Name) + resource.Choices(key.Name, slices.Sorted(maps.Keys(of.AsValueMap())))
		return &near
	}
	return d
}

// variables are those of an expression, also directly below what hides them from [hcl.Expression.Variables].
func variables(e hcl.Expression) []hcl.Traversal {
	out := e.Variables()
	if e, ok := e.(hclsyntax.Expression); ok {
		_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics { // has no diagnostics
			if at, ok := hiddenBy(n).(hclsyntax.Expression); ok && at != n {
				out = append(out, at.Variables()...)
			}
			return nil
		})
	}
	return out
}

// secret reports whether one of the variables is sensitive.
func secret(reads []hcl.Traversal, ctx *hcl.EvalContext) bool {
	return slices.ContainsFunc(reads, func(v hcl.Traversal) bool {
		for ; len(v) > 0; v = v[:len(v)-1] { // as far as it leads anywhere
			if value, diagnostics := v.TraverseAbs(ctx); !diagnostics.HasErrors() {
				_, marks := value.UnmarkDeepWithPaths()
				is, _ := marksOf(marks)
				return is
			}
		}
		return false
	})
}

// Element is one element that a template for many tasks gives.
type Element struct {
	Key string // of a map; the index of a list, from 0
	key cty.Value
	val cty.Value
}

// Bind adds `each` to a scope.
func (e Element) Bind(s Scope) Scope { return s.withEach(e.key, e.val) }

// EachOf gives the elements of a list, or those of a map by key. Result says whether they are known; its value is not
// set. The error is of type [invalid.Errors].
func EachOf(v *Tree, s Scope) ([]Element, Result, error) {
	value, err := v.evaluate(s)
	if err != nil {
		return nil, Result{}, err
	}
	return elements(value)
}

func elements(value cty.Value) ([]Element, Result, error) {
	if size(value, true, MaxResult) > MaxResult {
		return nil, Result{}, invalid.Errors{{Message: errTooLarge.Error()}}
	}
	var r Result
	_, marks := value.UnmarkDeepWithPaths()
	_, r.Awaits = marksOf(marks)
	value, outer := value.Unmark()
	_, r.Sensitive = outer[sensitive]
	switch {
	case !value.IsKnown():
		r.Unknown = true
		return nil, r, nil
	case value.IsNull():
		return nil, r, invalid.Errors{{Message: "gives null; give a list or a map, which may be empty"}}
	case !value.CanIterateElements():
		return nil, r, invalid.Errors{{Message: fmt.Sprintf("gives %s; give a list or a map", value.Type().FriendlyName())}}
	}
	var out []Element
	for it := value.ElementIterator(); it.Next(); {
		k, v := it.Element()
		if t := value.Type(); t.IsSetType() {
			k = v
		}
		text, err := convert.Convert(k, cty.String)
		if err != nil || !text.IsKnown() || text.IsNull() || text.IsMarked() {
			return nil, r, invalid.Errors{{Message: "has a key that is no text; give a list or a map"}}
		}
		out = append(out, Element{text.AsString(), k, v})
	}
	r.Awaits = nil
	return out, r, nil
}
