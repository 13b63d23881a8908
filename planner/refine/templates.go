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

// Templates parses the templates in configuration, each text once. The zero value is ready for use. It is not safe for
// concurrent use.
type Templates struct {
	parsed map[string]parsedTemplate
	types  map[string]resource.Schema // with the check of templates
}

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
	if t.types != nil {
		return t.types
	}
	t.types = schema.Types()
	for name, typ := range t.types {
		typ.Template = t.check
		t.types[name] = typ
	}
	parameters := t.types[schema.File().Type].Parameters // made by the call above
	i := slices.IndexFunc(parameters, func(p resource.Parameter) bool { return p.Name == schema.Template })
	parameters[i].Check = func(value any) error {
		text, _ := value.(string)
		return t.check(text, false)
	}
	return t.types
}

// check checks the text of a template. line says that a shell would read what it gives: then it must not read facts,
// which the node itself says.
func (t *Templates) check(text string, line bool) error {
	_, err := t.parse(text)
	var wrong invalid.Errors
	if errors.As(err, &wrong) {
		lines := make([]string, len(wrong))
		for i, e := range wrong {
			lines[i] = e.Text()
		}
		return errors.New(strings.Join(lines, "; "))
	}
	if facts := t.Facts(text); err == nil && line && len(facts) > 0 {
		return fmt.Errorf("reads %s, and nothing that a node says may be in a line for a shell; write a list, the program "+
			"and its arguments, with the template as one of them, where the parameter takes one, or put it into a file that "+
			"the command reads", strings.Join(facts, ", "))
	}
	return err
}

// Templated returns the parameters of r that have templates: the template of a file, and those with a value that is
// written as one; nil where there are none.
func Templated(r resource.Resource) (given resource.Parameters) {
	ofFile := schema.HasTemplate(r)
	for name, value := range r.Parameters {
		if ofFile && name == schema.Template || len(resource.TemplatesIn(value)) > 0 {
			if given == nil {
				given = resource.Parameters{}
			}
			given[name] = value
		}
	}
	return given
}

// texts returns the texts of the templates in a parameter of [Templated].
func texts(value any) []string {
	if text, ok := value.(string); ok {
		return []string{text}
	}
	return resource.TemplatesIn(value)
}

// NodeReads returns the attributes of a node that the templates of a configuration read, sorted, "" where one reads the
// node as a whole, and the facts, after [factsRead]. A template with an error counts as empty.
func (t *Templates) NodeReads(c resource.Configuration) []string {
	var reads []string
	for typ, titles := range c {
		for title, p := range titles {
			for _, value := range Templated(resource.Resource{Type: typ, Title: title, Parameters: p}) {
				for _, text := range texts(value) {
					if parsed, err := t.parse(text); err == nil {
						reads = append(reads, readsOf(parsed)...)
					}
				}
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

// Facts returns the facts that the templates of these texts read, as the templates write them: facts.os.family; nil
// when they read none, or have an error.
func (t *Templates) Facts(of ...string) (names []string) {
	for _, text := range of {
		parsed, err := t.parse(text)
		if err != nil {
			continue
		}
		for _, path := range parsed.FactReads() {
			names = append(names, strings.Join(append([]string{factsRead}, path...), "."))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// FactsOf returns the facts that the templates in parameters of [Templated] read.
func (t *Templates) FactsOf(given resource.Parameters) []string {
	var of []string
	for _, value := range given {
		of = append(of, texts(value)...)
	}
	return t.Facts(of...)
}

// FactsDiffer says which fact that the templates in a parameter of [Templated] read is not what it was, and both
// values; empty when each is.
func (t *Templates) FactsDiffer(value any, was, is *resource.Facts) string {
	for _, text := range texts(value) {
		parsed, err := t.parse(text)
		if err != nil {
			continue
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

// awaits is what a template gives that reads facts of a node that has not said them yet.
type awaits struct{}

// Render returns a resource with what its templates give on a node of the site, in normal form; one without templates
// stays. What the template of a file gives is its content. A value is unknown where its template, or what that reads
// of the node, is. awaited are the parameters of which that is true of facts only, sorted: the resource lacks them.
// pending are others that it lacks. The attribute of an error is the parameter as it was written; an error does not
// quote a template where the resource is sensitive.
func (t *Templates) Render(r resource.Resource, s site.Site, n site.Node, pending []string) (out resource.Resource,
	awaited []string, errs invalid.Errors) {
	given := Templated(r)
	if len(given) == 0 {
		return r, nil, nil
	}
	r.Parameters = maps.Clone(r.Parameters)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		unknown, waits := false, false
		evaluate := func(text string) any {
			value, err := t.evaluate(text, s, n)
			var wrong invalid.Errors
			errors.As(err, &wrong)
			for _, e := range wrong {
				if e.Attribute, e.Code = name, BadTemplate; r.Sensitive() {
					e.Message = "cannot be evaluated; the error is not shown because the resource is sensitive"
				}
				errs = append(errs, e)
			}
			switch value.(type) {
			case resource.Unknown:
				unknown = true
			case awaits:
				waits = true
			}
			return value
		}
		to, value := name, given[name]
		if text, isText := value.(string); isText {
			value = evaluate(text)
		} else {
			value = resource.ReplaceTemplates(value, evaluate)
		}
		if name == schema.Template && r.Type == schema.File().Type {
			to = content
			delete(r.Parameters, name)
		}
		switch {
		case unknown:
			value = resource.Unknown{}
		case waits:
			value, awaited = resource.Unknown{}, append(awaited, to)
		}
		r.Parameters[to] = value
	}
	if len(errs) > 0 {
		return r, nil, errs
	}
	return t.conform(r, given, awaited, pending)
}

// content is the parameter that the template of a file gives.
const content = "content"

// conform checks what the templates of a resource gave, and returns it without what is awaited.
func (t *Templates) conform(r resource.Resource, given resource.Parameters, awaited, pending []string) (
	resource.Resource, []string, invalid.Errors) {
	typ := t.Types()[r.Type]
	if len(pending) > 0 {
		typ.Check = nil
	}
	var errs invalid.Errors
	out, wrong := typ.Conform(r)
	for _, e := range wrong {
		if e.Code == invalid.MissingParameter && slices.Contains(pending, e.Attribute) {
			continue
		}
		if e.Attribute == content && given.Has(schema.Template) {
			e.Attribute = schema.Template
		}
		name, _, _ := strings.Cut(e.Attribute, "[")
		if given.Has(name) {
			e.Message = "its template gives what is not allowed: " + e.Message
		} else {
			e.Message = "with what templates of the resource give: " + e.Message
		}
		errs = append(errs, e)
	}
	for _, name := range awaited {
		delete(out.Parameters, name) // Render made the map
	}
	return out, awaited, errs
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
		return awaits{}, err
	case result.Unknown:
		return resource.Unknown{}, err
	}
	return result.Value, err
}
