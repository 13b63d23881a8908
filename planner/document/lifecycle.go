package document

import (
	"fmt"

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
	lr, errs := readLifecycles(sources)
	if len(errs) == 0 {
		errs = lr.lint()
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return lr.out, nil
}

// readLifecycles reads lifecycles and checks only their structure.
func readLifecycles(sources []Source) (*lifecycleReader, invalid.Errors) {
	var errs invalid.Errors
	lr := &lifecycleReader{places: make(catalogPlaces)}
	for _, source := range sources {
		lr.reader, lr.lines = &reader{file: source.Name}, lines(source.Data)
		documents := lr.documents(source.Data)
		if len(documents) == 0 && len(lr.errs) == 0 {
			lr.report(nil, "", Schema, "the document is empty; lifecycles stand under the key lifecycles")
		}
		for _, d := range documents {
			lr.object(d, "", key{"lifecycles", true, lr.lifecycles})
		}
		lr.errs.SortByPosition(nil)
		errs = append(errs, lr.errs...)
	}
	return lr, errs
}

type lifecycleReader struct {
	*reader
	places catalogPlaces
	lines  []string // of the file that is being read
	out    []lifecycle.Lifecycle
}

func (r *lifecycleReader) lifecycles(n *yaml.Node, path string) {
	membersInto(r.reader, &r.out, func(f field, path string) lifecycle.Lifecycle {
		id := [2]string{lifecycleObject, f.name}
		r.places[id] = append(r.places[id], catalogPlace{place{r.file, f.value}, f.key, r.lines})
		return r.lifecycle(f, path)
	})(n, path)
}

// lint returns the errors of lifecycles whose structure is valid.
func (r *lifecycleReader) lint() invalid.Errors {
	var errs invalid.Errors
	seen := make(map[string]int)
	for _, l := range r.out {
		at := r.places[[2]string{lifecycleObject, l.Name}][seen[l.Name]]
		if seen[l.Name]++; seen[l.Name] > 1 {
			first := r.places[[2]string{lifecycleObject, l.Name}][0]
			errs = append(errs, at.wrong(l.Name, invalid.Error{Code: invalid.Duplicate,
				Message: fmt.Sprintf(
					"there is another lifecycle of this name; give each a name of its own, or leave one out; the first one is at %s",
					first)}))
		}
		if _, shipped := ShippedLifecycle(l.Name); shipped {
			errs = append(errs, at.wrong(l.Name, invalid.Error{Code: invalid.Duplicate,
				Message: "slipway brings a lifecycle of this name; give yours another one"}))
		}
		for _, p := range lifecycle.Lint(l) {
			errs = append(errs, at.wrong(l.Name, p))
			if len(errs) > maxErrors {
				return errs
			}
		}
	}
	return errs
}

// error adds the position to an error of a lifecycle.
func (p catalogPlace) wrong(name string, found invalid.Error) invalid.Error {
	at := p.find(found.Attribute)
	found.File, found.Line, found.Column = p.file, at.Line, at.Column
	found.Object, found.Name = lifecycleObject, cut(name, maxPathKey)
	found.Attribute = cut(found.Attribute, maxPath)
	return found
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
