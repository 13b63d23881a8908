package document

import (
	"reflect"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// StrategySchema is what an Airship DeploymentStrategy document gives as its schema.
const StrategySchema = "shipyard/DeploymentStrategy/v1"

// ParseStrategy reads the groups of an Airship DeploymentStrategy document (airship.md 1; seed 001, "Deployment
// Strategy Document"). The document is either the whole, with schema, metadata and data, or what is below data alone. A
// stream may hold other documents too; exactly one strategy must be in it. Name stands for the file in errors.
//
// Only the form is checked here; what the groups mean together is for [site.ValidateGroups]. Keys that the schema does
// not know are errors in selectors and success criteria and are tolerated elsewhere. The error is of type
// [invalid.Errors]. No groups at all give an empty slice, never nil.
func ParseStrategy(name string, data []byte) (_ []site.Group, warnings invalid.Errors, _ error) {
	r := &reader{file: name}
	groups := []site.Group{}
	if content, path, ok := r.strategy(data); ok {
		groups = r.groups(content, path)
	}
	if err := r.result(); err != nil {
		return nil, nil, err
	}
	return groups, r.warnings, nil
}

// strategy finds the mapping that holds the groups, and its path in the document.
func (r *reader) strategy(data []byte) (content *yaml.Node, path string, ok bool) {
	documents := r.documents(data)
	if len(r.errs) > 0 && documents == nil {
		return nil, "", false
	}
	switch len(documents) {
	case 0:
		r.report(nil, "", Schema, "the document is empty; a strategy has the key \"groups\"")
		return nil, "", false
	case 1:
		return r.envelope(documents[0])
	}
	var found []*yaml.Node
	for _, d := range documents {
		if schemaOf(d) == StrategySchema {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		r.report(nil, "", Schema, "none of the %d documents has the schema %q", len(documents), StrategySchema)
		return nil, "", false
	}
	if len(found) > 1 {
		r.report(found[1], "", Schema, "a second strategy; the first is at line %d. Keep one", found[0].Line)
		return nil, "", false
	}
	return r.envelope(found[0])
}

// schemaOf returns the schema that a document declares, empty when it declares none.
func schemaOf(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "schema" {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// envelope returns what is below data of a whole document, or the document itself when it has no envelope.
func (r *reader) envelope(n *yaml.Node) (content *yaml.Node, path string, ok bool) {
	fs, ok := r.mapping(n, "")
	if !ok {
		return nil, "", false
	}
	schema, declared := fs.get("schema")
	_, bare := fs.get("groups")
	if _, hasData := fs.get("data"); !declared && (bare || !hasData) {
		return n, "", true
	}
	if !declared {
		r.required(n, fs, "", "schema")
	} else if value, ok := r.text(schema, "schema"); ok && value != StrategySchema {
		hint := ""
		if resource.Nearest(value, []string{StrategySchema}) != "" {
			hint = "; did you mean that?"
		}
		r.report(schema, "schema", Schema, "is %q, not %q%s", value, StrategySchema, hint)
	}
	if metadata, ok := fs.get("metadata"); ok {
		r.mapping(metadata, "metadata")
	}
	content, ok = r.required(n, fs, "", "data")
	return content, "data", ok
}

func (r *reader) groups(n *yaml.Node, path string) []site.Group {
	groups := []site.Group{}
	if fs, ok := r.mapping(n, path); ok {
		r.read(n, fs, path, key{"groups", true, listInto(r, &groups, r.group)})
	}
	return groups
}

func (r *reader) group(n *yaml.Node, path string) (g site.Group) {
	if fs, ok := r.mapping(n, path); ok {
		r.read(n, fs, path, r.keys(&g,
			key{"critical", true, func(n *yaml.Node, path string) { g.Critical = r.oldBoolean(n, path) }},
			key{"depends_on", true, r.into(&g.DependsOn)},
			key{"name", true, func(n *yaml.Node, path string) { g.Name = r.textWith(n, path, "filled=give the group a name") }},
		)...)
	}
	return g
}

// ParseSelectors reads a list of selectors. The error is of type [invalid.Errors]; labels are not checked.
func ParseSelectors(source Source) (site.Selectors, error) {
	r := &reader{file: source.Name}
	var out site.Selectors
	if n, ok := r.only(source.Data, "write a list of selectors, [] for all nodes"); ok {
		r.intoField(reflect.ValueOf(&out).Elem(), "some=a selector")(n, "")
	}
	return out, r.result()
}
