package conformance

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// inventory returns the nodes of a vector, which names one of the file's inventories or brings its own.
func inventory(t testing.TB, f *file, v *vector) []site.Node {
	t.Helper()
	node := named(t, f, v, "inventory", "inventories")
	items := strictly[[]struct {
		Name   string
		Rack   string
		Tags   []string
		Labels map[string]yaml.Node
	}](t, node)
	nodes := make([]site.Node, len(items))
	for i, item := range items {
		nodes[i] = site.Node{Name: item.Name, Rack: item.Rack, Tags: item.Tags, Labels: map[string]string{}}
		for key, value := range item.Labels {
			// A label that is not text equals no selector (airship.md 3), and a slipway node cannot have one.
			if value.ShortTag() == "!!str" {
				nodes[i].Labels[key] = value.Value
			}
		}
	}
	return nodes
}

// groups parses the strategy of a vector, which names one of the file's strategies or brings its own.
func groups(t testing.TB, f *file, v *vector) []site.Group {
	t.Helper()
	node := named(t, f, v, "strategy", "strategies")
	out, err := parse(t, withoutEmptySelectors(node))
	if err != nil {
		t.Fatalf("strategy: %v", err)
	}
	return out
}

func parse(t testing.TB, strategy yaml.Node) ([]site.Group, error) {
	t.Helper()
	data, err := yaml.Marshal(&strategy)
	if err != nil {
		t.Fatal(err)
	}
	groups, _, err := document.ParseStrategy("strategy.yaml", data)
	return groups, err
}

// named returns a part of a vector, or what the file holds in a section under the name that the part gives.
func named(t testing.TB, f *file, v *vector, part, section string) yaml.Node {
	t.Helper()
	node, ok := v.keys[part]
	if !ok {
		t.Fatalf("the vector has no %s", part)
	}
	if node.Kind != yaml.ScalarNode {
		return node
	}
	found, ok := decode[map[string]yaml.Node](t, f.root[section])[node.Value]
	if !ok {
		t.Fatalf("the file has no %q in %s", node.Value, section)
	}
	return found
}

// withoutEmptySelectors writes `{}` in a list of selectors as `{node_names: []}`. Both mean every node (airship.md 3), but only
// the second is allowed in a document (D-19), and vectors that are not about documents had no schema in front of them.
func withoutEmptySelectors(n yaml.Node) yaml.Node {
	if n.Kind == yaml.AliasNode {
		return withoutEmptySelectors(*n.Alias)
	}
	n.Content = slices.Clone(n.Content)
	for i, child := range n.Content {
		changed := withoutEmptySelectors(*child)
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "selectors" {
			for j, selector := range changed.Content {
				if selector.Kind == yaml.MappingNode && len(selector.Content) == 0 {
					changed.Content[j] = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
						{Kind: yaml.ScalarNode, Value: "node_names"}, {Kind: yaml.SequenceNode},
					}}
				}
			}
		}
		n.Content[i] = &changed
	}
	return n
}

// complaint is an error in the words of the vectors.
type complaint struct {
	kind, text string
}

// complaints translates an error into the error kinds of the vectors.
func complaints(t testing.TB, err error) []complaint {
	t.Helper()
	var (
		inDocument   invalid.Errors
		inSite       invalid.Errors
		inTransition *strategy.TransitionError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &inDocument):
		var out []complaint
		for _, p := range inDocument {
			out = append(out, complaint{string(p.Code), p.Error()})
			if p.Code == invalid.MissingField {
				// The schema demands the key first, the class after it; it is one error (airship.md 2).
				out = append(out, complaint{string(document.Schema), p.Error()})
			}
			if p.Code == document.Schema {
				// The same in the words of the vectors of overrides (fuel.md F-25).
				out = append(out, complaint{string(invalid.BadStructure), p.Error()})
			}
			if p.Code == document.LayerMismatch {
				// The same error in an override that has no other layers beside it (OV-37, LY-10).
				out = append(out, complaint{string(invalid.BadStructure), p.Error()})
			}
		}
		return out
	case errors.As(err, &inSite):
		var out []complaint
		for _, p := range inSite.Errors() {
			out = append(out, complaint{string(p.Code), p.Error()})
		}
		return out
	case errors.As(err, &inTransition), errors.Is(err, strategy.ErrPhase):
		return []complaint{{"bad_transition", err.Error()}}
	case errors.Is(err, strategy.ErrUnknownGroup):
		return []complaint{{string(invalid.UnknownGroup), err.Error()}}
	case errors.Is(err, strategy.ErrUnknownNode):
		return []complaint{{string(invalid.UnknownNode), err.Error()}}
	}
	t.Fatalf("an error that has no kind: %v", err)
	return nil
}

// expectError compares an error with the kind that is expected, empty for none, and returns the complaints of that kind.
func expectError(t testing.TB, err error, want string) []complaint {
	t.Helper()
	all := complaints(t, err)
	if want == "" {
		if err != nil {
			t.Errorf("want no error, got %v", err)
		}
		return nil
	}
	found := slices.DeleteFunc(slices.Clone(all), func(c complaint) bool { return c.kind != want })
	if len(found) == 0 {
		t.Errorf("want an error of the kind %s, got %v", want, err)
	}
	return found
}

// names reports whether a complaint names something, in quotes as all messages do.
func names(complaints []complaint, what string) bool {
	return slices.ContainsFunc(complaints, func(c complaint) bool { return strings.Contains(c.text, strconv.Quote(what)) })
}
