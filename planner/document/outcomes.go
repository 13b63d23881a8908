package document

import (
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/simulate"
)

// ParseOutcomes reads the scripted outcomes of a simulation: `phase: {node: result}`, with the words of
// [simulate.Phases] and [simulate.Results]. A node that the site does not have is an error. The error is of type
// [invalid.Errors].
func ParseOutcomes(source Source, nodes []string) (simulate.Outcomes, error) {
	r := &reader{file: source.Name}
	out := simulate.Outcomes{}
	documents := r.documents(source.Data)
	if len(documents) > 1 {
		r.report(documents[1], "", Schema, "is a second document; outcomes are one")
	}
	if len(documents) > 0 {
		keys := make([]key, 0, len(simulate.Phases()))
		for _, phase := range simulate.Phases() {
			keys = append(keys, key{string(phase), false, r.intoResults(out, phase, nodes)})
		}
		r.object(documents[0], "", keys...)
	}
	if len(r.errs) > 0 {
		r.errs.SortByPosition(nil)
		return nil, r.errs
	}
	return out, nil
}

func (r *reader) intoResults(out simulate.Outcomes, phase simulate.Phase, nodes []string) readFunc {
	known := make(map[string]bool, len(nodes))
	for _, name := range nodes {
		known[name] = true
	}
	return func(n *yaml.Node, path string) {
		fs, ok := r.mapping(n, path)
		if !ok {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(fs.index)) {
			f := fs.list[fs.index[name]]
			if r.full() {
				return
			}
			if !known[name] {
				hint := ""
				if len(r.errs) < resource.MostHints {
					hint = resource.DidYouMean(name, nodes)
				}
				r.report(f.key, keyed(path, name), invalid.UnknownNode, "there is no node %q%s", name, hint)
			}
			text, ok := r.text(f.value, keyed(path, name))
			if !ok {
				continue
			}
			if result := simulate.Result(text); slices.Contains(simulate.Results(), result) {
				out.Add(phase, name, result)
			} else {
				r.report(f.value, keyed(path, name), Schema, "is %q; give success, failure or timeout", text)
			}
		}
	}
}
