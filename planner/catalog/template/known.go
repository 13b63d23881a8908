package template

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// What the lists that Known gives begin with.
const (
	listWord    = "list" // its elements follow
	unknownWord = "not known"
	nullWord    = "null"
)

// Known returns what the templates of the tree read of a scope, as far as it is known already, by what they write:
// `self.name`. It serves for the digest of a result that is not known yet: where two scopes differ in what is known, so
// does what this returns. It holds sensitive values, so it must not be shown.
func (t *Tree) Known(s Scope) map[string]any {
	out := make(map[string]any)
	t.known(s, out)
	return out
}

func (t *Tree) known(s Scope, out map[string]any) {
	if t.template == nil {
		for _, c := range t.children {
			c.known(s, out)
		}
		return
	}
	ctx := &hcl.EvalContext{Variables: s.variables}
	for _, read := range t.template.reads {
		for ; len(read) > 0; read = read[:len(read)-1] { // as far as it leads anywhere
			if value, diagnostics := read.TraverseAbs(ctx); !diagnostics.HasErrors() {
				start, end := read[0].SourceRange().Start.Byte, read[len(read)-1].SourceRange().End.Byte
				out[strings.TrimSpace(t.template.text[start:end])] = knownPart(value)
				break
			}
		}
	}
}

// knownPart takes a value apart: what is known of it.
func knownPart(v cty.Value) any {
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown():
		return []any{unknownWord}
	case v.IsNull():
		return []any{nullWord}
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('g', -1)
	case v.Type() == cty.Bool:
		return v.True()
	case !v.CanIterateElements():
		return nil
	}
	keyed := v.Type().IsMapType() || v.Type().IsObjectType()
	list, object := []any{listWord}, map[string]any{}
	for it := v.ElementIterator(); it.Next(); {
		key, element := it.Element()
		if keyed {
			object[key.AsString()] = knownPart(element)
		} else {
			list = append(list, knownPart(element))
		}
	}
	if keyed {
		return object
	}
	return list
}
