package template

import (
	"fmt"
	"math/big"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// maxWork bounds one evaluation, in values read and bytes built.
const maxWork = 2 << 20

// tooMuch is the summary of the diagnostic for exceeded work. It contains no value.
const tooMuch = "Too much work"

// meter counts the work of one evaluation.
type meter struct {
	left int
	over *hcl.Diagnostic // the diagnostic, once the work is exceeded
}

// spend subtracts work, and reports whether there was enough left.
func (m *meter) spend(n int) bool {
	if n > m.left || n < 0 {
		m.left = 0
		return false
	}
	m.left -= n
	return true
}

// meterName is the variable of a scope that holds the meter. No template can name it.
const meterName = "%meter"

var meterType = cty.Capsule("meter", reflect.TypeFor[meter]())

// meterOf returns the meter of an evaluation, or nil outside of one.
func meterOf(ctx *hcl.EvalContext) *meter {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[meterName]; ok {
			m, _ := v.EncapsulatedValue().(*meter)
			return m
		}
	}
	return nil
}

// limited is an expression whose work is counted. Once the work is exceeded it has no value, so that loops around it
// end.
type limited struct {
	hclsyntax.Expression
	deep bool // the whole value will be read, not only its first level
}

// Value evaluates the expression.
func (l limited) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m := meterOf(ctx)
	if m == nil {
		return l.Expression.Value(ctx)
	}
	if !m.spend(1) {
		return cty.DynamicVal, m.exhausted(l.Range())
	}
	value, diagnostics := l.Expression.Value(ctx)
	if !m.spend(size(value, l.deep, m.left)) {
		return cty.DynamicVal, append(diagnostics, m.exhausted(l.Range())...)
	}
	return value, diagnostics
}

// keyed is a collection that is indexed by a key. An element of an object does not itself carry the key's marks:
// sensitive, or not known yet.
type keyed struct {
	hclsyntax.Expression
	key hclsyntax.Expression
}

// Value evaluates the collection, and gives an object the marks of the key.
func (k keyed) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	value, diagnostics := k.Expression.Value(ctx)
	if diagnostics.HasErrors() || !value.Type().IsObjectType() {
		return value, diagnostics
	}
	if key, wrong := k.key.Value(ctx); !wrong.HasErrors() { // otherwise the index reports the error
		value = value.WithMarks(key.Marks())
	}
	return value, diagnostics
}

// hiddenBy returns the expression inside a [limited] or [keyed], which hide it from visits. It returns any other node
// unchanged.
func hiddenBy(n hclsyntax.Node) hclsyntax.Node {
	switch n := n.(type) {
	case limited:
		return hiddenBy(n.Expression)
	case keyed:
		return hiddenBy(n.Expression)
	}
	return n
}

// exhausted returns the diagnostic for exceeded work once, and nothing after that.
func (m *meter) exhausted(at hcl.Range) hcl.Diagnostics {
	var reported hcl.Diagnostics
	if m.over == nil {
		m.over = &hcl.Diagnostic{Severity: hcl.DiagError, Summary: tooMuch, Subject: &at,
			Detail: fmt.Sprintf("the template does too much: more than %d values and bytes; use fewer or smaller loops",
				maxWork)}
		reported = append(reported, m.over)
	}
	return reported
}

// size returns the work of reading a value: its bytes, elements and digits of numbers, up to most. If deep is false,
// only the elements of a list or map count.
func size(v cty.Value, deep bool, most int) int {
	v, _ = v.Unmark()
	if v == cty.NilVal || !v.IsKnown() || v.IsNull() {
		return 1
	}
	t := v.Type()
	switch {
	case t == cty.String:
		return 1 + len(v.AsString())
	case t == cty.Number:
		return 1 + digits(v.AsBigFloat())
	case !v.CanIterateElements():
		return 1
	case !deep:
		return 1 + v.LengthInt()
	}
	total := 1
	for it := v.ElementIterator(); it.Next() && total <= most; {
		_, e := it.Element()
		total += size(e, true, most-total)
	}
	return total
}

// digits returns about how many digits the number has without an exponent.
func digits(f *big.Float) int {
	if f.IsInf() {
		return 0
	}
	exponent := f.MantExp(nil)
	return max(exponent, -exponent) / 3 // bits
}

// metered makes the parts of an expression that can grow or repeat count their work: loops, function calls, templates,
// lists, maps and conversions to text. It modifies the expression.
func metered(e hclsyntax.Expression) hclsyntax.Expression {
	limit := func(deep bool, slots ...*hclsyntax.Expression) {
		for _, slot := range slots {
			if *slot != nil {
				*slot = limited{*slot, deep}
			}
		}
	}
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics { // returns no diagnostics
		n = hiddenBy(n)
		switch n := n.(type) {
		case *hclsyntax.ForExpr:
			limit(false, &n.CollExpr, &n.KeyExpr, &n.CondExpr)
			// Otherwise shared values could become larger than the remaining work.
			limit(true, &n.ValExpr)
		case *hclsyntax.SplatExpr:
			limit(false, &n.Source)
		case *hclsyntax.TemplateExpr:
			for i := range n.Parts {
				limit(false, &n.Parts[i])
			}
		case *hclsyntax.TemplateJoinExpr:
			limit(true, &n.Tuple)
		case *hclsyntax.BinaryOpExpr:
			limit(n.Op == hclsyntax.OpEqual || n.Op == hclsyntax.OpNotEqual, &n.LHS, &n.RHS)
		case *hclsyntax.ConditionalExpr:
			limit(true, &n.TrueResult, &n.FalseResult) // their types are compared at all depths
		case *hclsyntax.IndexExpr:
			limit(false, &n.Key)
			n.Collection = keyed{n.Collection, n.Key}
		case *hclsyntax.FunctionCallExpr:
			for i := range n.Args {
				limit(true, &n.Args[i])
			}
		case *hclsyntax.TupleConsExpr:
			for i := range n.Exprs {
				limit(true, &n.Exprs[i])
			}
		case *hclsyntax.ObjectConsExpr:
			for i := range n.Items {
				limit(true, &n.Items[i].ValueExpr)
			}
		case *hclsyntax.ObjectConsKeyExpr:
			// A bare name is the key itself.
			if _, name := n.Wrapped.(*hclsyntax.ScopeTraversalExpr); !name || n.ForceNonLiteral {
				limit(false, &n.Wrapped)
			}
		}
		return nil
	})
	return e
}
