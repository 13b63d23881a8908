package template

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// secretsVariable is what the name of a secret of the deployment follows in a template.
const secretsVariable = "secrets"

// ParseForNode parses a template of inline configuration: it reads the node, its facts and the site, must give a text,
// and knows no service. It reports what [Compile] does. The error is of type [invalid.Errors].
func ParseForNode(text string) (*Template, error) {
	c := compiler{names: map[string][]string{"node": nodeNames, "site": {"name"}, factsVariable: factNames},
		scopes: map[bool]Scope{false: unknownNode().with(factsVariable, cty.UnknownVal(factsType))}}
	t := &Template{} // of an empty text
	if text != "" {
		t = c.text("", text)
	}
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	t.nodeReads = c.nodeReads
	for _, read := range t.reads {
		if read.RootName() == factsVariable {
			t.factReads = append(t.factReads, pathOf(read))
		}
	}
	return t, nil
}

// NodeReads returns the attributes of the node that a template of [ParseForNode] reads, "" where it reads the node as a
// whole, each as often as it is read; it is nil for a template that reads nothing of it.
func (t *Template) NodeReads() []string { return t.nodeReads }

// FactReads returns the facts that a template of [ParseForNode] reads: the names below `facts`, as far as the template
// itself says them, each as often as it is read.
func (t *Template) FactReads() [][]string { return t.factReads }

// pathOf returns the names that follow the first one of what is read.
func pathOf(read hcl.Traversal) []string {
	var out []string
	for _, step := range read[1:] {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			out = append(out, step.Name)
		case hcl.TraverseIndex:
			if step.Key.Type() != cty.String {
				return out
			}
			out = append(out, step.Key.AsString())
		default:
			return out
		}
	}
	return out
}

// SiteScope is the scope of a template of [ParseForNode] before [Scope.WithNode].
func SiteScope(siteName string) Scope {
	return Scope{map[string]cty.Value{"site": cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(siteName)})}}
}

// WithUnknown makes attributes of the node unknown.
func (s Scope) WithUnknown(attributes []string) Scope {
	known, ok := s.variables["node"]
	if !ok || len(attributes) == 0 {
		return s
	}
	node := known.AsValueMap()
	for _, name := range attributes {
		if value, has := node[name]; has {
			node[name] = pending(value.Type(), "node."+name)
		}
	}
	return s.with("node", cty.ObjectVal(node))
}

// InsertSecrets puts what reference returns in place of each `${secrets.name}` that stands in the text of a template by
// itself, outside of any other sequence; where it returns nothing, and elsewhere, the text stays, and [ParseForNode]
// reports it. So no function sees, and no condition depends on, the text that stands for a secret.
func InsertSecrets(text string, reference func(name string) string) string {
	if len(text) > MaxSize || !strings.Contains(text, secretsVariable+".") {
		return text
	}
	tokens, _ := hclsyntax.LexTemplate([]byte(text), "", hcl.InitialPos)
	form := []hclsyntax.TokenType{hclsyntax.TokenTemplateInterp, hclsyntax.TokenIdent, hclsyntax.TokenDot,
		hclsyntax.TokenIdent, hclsyntax.TokenTemplateSeqEnd}
	var out strings.Builder
	written, depth := 0, 0
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenTemplateSeqEnd:
			depth--
		}
		if depth != 1 || len(tokens) < i+len(form) || string(t.Bytes) != "${" {
			continue
		}
		found := tokens[i : i+len(form)]
		same := slices.EqualFunc(found, form,
			func(t hclsyntax.Token, want hclsyntax.TokenType) bool { return t.Type == want })
		if !same || string(found[1].Bytes) != secretsVariable || string(found[4].Bytes) != "}" {
			continue
		}
		if secret := reference(string(found[3].Bytes)); secret != "" {
			out.WriteString(text[written:t.Range.Start.Byte] + secret)
			written = found[4].Range.End.Byte
		}
	}
	return out.String() + text[written:]
}

// notAlone is the error of a secret that is read by something else than the text itself.
const notAlone = "a secret can only stand by itself, as ${secrets.name}, in a template of a service or override: it is " +
	"put in when the resource is sent to its node, so no function, condition or loop can read it"
