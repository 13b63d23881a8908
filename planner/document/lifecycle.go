package document

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// lifecycleObject is the object of lifecycle errors.
const lifecycleObject = "lifecycle"

// ParseLifecycles reads lifecycles from one or more sources, each a stream of YAML documents with the key lifecycles: a
// mapping of names to lifecycles, in the form of lsm.md 5. It returns them in document order. A name that occurs twice,
// or that a shipped lifecycle has, is an error; so is every error that lifecycle.Lint finds.
//
// The error is of type [invalid.Errors].
func ParseLifecycles(sources []Source) ([]lifecycle.Lifecycle, error) {
	c, errs := readLifecycles(sources)
	if len(errs) == 0 {
		errs = c.lint()
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return c.Lifecycles, nil
}

// readLifecycles reads lifecycles and checks only their structure.
func readLifecycles(sources []Source) (*Catalog, invalid.Errors) {
	c := newCatalog()
	return c, c.readAll(sources, "lifecycles stand under the key "+lifecyclesKey, func(r *catalogReader, d *yaml.Node) {
		r.object(d, "", key{lifecyclesKey, true, definitionsInto(r, lifecycleObject, &c.Lifecycles, r.lifecycle)})
	})
}

// lint returns the errors of lifecycles whose structure is valid.
func (c *Catalog) lint() invalid.Errors {
	var errs invalid.Errors
	seen := make(map[string]int)
	for _, l := range c.Lifecycles {
		same := c.places[[2]string{lifecycleObject, l.Name}]
		at := same[seen[l.Name]]
		found := lifecycle.Lint(l)
		if _, shipped := ShippedLifecycle(l.Name); shipped {
			found = append(found, invalid.Error{Code: invalid.Duplicate,
				Message: "slipway brings a lifecycle of this name; give yours another one"})
		}
		if seen[l.Name]++; seen[l.Name] > 1 {
			found = append(found, invalid.Error{Code: invalid.Duplicate, Message: "there is another lifecycle of this name; " +
				"give each a name of its own, or leave one out" + same[0].isFirst()})
		}
		for _, p := range found {
			p.Object, p.Name = lifecycleObject, cut(l.Name, maxPathKey)
			p = at.locate(p)
			p.Attribute = cut(p.Attribute, maxPath)
			errs = append(errs, p)
			if len(errs) > maxErrors {
				return errs
			}
		}
	}
	return errs
}

func (r *reader) lifecycle(f field, path string) lifecycle.Lifecycle {
	out := lifecycle.Lifecycle{Name: f.name}
	r.object(f.value, path, r.keys(&out, key{"states", true, membersInto(r, &out.States, r.state)})...)
	return out
}

func (r *reader) state(f field, path string) lifecycle.State {
	out := lifecycle.State{Name: f.name, Label: lifecycle.Info}
	r.into(&out)(f.value, path)
	return out
}

//go:embed lifecycles.yaml
var shippedText []byte

// shipped reads the lifecycles that ship with slipway. The tests prove that they are valid.
var shipped = sync.OnceValue(func() []lifecycle.Lifecycle {
	all, errs := readLifecycles([]Source{{Name: "lifecycles.yaml", Data: shippedText}})
	if len(errs) > 0 {
		panic(errs)
	}
	slices.SortFunc(all.Lifecycles, func(a, b lifecycle.Lifecycle) int { return strings.Compare(a.Name, b.Name) })
	return all.Lifecycles
})

// ShippedLifecycles returns the shipped lifecycles, sorted by name. The result must not be changed.
func ShippedLifecycles() []lifecycle.Lifecycle { return slices.Clone(shipped()) }

// ShippedLifecycle returns a shipped lifecycle by its name. The result must not be changed.
func ShippedLifecycle(name string) (lifecycle.Lifecycle, bool) {
	for _, l := range shipped() {
		if l.Name == name {
			return l, true
		}
	}
	return lifecycle.Lifecycle{}, false
}

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
	shipped := lifecycle.Names(ShippedLifecycles())
	hint := resource.DidYouMean(name, append(lifecycle.Names(own), shipped...))
	return fmt.Sprintf("there is no lifecycle %q%s", cut(name, maxWord), hint) + "; slipway brings " +
		strings.Join(shipped, ", ")
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
