package document

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/override"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// LayerMismatch is the code of a layer whose configuration is not a mapping (fuel.md B4).
const LayerMismatch invalid.Code = "layer_type_mismatch"

// Layer is an override, or the configuration below overrides, that was read from a document. It knows the positions of
// its values, see [Layer.Locate].
type Layer struct {
	Override site.Override

	place place
	nulls []null
}

// null is a type or title of a layer that is null. That is allowed if another layer gives a value.
type null struct {
	typ, title string // no title: all of the type
	wrong      invalid.Error
}

// Incomplete reports types and titles that are null in some layer and that no layer gives. The error is of type
// [invalid.Errors].
func Incomplete(layers ...*Layer) error {
	var errs invalid.Errors
	for _, l := range layers {
		for _, n := range l.nulls {
			given := func(other *Layer) bool {
				titles, ok := other.Override.Configuration[n.typ]
				if ok && n.title != "" {
					_, ok = titles[n.title]
				}
				return ok
			}
			if !slices.ContainsFunc(layers, given) {
				errs = append(errs, n.wrong)
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return errs
}

// ParseLayer reads an override in the form of seed 004: a mapping with the keys configuration and
// configuration_options. It may also have name, merge and options, which mean what they mean in slipway_override;
// options win over configuration_options (see [override.Settings]). The override has the name of the source where
// the document gives none.
//
// A parameter that is null is kept, because it does no harm in a layer that others lie under. A type or title that is
// null is left out for the same reason, see [Incomplete]. Types and parameters are not checked. The error is of type
// [invalid.Errors].
func ParseLayer(source Source) (*Layer, error) {
	r := &reader{file: source.Name, nulls: 1, layer: &layerReader{}}
	o := site.Override{Name: source.Name, Configuration: resource.Configuration{}}
	n, ok := r.only(source.Data, "an override has the key \"configuration\"")
	if ok {
		var data, direct site.OverrideOptions
		r.object(n, "",
			key{"name", false, r.into(&o.Name)},
			key{"merge", false, r.into(&o.Merge)},
			key{"configuration_options", false, r.into(&data)},
			key{"options", false, r.into(&direct)},
			key{"configuration", false, func(n *yaml.Node, path string) {
				r.layer.types = override.Settings(data, direct).TypesFilter
				before := len(r.errs)
				r.intoConfiguration(&o.Configuration)(n, path)
				if at := r.resolve(n); at != nil && at.Kind != yaml.MappingNode && len(r.errs) > before {
					r.errs[before].Code = LayerMismatch
				}
			}},
		)
		if o.Merge != "" && o.Merge != "parameter" && o.Merge != "title" {
			r.report(descend(n, "merge"), "merge", invalid.BadValue,
				"%q is not a way to merge; use \"parameter\" or \"title\"", o.Merge)
		}
		o.Options = override.Settings(data, direct)
	}
	return &Layer{o, place{file: source.Name, node: n}, r.layer.nulls}, r.result()
}

// ParseConfiguration reads the configuration below overrides: a mapping with the key configuration. It does not check
// types and parameters. The error is of type [invalid.Errors].
func ParseConfiguration(source Source) (*Layer, error) {
	r := &reader{file: source.Name, nulls: 1, layer: &layerReader{whole: true}}
	o := site.Override{Name: source.Name, Configuration: resource.Configuration{}}
	n, ok := r.only(source.Data, "it has the key \"configuration\"")
	if ok {
		r.object(n, "", key{"configuration", true, r.into(&o.Configuration)})
	}
	return &Layer{o, place{file: source.Name, node: n}, nil}, r.result()
}

// Locate returns the position of an error of the override: that of its attribute, else the nearest one.
func (l *Layer) Locate(p invalid.Error) invalid.Error {
	const ours, fuels = "options", "configuration_options"
	if _, written := child(l.place.node, ours); written == nil && strings.HasPrefix(p.Attribute, ours+".") {
		p.Attribute = fuels + strings.TrimPrefix(p.Attribute, ours)
	}
	p.Object, p.Name = "", ""
	return l.place.locate(p)
}

// result returns the errors in document order, as an error.
func (r *reader) result() error {
	if len(r.errs) == 0 {
		return nil
	}
	r.errs.SortByPosition(nil)
	return r.errs
}

// only returns the single document of a stream.
func (r *reader) only(data []byte, hint string) (*yaml.Node, bool) {
	documents := r.documents(data)
	switch {
	case len(documents) == 1:
		return documents[0], true
	case len(r.errs) == 0 && len(documents) == 0:
		r.report(nil, "", Schema, "the document is empty; %s", hint)
	case len(r.errs) == 0:
		r.report(documents[1], "", Schema, "is a second document; keep one in a file")
	}
	return nil, false
}

// layerReader is what a reader knows of the layer that it reads.
type layerReader struct {
	whole bool     // it is what lies below the layers: a type or title must not be null
	types []string // the filter of types; empty: none
	nulls []null
}

// filtered reports whether the layer leaves a type out: what is wrong with its titles does not matter (fuel.md B2).
func (r *reader) filtered(typ string) bool {
	return r.layer != nil && len(r.layer.types) > 0 && !slices.Contains(r.layer.types, typ)
}

// setAside moves the error of a type or title of a layer that is null to its nulls. before is the number of earlier
// errors.
func (r *reader) setAside(before int, n *yaml.Node, typ, title string) bool {
	at := r.resolve(n)
	if r.layer == nil || r.layer.whole || at == nil || !isScalar(at, "!!null") || len(r.errs) != before+1 {
		return false
	}
	r.layer.nulls = append(r.layer.nulls, null{typ, title, r.errs[before]})
	r.errs = r.errs[:before]
	return true
}
