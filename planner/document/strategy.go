package document

import (
	"strings"

	"gopkg.in/yaml.v3"

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
// not know are errors in selectors and success criteria and are tolerated elsewhere. The error is of type [invalid.Errors].
// No groups at all give an empty slice, never nil.
func ParseStrategy(name string, data []byte) ([]site.Group, error) {
	r := &reader{file: name}
	groups := []site.Group{}
	if content, path, ok := r.strategy(data); ok {
		groups = r.groups(content, path)
	}
	if len(r.errs) > 0 {
		r.errs.SortByPosition(nil)
		return nil, r.errs
	}
	return groups, nil
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
	fs, ok := r.mapping(n, path)
	if !ok {
		return nil
	}
	value, ok := r.required(n, fs, path, "groups")
	if !ok {
		return nil
	}
	path = join(path, "groups")
	items := r.list(value, path)
	groups := make([]site.Group, 0, len(items))
	for i, item := range items {
		groups = append(groups, r.group(item, index(path, i)))
	}
	return groups
}

func (r *reader) group(n *yaml.Node, path string) site.Group {
	var g site.Group
	fs, ok := r.mapping(n, path)
	if !ok {
		return g
	}
	if value, ok := r.required(n, fs, path, "critical"); ok {
		g.Critical = r.oldBoolean(value, join(path, "critical"))
	}
	if value, ok := r.required(n, fs, path, "depends_on"); ok {
		g.DependsOn = r.texts(value, join(path, "depends_on"))
	}
	if value, ok := r.required(n, fs, path, "name"); ok {
		if g.Name, ok = r.text(value, join(path, "name")); ok && g.Name == "" {
			r.report(value, join(path, "name"), Schema, "is empty; give the group a name")
		}
	}
	if value, ok := r.required(n, fs, path, "selectors"); ok {
		g.Selectors = r.selectors(value, join(path, "selectors"))
	}
	if value, ok := fs.get("success_criteria"); ok {
		g.SuccessCriteria = r.criteria(value, join(path, "success_criteria"))
	}
	return g
}

func (r *reader) selectors(n *yaml.Node, path string) site.Selectors {
	items := r.list(n, path)
	selectors := make(site.Selectors, 0, len(items))
	for i, item := range items {
		at := index(path, i)
		var s site.Selector
		criteria := []struct {
			key  string
			into *[]string
		}{
			{"node_names", &s.NodeNames}, {"node_labels", &s.NodeLabels},
			{"node_tags", &s.NodeTags}, {"rack_names", &s.RackNames},
		}
		fs, ok := r.mapping(item, at)
		if !ok {
			continue
		}
		names := make([]string, len(criteria))
		for j, c := range criteria {
			names[j] = c.key
			if value, ok := fs.get(c.key); ok {
				*c.into = r.texts(value, join(at, c.key))
			}
		}
		r.known(fs, at, names...)
		r.notEmpty(item, fs, at, "a selector", names)
		selectors = append(selectors, s)
	}
	return selectors
}

func (r *reader) criteria(n *yaml.Node, path string) *site.SuccessCriteria {
	fs, ok := r.mapping(n, path)
	if !ok {
		return nil
	}
	var c site.SuccessCriteria
	const noBound = -1
	criteria := []struct {
		key  string
		into **int
		most int
	}{
		{"percent_successful_nodes", &c.PercentSuccessfulNodes, 100},
		{"minimum_successful_nodes", &c.MinimumSuccessfulNodes, noBound},
		{"maximum_failed_nodes", &c.MaximumFailedNodes, noBound},
	}
	names := make([]string, len(criteria))
	for i, k := range criteria {
		names[i] = k.key
		if value, ok := fs.get(k.key); ok {
			if number, ok := r.integer(value, join(path, k.key), k.most); ok {
				*k.into = &number
			}
		}
	}
	r.known(fs, path, names...)
	r.notEmpty(n, fs, path, "success criteria", names)
	return &c
}

// notEmpty reports a mapping without any key (airship.md D-19).
func (r *reader) notEmpty(n *yaml.Node, fs *fields, path, what string, names []string) {
	if len(fs.list) == 0 {
		r.report(n, path, Schema, "is empty; %s must have at least one of %s", what, strings.Join(names, ", "))
	}
}
