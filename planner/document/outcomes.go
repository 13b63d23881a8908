package document

import (
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// ParseOutcomes reads the scripted outcomes of a simulation: `phase: {node: result}`, with the words that are allowed
// for both. A node that the site does not have is an error. The error is of type [invalid.Errors].
func ParseOutcomes[P, R ~string](source Source, phases []P, results []R, nodes []string) (map[P]map[string]R, error) {
	r := &reader{file: source.Name}
	out := map[P]map[string]R{}
	documents := r.documents(source.Data)
	if len(documents) > 1 {
		r.report(documents[1], "", Schema, "is a second document; outcomes are one")
	}
	if len(documents) > 0 {
		keys := make([]key, 0, len(phases))
		for _, phase := range phases {
			keys = append(keys, key{string(phase), false, func(n *yaml.Node, path string) {
				if read := readResults(r, n, path, results, nodes); len(read) > 0 {
					out[phase] = read
				}
			}})
		}
		r.object(documents[0], "", keys...)
	}
	if err := r.result(); err != nil {
		return nil, err
	}
	return out, nil
}

// readResults reads the results of the nodes in one phase.
func readResults[R ~string](r *reader, n *yaml.Node, path string, results []R, nodes []string) map[string]R {
	known := make(map[string]bool, len(nodes))
	for _, name := range nodes {
		known[name] = true
	}
	out := map[string]R{}
	fs, ok := r.mapping(n, path)
	if !ok {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(fs.index)) {
		f := fs.list[fs.index[name]]
		if r.full() {
			return nil
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
		if result := R(text); slices.Contains(results, result) {
			out[name] = result
		} else {
			r.report(f.value, keyed(path, name), Schema, "is %q; give success, failure or timeout", text)
		}
	}
	return out
}
