// Package template evaluates the templates of a catalog: HCL template syntax, `${}` and `%{ if }`, `%{ for }`, over the
// attributes of a service and of the node that it is placed on, with the functions that Terraform users know. It is
// pure, and bounds what a template can do: its size and nesting, the work of one evaluation and the size of the result.
package template

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const (
	// MaxSize bounds the text of a template, in bytes.
	MaxSize = 64 << 10
	// MaxResult bounds the result of a template, in bytes of all its texts and elements together.
	MaxResult = 1 << 20
	// maxNesting bounds brackets, quotes, conditions and loops inside each other.
	maxNesting = 64
)

// Template is a text that was parsed. It may be used many times, by several callers at once.
type Template struct {
	text       string
	expression hclsyntax.Expression // nil: the text is the result
	reads      []hcl.Traversal      // what it reads of the scope
	nodeReads  []string             // see [Template.NodeReads]
	factReads  [][]string           // see [Template.FactReads]
}

// Parse reads a template. The error is of type [invalid.Errors].
func Parse(text string) (*Template, error) {
	if len(text) > MaxSize {
		return nil, invalid.Errors{{
			Message: fmt.Sprintf("the template has %d bytes; %d is the most", len(text), MaxSize)}}
	}
	if !utf8.ValidString(text) {
		return nil, invalid.Errors{{Message: "the template is not UTF-8 text"}}
	}
	if !strings.Contains(text, "${") && !strings.Contains(text, "%{") {
		return &Template{text: text}, nil
	}
	if at, deep := tooDeep(text); deep {
		return nil, invalid.Errors{at}
	}
	expression, diagnostics := hclsyntax.ParseTemplate([]byte(text), "", hcl.InitialPos)
	if diagnostics.HasErrors() {
		return nil, errorsOf(text, diagnostics)
	}
	if unknown := unknownFunctions(text, expression); unknown != nil {
		return nil, unknown
	}
	t := &Template{text: text, reads: expression.Variables()}
	t.expression = metered(expression)
	return t, nil
}

// unknownFunctions reports calls of unknown functions.
func unknownFunctions(text string, expression hclsyntax.Expression) invalid.Errors {
	var out invalid.Errors
	_ = hclsyntax.VisitAll(expression, func(n hclsyntax.Node) hcl.Diagnostics { // has no diagnostics
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok || len(out) == mostErrors {
			return nil
		}
		if _, ok := functions[call.Name]; !ok {
			e := locate(text, call.NameRange.Start.Byte)
			e.Message = fmt.Sprintf("there is no function %q", call.Name)
			e.Message += resource.DidYouMean(call.Name, Functions())
			out = append(out, e)
		}
		return nil
	})
	return out
}

// Attribute returns the name of the attribute of the service that the template stands for, when it is nothing but
// `${self.name}` or a part of that attribute; else it is empty.
func (t *Template) Attribute() string {
	if len(t.reads) != 1 || t.reads[0].RootName() != "self" || len(t.reads[0]) < 2 {
		return ""
	}
	wrap, ok := t.expression.(*hclsyntax.TemplateWrapExpr)
	if !ok {
		return ""
	}
	if _, ok := wrap.Wrapped.(*hclsyntax.ScopeTraversalExpr); !ok {
		return ""
	}
	name, _ := t.reads[0][1].(hcl.TraverseAttr)
	return name.Name
}

// openers and closers are the tokens that nest.
var (
	openers = []hclsyntax.TokenType{hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOBrace,
		hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc,
		hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl}
	closers = []hclsyntax.TokenType{hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace,
		hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc,
		hclsyntax.TokenTemplateSeqEnd}
	prefixes = []hclsyntax.TokenType{hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenQuestion}
	blocks   = map[string]int{"if": 1, "for": 1, "endif": -1, "endfor": -1}
)

// tooDeep looks for nesting that would take the parser, which is recursive, too deep.
func tooDeep(text string) (invalid.Error, bool) {
	tokens, _ := hclsyntax.LexTemplate([]byte(text), "", hcl.InitialPos)
	depth, chain := 0, 0
	for i, t := range tokens {
		switch {
		case slices.Contains(openers, t.Type):
			depth++
		case slices.Contains(closers, t.Type):
			depth--
		case slices.Contains(prefixes, t.Type):
			chain++
		case t.Type == hclsyntax.TokenIdent && i > 0 && tokens[i-1].Type == hclsyntax.TokenTemplateControl:
			depth += blocks[string(t.Bytes)]
		}
		if t.Type == hclsyntax.TokenTemplateSeqEnd {
			chain = 0
		}
		if depth > maxNesting || chain > maxChain {
			e := locate(text, t.Range.Start.Byte)
			e.Message = fmt.Sprintf("brackets, conditions and loops are more than %d levels deep", maxNesting)
			if chain > maxChain {
				e.Message = fmt.Sprintf("there are more than %d of !, - and ? in one expression", maxChain)
			}
			return e, true
		}
	}
	return invalid.Error{}, false
}

// maxChain bounds the operators that take the parser deeper without a bracket, in one expression.
const maxChain = 512

// locate returns where in a template a byte is.
func locate(text string, offset int) invalid.Error {
	before := text[:min(max(offset, 0), len(text))]
	line := strings.Count(before, "\n")
	start := strings.LastIndexByte(before, '\n') + 1
	return invalid.Error{Line: line + 1, Column: utf8.RuneCountInString(before[start:]) + 1}
}

// mostErrors bounds the errors reported of one template.
const mostErrors = 20

func errorsOf(text string, diagnostics hcl.Diagnostics) invalid.Errors {
	var out invalid.Errors
	for _, d := range diagnostics {
		if d.Severity != hcl.DiagError {
			continue
		}
		var e invalid.Error
		if d.Subject != nil {
			e = locate(text, d.Subject.Start.Byte)
		}
		e.Message = message(d)
		if slices.Contains(out, e) {
			continue
		}
		if out = append(out, e); len(out) == mostErrors {
			break
		}
	}
	return out
}

// message is a diagnostic as one sentence in the form of the other messages.
func message(d *hcl.Diagnostic) string {
	text := strings.TrimSuffix(strings.TrimSpace(d.Detail), ".")
	if text == "" {
		text = strings.TrimSuffix(d.Summary, ".")
	}
	// a stack of calls follows
	if before, _, panicked := strings.Cut(text, "panic in function implementation"); panicked {
		text = before + "the arguments have no result"
	}
	return strings.Join(strings.Fields(text), " ")
}
