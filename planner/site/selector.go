package site

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Selector is an intersection of criteria; within one criterion any value matches. A criterion that is absent or empty
// is ignored, so a selector with none selects every node (seed 001, "Selectors"; airship.md 3). The
// order of the fields is that of its JSON, which digests of services cover.
type Selector struct {
	NodeNames  []string `key:"node_names"`
	NodeTags   []string `key:"node_tags"`
	NodeLabels []string `key:"node_labels"` // "key:value", trimmed around the colon
	RackNames  []string `key:"rack_names"`
}

// Selectors is a union; an empty list selects every node.
type Selectors []Selector

// Members returns the names of the nodes that s selects, sorted, each once. No selectors at all select every node, and
// so does a selector without criteria, whatever stands beside it (airship.md D-03). Names that no node has, and labels
// that are malformed, match nothing; [Selectors.Validate] reports them.
func (s Selectors) Members(nodes []Node) []string {
	matchers := make([]matcher, len(s))
	for i, selector := range s {
		matchers[i] = selector.compile()
	}
	members := []string{}
	for _, node := range nodes {
		if len(s) == 0 || slices.ContainsFunc(matchers, func(m matcher) bool { return m.matches(node) }) {
			members = append(members, node.Name)
		}
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// matcher is a selector made ready to look at many nodes. A nil set is a criterion that is ignored.
type matcher struct {
	names, tags, racks map[string]bool
	labels             map[label]bool
}

type label struct{ key, value string }

func (s Selector) compile() matcher {
	m := matcher{names: set(s.NodeNames), tags: set(s.NodeTags), racks: set(s.RackNames)}
	if len(s.NodeLabels) == 0 {
		return m
	}
	// Alternatives, also when a key comes twice (airship.md D-05).
	m.labels = make(map[label]bool, len(s.NodeLabels))
	for _, text := range s.NodeLabels {
		if key, value, err := ParseLabel(text); err == nil {
			m.labels[label{key, value}] = true
		}
	}
	return m
}

func set(values []string) map[string]bool {
	if len(values) == 0 {
		return nil
	}
	out := make(map[string]bool, len(values))
	for _, v := range values {
		out[v] = true
	}
	return out
}

func (m matcher) matches(n Node) bool {
	if m.names != nil && !m.names[n.Name] {
		return false
	}
	if m.racks != nil && !m.racks[n.Rack] {
		return false
	}
	if m.tags != nil && !slices.ContainsFunc(n.Tags, func(tag string) bool { return m.tags[tag] }) {
		return false
	}
	if m.labels == nil {
		return true
	}
	for key, value := range n.Labels {
		if m.labels[label{key, value}] {
			return true
		}
	}
	return false
}

// ParseLabel splits a label of a selector at its colon. There must be exactly one, with text on both sides; white space
// around key and value does not count (airship.md 3). The error is an [invalid.Errors].
func ParseLabel(s string) (key, value string, err error) {
	key, value, _ = strings.Cut(s, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	cause := ""
	switch n := strings.Count(s, ":"); {
	case n == 0:
		cause = "has no colon"
	case n > 1:
		cause = fmt.Sprintf("has %d colons, not one", n)
	case key == "":
		cause = "has no key before the colon"
	case value == "":
		cause = "has no value after the colon"
	default:
		return key, value, nil
	}
	return "", "", invalid.Errors{{Code: invalid.BadLabel,
		Message: fmt.Sprintf("label %q %s; write one as \"key:value\"", s, cause)}}
}

// Validate reports malformed labels, and warns of node names that no node has (airship.md D-06, D-09). Object and name
// say whose selectors they are.
func (s Selectors) Validate(object, name string, nodes []Node) invalid.Errors {
	return s.validate(object, name, NewNodeIndex(nodes), 0)
}

// validate is Validate after so many errors of others.
func (s Selectors) validate(object, name string, inv *NodeIndex, before int) invalid.Errors {
	errs := s.validateLabels(object, name)
	for i, selector := range s {
		for j, node := range selector.NodeNames {
			if inv.known[node] != nil {
				continue
			}
			errs.Warn(fmt.Sprintf("selectors[%d].node_names[%d]", i, j), invalid.UnknownNode,
				"there is no node %q, so it selects nothing%s", node, didYouMean(node, inv.names, before+len(errs)))
		}
	}
	return errs.Of(object, name, "")
}

func (s Selectors) validateLabels(object, name string) invalid.Errors {
	var errs invalid.Errors
	for i, selector := range s {
		for j, text := range selector.NodeLabels {
			if _, _, err := ParseLabel(text); err != nil {
				errs.Add(fmt.Sprintf("selectors[%d].node_labels[%d]", i, j), invalid.BadLabel, "%s", err)
			}
		}
	}
	return errs.Of(object, name, "")
}

// didYouMean ends a message with the candidate that is nearest to a mistyped word, if any is near. After many errors
// it looks for none.
func didYouMean(word string, candidates []string, before int) string {
	if before >= resource.MostHints {
		return ""
	}
	return resource.DidYouMean(word, candidates)
}
