package document

import (
	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
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
