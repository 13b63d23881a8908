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
// options win over configuration_options (see [override.Settings]). The override has the name of the source where the
// document gives none.
//
// A parameter that is null is kept, because it does no harm in a layer that others lie under. A type or title that is
// null is left out for the same reason, see [Incomplete]. Types and parameters are not checked. The error is of type
// [invalid.Errors].
func ParseLayer(source Source) (*Layer, error) {
	r := &reader{file: source.Name}
	var nulls []null
	o := site.Override{Name: source.Name, Configuration: resource.Configuration{}}
	n, ok := r.only(source.Data, "an override has the key \"configuration\"")
	if ok {
		var data, direct site.OverrideOptions
		r.object(n, "",
			key{"name", false, r.into(&o.Name)},
			key{"merge", false, r.into(&o.Merge)},
			key{"configuration_options", false, r.intoOptions(&data)},
			key{"options", false, r.intoOptions(&direct)},
			key{"configuration", false, r.intoLayer(&o.Configuration, LayerMismatch, func(typ string) bool {
				filter := override.Settings(data, direct).TypesFilter
				return len(filter) > 0 && !slices.Contains(filter, typ)
			}, &nulls)},
		)
		if o.Merge != "" && o.Merge != "parameter" && o.Merge != "title" {
			r.report(descend(n, "merge"), "merge", invalid.BadValue,
				"%q is not a way to merge; use \"parameter\" or \"title\"", o.Merge)
		}
		o.Options = override.Settings(data, direct)
	}
	return &Layer{o, place{file: source.Name, node: n}, nulls}, r.result()
}

// ParseConfiguration reads the configuration below overrides: a mapping with the key configuration. It does not check
// types and parameters. The error is of type [invalid.Errors].
func ParseConfiguration(source Source) (*Layer, error) {
	r := &reader{file: source.Name}
	o := site.Override{Name: source.Name, Configuration: resource.Configuration{}}
	n, ok := r.only(source.Data, "it has the key \"configuration\"")
	if ok {
		r.object(n, "", key{"configuration", true, r.intoLayer(&o.Configuration, invalid.BadStructure,
			func(string) bool { return false }, nil)})
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

// nested returns the keys of a mapping, and reports another value with the given code.
func (r *reader) nested(n *yaml.Node, path string, code invalid.Code, form string) []field {
	at := r.resolve(n)
	if at == nil {
		return nil
	}
	if at.Kind != yaml.MappingNode {
		r.report(n, path, code, "is %s, not a mapping; write %s", kind(at), form)
		return nil
	}
	fs, ok := r.mapping(n, path)
	if !ok {
		return nil
	}
	return fs.list
}

// intoLayer reads type -> title -> parameters, where code says what a value is that is no mapping at all. What is wrong
// with titles of types that are filtered out does not matter (fuel.md B2). What is null goes into nulls, where there
// may be any.
func (r *reader) intoLayer(target *resource.Configuration, code invalid.Code, filtered func(typ string) bool,
	nulls *[]null) readFunc {
	const form = "type: {title: {parameter: value}}"
	return func(n *yaml.Node, path string) {
		for _, t := range r.nested(n, path, code, form) {
			if t.name == "" {
				r.report(t.key, path, invalid.EmptyType, "a type is empty; write %s", form)
				continue
			}
			typeAt := join(path, t.name)
			titles := make(map[string]resource.Parameters)
			before := len(r.errs)
			list := r.nested(t.value, typeAt, invalid.BadStructure, "title: {parameter: value}")
			if r.setAside(nulls, before, t.value, t.name, "") {
				continue
			}
			found := len(r.errs)
			for _, title := range list {
				if title.name == "" {
					r.report(title.key, typeAt, invalid.EmptyTitle, "a title is empty; write %s", form)
					continue
				}
				before := len(r.errs)
				p := r.layerParameters(title.value, keyed(typeAt, title.name))
				if filtered(t.name) || !r.setAside(nulls, before, title.value, t.name, title.name) {
					titles[title.name] = p
				}
			}
			(*target)[t.name] = titles
			if filtered(t.name) {
				r.errs = r.errs[:found]
			}
		}
	}
}

// setAside moves the error of a type or title that is null to nulls. before is the number of earlier errors.
func (r *reader) setAside(nulls *[]null, before int, n *yaml.Node, typ, title string) bool {
	at := r.resolve(n)
	if nulls == nil || at == nil || !isScalar(at, "!!null") || len(r.errs) != before+1 {
		return false
	}
	*nulls = append(*nulls, null{typ, title, r.errs[before]})
	r.errs = r.errs[:before]
	return true
}

func (r *reader) layerParameters(n *yaml.Node, path string) resource.Parameters {
	out := make(resource.Parameters)
	for _, p := range r.nested(n, path, invalid.BadStructure, "parameter: value") {
		if at := r.resolve(p.value); at != nil && isScalar(at, "!!null") {
			out[p.name] = nil
			continue
		}
		if value, ok := r.value(p.value, join(path, p.name), 0); ok {
			out[p.name] = value
		}
	}
	return out
}

// intoOptions reads the options of an override.
func (r *reader) intoOptions(o *site.OverrideOptions) readFunc {
	return func(n *yaml.Node, path string) {
		r.nested(n, path, invalid.BadStructure, "option: value")
		if at := r.resolve(n); at == nil || at.Kind != yaml.MappingNode {
			return
		}
		r.object(n, path, r.keys(o,
			key{"create", false, func(n *yaml.Node, path string) {
				at := r.resolve(n)
				if at == nil {
					return
				}
				if !isScalar(at, "!!bool") {
					r.report(n, path, invalid.BadStructure, "is %s, not true or false without quotes", kind(at))
					return
				}
				create := r.boolean(n, path)
				o.Create = &create
			}},
			key{"defaults", false, func(n *yaml.Node, path string) {
				o.Defaults = make(map[string]map[string]any)
				for _, t := range r.nested(n, path, invalid.BadStructure, "type: {parameter: value}") {
					if t.name == "" {
						r.report(t.key, path, invalid.EmptyType, "a type is empty; write type: {parameter: value}")
						continue
					}
					o.Defaults[t.name] = r.layerParameters(t.value, join(path, t.name))
				}
			}},
		)...)
	}
}
