package refine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/catalog/template"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Templates parses the templates of files, each text once. The zero value is ready for use. It is not safe for
// concurrent use.
type Templates struct{ parsed map[string]parsedTemplate }

type parsedTemplate struct {
	*template.Template
	err error
}

func (t *Templates) parse(text string) (*template.Template, error) {
	p, ok := t.parsed[text]
	if !ok {
		if t.parsed == nil {
			t.parsed = make(map[string]parsedTemplate)
		}
		p.Template, p.err = template.ParseForNode(text)
		t.parsed[text] = p
	}
	return p.Template, p.err
}

// Types is [schema.Types] with the check of templates, whose parser no node carries.
func (t *Templates) Types() map[string]resource.Schema {
	types := schema.Types()
	parameters := types[schema.File().Type].Parameters // made by the call above
	i := slices.IndexFunc(parameters, func(p resource.Parameter) bool { return p.Name == schema.Template })
	parameters[i].Check = func(value any) error {
		text, _ := value.(string)
		_, err := t.parse(text)
		var wrong invalid.Errors
		if !errors.As(err, &wrong) {
			return err
		}
		lines := make([]string, len(wrong))
		for i, e := range wrong {
			lines[i] = e.Text()
		}
		return errors.New(strings.Join(lines, "; "))
	}
	return types
}

// NodeReads returns the attributes of a node that the templates of a configuration read, sorted, "" where one reads the
// node as a whole, and the facts, after [factsRead]. A template with an error counts as empty.
func (t *Templates) NodeReads(c resource.Configuration) []string {
	var reads []string
	for _, p := range c[schema.File().Type] {
		if text, ok := p[schema.Template].(string); ok {
			if parsed, err := t.parse(text); err == nil {
				reads = append(reads, readsOf(parsed)...)
			}
		}
	}
	slices.Sort(reads)
	return slices.Compact(reads)
}

// factsRead is what the names of a fact follow, each after a slash, in what a template reads: a name has none.
const factsRead = "facts"

// readsOf returns what a template reads of a node and of its facts.
func readsOf(t *template.Template) []string {
	reads := slices.Clone(t.NodeReads())
	for _, path := range t.FactReads() {
		reads = append(reads, strings.Join(append([]string{factsRead}, path...), "/"))
	}
	return reads
}

// factOf returns the fact that is read, or the part of the facts that the names lead to; nil when it is not known.
func factOf(f *resource.Facts, read string) any {
	var value any = f.Plain()
	for _, name := range strings.Split(read, "/")[1:] {
		members, is := value.(map[string]any)
		if !is {
			break
		}
		value = members[name]
	}
	return value
}

// Facts returns the facts that the template of a text reads, as the template writes them: facts.os.family; nil when it
// reads none, or has an error.
func (t *Templates) Facts(text string) (names []string) {
	parsed, err := t.parse(text)
	if err != nil {
		return nil
	}
	for _, path := range parsed.FactReads() {
		names = append(names, strings.Join(append([]string{factsRead}, path...), "."))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// FactsDiffer says which fact that the template of a text reads is not what it was, and both values; empty when each
// is.
func (t *Templates) FactsDiffer(text string, was, is *resource.Facts) string {
	parsed, err := t.parse(text)
	if err != nil {
		return ""
	}
	for _, read := range readsOf(parsed) {
		if read != factsRead && !strings.HasPrefix(read, factsRead+"/") {
			continue
		}
		before, now := resource.Canonical(factOf(was, read)), resource.Canonical(factOf(is, read))
		if before != now {
			return fmt.Sprintf("%s was %s and is %s", strings.ReplaceAll(read, "/", "."), before, now)
		}
	}
	return ""
}

// NodeKey returns a text that is equal for nodes of a site on which templates that read these attributes give the same.
func NodeKey(s site.Site, n site.Node, reads []string) string {
	if len(reads) == 0 {
		return ""
	}
	labels := make(map[string]any, len(n.Labels))
	for key, value := range n.Labels {
		labels[key] = value
	}
	values := map[string]any{"name": n.Name, "address": n.Address, "rack": n.Rack, "tags": listOf(n.Tags),
		"labels": labels, "roles": listOf(n.Roles), "unknown": listOf(s.Unknown[n.Name])}
	if reads[0] != "" {
		maps.DeleteFunc(values, func(name string, _ any) bool { return name != "unknown" && !slices.Contains(reads, name) })
	}
	for _, read := range reads {
		if read != factsRead && !strings.HasPrefix(read, factsRead+"/") {
			continue
		}
		if f := s.Facts[n.Name]; f != nil {
			values[read] = []any{factOf(f, read)}
		} else {
			values[read] = "not known"
		}
	}
	return resource.Canonical(values)
}

func listOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

// Awaited is the content of a file whose template reads facts of a node that has not said them yet.
type Awaited struct{}

// Render returns a file with the content that its template gives on a node of the site, in place of the template; any
// other resource stays. The content is unknown where the template, or what it reads of the node, is, and [Awaited]
// where that is true of facts only. The errors are about the template, and do not quote it where the resource is
// sensitive.
func (t *Templates) Render(r resource.Resource, s site.Site, n site.Node) (resource.Resource, invalid.Errors) {
	if !schema.HasTemplate(r) {
		return r, nil
	}
	content := r.Parameters[schema.Template]
	if text, known := content.(string); known {
		var err error
		if content, err = t.evaluate(text, s, n); err != nil {
			var wrong invalid.Errors
			errors.As(err, &wrong)
			for i := range wrong {
				if wrong[i].Code = BadTemplate; r.Sensitive() {
					wrong[i].Message = "cannot be evaluated; the error is not shown because the resource is sensitive"
				}
			}
			return r, wrong
		}
	}
	r.Parameters = maps.Clone(r.Parameters)
	delete(r.Parameters, schema.Template)
	r.Parameters["content"] = content
	return r, nil
}

// evaluate returns the text that a template gives on a node, or [resource.Unknown]. The error is of type
// [invalid.Errors].
func (t *Templates) evaluate(text string, s site.Site, n site.Node) (any, error) {
	parsed, err := t.parse(text)
	if err != nil {
		return nil, err
	}
	if reads := slices.Sorted(slices.Values(parsed.NodeReads())); resource.SecretIn(NodeKey(s, n, reads)) {
		return nil, invalid.Errors{{Message: "reads a node that has a text which stands for a secret; take it out of the node"}}
	}
	scope := template.SiteScope(s.Name).WithNode(n.Name, n.Address, n.Rack, n.Tags, n.Roles, n.Labels)
	if len(parsed.FactReads()) > 0 {
		scope = scope.WithFacts(s.Facts[n.Name])
	}
	result, err := parsed.EvaluateText(scope.WithUnknown(s.Unknown[n.Name]))
	switch {
	case result.Unknown && slices.Equal(result.Awaits, []string{factsRead}):
		return Awaited{}, err
	case result.Unknown:
		return resource.Unknown{}, err
	}
	return result.Value, err
}
