package document

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

const (
	// lifecyclesKey is where a catalog has lifecycles.
	lifecyclesKey = "lifecycles"
	// serviceLifecycle is what a service's lifecycle is called in Terraform, which keeps the word lifecycle for itself.
	serviceLifecycle = "service_lifecycle"
	defineAnother    = `; define another one under the key "lifecycles", in a document beside this one`
)

// ParseServiceLifecycle reads what `service_lifecycle` of slipway_service holds: the name of a shipped lifecycle, or a
// document with one lifecycle. It is nil for an empty text. name is what errors of a document call it.
func ParseServiceLifecycle(name, text string) (*lifecycle.Lifecycle, error) {
	if text == "" {
		return nil, nil
	}
	if !strings.ContainsAny(text, ":\n") {
		if l, ok := ShippedLifecycle(text); ok {
			return &l, nil
		}
		return nil, fmt.Errorf("%s; give one of these names, or a document", noLifecycle(text, nil))
	}
	found, err := ParseLifecycles([]Source{{Name: name, Data: []byte(text)}})
	switch {
	case err != nil:
		return nil, err
	case len(found) != 1:
		return nil, fmt.Errorf("the document has %d lifecycles; give one that has the lifecycle of this service alone",
			len(found))
	}
	return &found[0], nil
}

// noLifecycle says that there is no such lifecycle, and which one may be meant. own are those of the documents.
func noLifecycle(name string, own []lifecycle.Lifecycle) string {
	shipped := lifecycleNames(ShippedLifecycles())
	hint := resource.DidYouMean(name, append(lifecycleNames(own), shipped...))
	return fmt.Sprintf("there is no lifecycle %q%s", cut(name, maxWord), hint) + "; slipway brings " +
		strings.Join(shipped, ", ")
}

func lifecycleNames(all []lifecycle.Lifecycle) []string {
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.Name
	}
	return names
}

// lifecycle returns one of the documents' own lifecycles, nil when they have none of that name.
func (c *Catalog) lifecycle(name string) *lifecycle.Lifecycle {
	if c == nil {
		return nil
	}
	for i := range c.Lifecycles {
		if c.Lifecycles[i].Name == name {
			return &c.Lifecycles[i]
		}
	}
	return nil
}

// namedLifecycles reports what is wrong with the lifecycles of the documents, and with the names that entities have for
// theirs.
func (c *Catalog) namedLifecycles() invalid.Errors {
	errs := c.lint()
	seen := make(map[string]int)
	for _, d := range c.definitions {
		for _, e := range d.Entities {
			at := c.places[[2]string{"entity", e.Name}][seen[e.Name]]
			seen[e.Name]++
			if _, shipped := ShippedLifecycle(e.Lifecycle); e.Lifecycle == "" || shipped ||
				c.lifecycle(e.Lifecycle) != nil {
				continue
			}
			message := noLifecycle(e.Lifecycle, c.Lifecycles) + defineAnother +
				"; in Terraform an entity carries no more than the name, so services of it give such a lifecycle as " +
				serviceLifecycle + ", too"
			errs = append(errs, at.locate(invalid.Error{Object: "entity", Name: cut(e.Name, maxPathKey),
				Attribute: "lifecycle", Code: invalid.BadValue, Message: message}))
			if len(errs) > maxErrors {
				return errs
			}
		}
	}
	return errs
}

// lifecycleOf reads the lifecycle of a service: its name, or in Terraform's values a name or a document. Services of
// one document share it.
func (r *reader) lifecycleOf(n *yaml.Node, path string, s *Site) *lifecycle.Lifecycle {
	text, ok := r.text(n, path)
	switch {
	case !ok:
		return nil
	case !r.converts && text == "":
		r.report(n, path, Schema, "is empty; name a lifecycle, or leave it out")
		return nil
	case !r.converts:
		out := &lifecycle.Lifecycle{Name: text}
		s.named[out] = reference{path, place{file: r.file, node: n}}
		return out
	}
	if known, ok := s.machines[text]; ok {
		return known
	}
	found, err := ParseServiceLifecycle(serviceLifecycle, text)
	if err != nil {
		r.report(n, path, invalid.BadValue, "%s", err.Error())
	}
	s.machines[text] = found
	return found
}
