package resources

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	planresource "github.com/slipway/terraform-provider-slipway/planner/resource"
)

// reading converts one value and remembers what it found on the way.
type reading struct {
	partly  bool // unknown parameters of configuration resources are taken as [planresource.Unknown]
	unknown bool // something inside is unknown
	errs    invalid.Errors
}

func (r *reading) report(at string, code invalid.Code, format string, args ...any) {
	r.errs = append(r.errs, invalid.Error{Attribute: at, Code: code, Message: fmt.Sprintf(format, args...)})
}

// conform converts v to the type of a schema, as Terraform converts configuration of a known type: a tuple becomes a
// list or set, an object a map, an attribute that is left out is null, numbers and their texts stand for each other.
// Unlike Terraform it reports attributes that the schema does not have. What is unknown, or does not fit, becomes null.
// at names the place of v for errors; it never shows a value, which may be secret.
func (r *reading) conform(at string, v tftypes.Value, want tftypes.Type) tftypes.Value {
	null := tftypes.NewValue(want, nil)
	if want.Is(tftypes.DynamicPseudoType) {
		r.unknown = r.unknown || !r.partly && !v.IsFullyKnown()
		return v
	}
	if !v.IsKnown() {
		r.unknown = true
		return null
	}
	if v.IsNull() {
		return null
	}
	switch want := want.(type) {
	case tftypes.Object:
		return r.conformObject(at, v, want)
	case tftypes.List:
		return r.conformElements(at, v, want, want.ElementType)
	case tftypes.Set:
		return r.conformElements(at, v, want, want.ElementType)
	case tftypes.Map:
		entries, ok := entriesOf(v)
		if !ok {
			r.mismatch(at, "a map", v)
			return null
		}
		out := make(map[string]tftypes.Value, len(entries))
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			out[key] = r.notNull(keyPath(at, key), entries[key], want.ElementType)
		}
		return tftypes.NewValue(want, out)
	}
	return r.conformScalar(at, v, want)
}

// entityAttribute is the attribute of a service that takes an object with more attributes than it keeps: an entity of
// data.slipway_catalog.
const entityAttribute = "entity"

func (r *reading) conformObject(at string, v tftypes.Value, want tftypes.Object) tftypes.Value {
	entries, ok := entriesOf(v)
	if !ok {
		r.mismatch(at, "an object", v)
		return tftypes.NewValue(want, nil)
	}
	entries = r.gather(at, entries, want)
	known := slices.Sorted(maps.Keys(want.AttributeTypes))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if _, ok := want.AttributeTypes[name]; ok || at == entityAttribute {
			continue
		}
		if near := planresource.Nearest(name, known); near != "" {
			r.report(namePath(at, name), invalid.BadStructure, "there is no such attribute; did you mean %q?", near)
		} else {
			r.report(namePath(at, name), invalid.BadStructure, "there is no such attribute; there are %s",
				strings.Join(known, ", "))
		}
	}
	out := make(map[string]tftypes.Value, len(known))
	for _, name := range known {
		out[name] = tftypes.NewValue(want.AttributeTypes[name], nil)
		if entry, ok := entries[name]; ok {
			out[name] = r.conform(namePath(at, name), entry, want.AttributeTypes[name])
		}
	}
	return tftypes.NewValue(want, out)
}

// gather moves the secrets of a node's connection, or of a hop of it, to where they belong, from where version 0 of
// slipway_node had them: beside everything else. States may hold such nodes, and objects written by hand are taken in
// either form.
func (r *reading) gather(at string, entries map[string]tftypes.Value, want tftypes.Object) map[string]tftypes.Value {
	below, ok := want.AttributeTypes[nodeCredentials].(tftypes.Object)
	if !ok {
		return entries
	}
	out, secrets, moved := maps.Clone(entries), map[string]tftypes.Value{}, false
	if given, ok := entries[nodeCredentials]; ok && !given.IsNull() {
		inner, ok := entriesOf(given)
		if !ok {
			return entries
		}
		secrets = maps.Clone(inner)
	}
	for _, name := range slices.Sorted(maps.Keys(below.AttributeTypes)) {
		secret, flat := entries[name]
		if !flat {
			continue
		}
		delete(out, name)
		if now, given := secrets[name]; given && !now.IsNull() && !secret.IsNull() {
			r.report(namePath(at, name), invalid.BadStructure, "is given in %s too; keep it there", nodeCredentials)
		} else if !secret.IsNull() {
			secrets[name], moved = secret, true
		}
	}
	if moved {
		out[nodeCredentials] = objectOf(secrets)
	}
	return out
}

func (r *reading) conformElements(at string, v tftypes.Value, want, element tftypes.Type) tftypes.Value {
	elements, ok := elementsOf(v)
	if !ok {
		r.mismatch(at, "a list", v)
		return tftypes.NewValue(want, nil)
	}
	out := make([]tftypes.Value, len(elements))
	for i, e := range elements {
		out[i] = r.notNull(elementPath(at, i), e, element)
	}
	return tftypes.NewValue(want, out)
}

// notNull conforms an element of a collection, where null says nothing that could be meant.
func (r *reading) notNull(at string, v tftypes.Value, want tftypes.Type) tftypes.Value {
	if v.IsKnown() && v.IsNull() {
		r.report(at, invalid.BadStructure, "is null; leave it out instead")
	}
	return r.conform(at, v, want)
}

func (r *reading) conformScalar(at string, v tftypes.Value, want tftypes.Type) tftypes.Value {
	var converted any
	wanted := ""
	switch {
	case want.Is(tftypes.String):
		wanted = "a string"
		if s, ok := textOf(v); ok {
			converted = s
		}
	case want.Is(tftypes.Number):
		wanted = "a whole number"
		if n, ok := wholeOf(v); ok {
			converted = n
		}
	case want.Is(tftypes.Bool):
		wanted = "true or false"
		if b, ok := flagOf(v); ok {
			converted = b
		}
	}
	if converted == nil {
		r.mismatch(at, wanted, v)
	}
	return tftypes.NewValue(want, converted)
}

func (r *reading) mismatch(at, wanted string, v tftypes.Value) {
	r.report(at, invalid.BadStructure, "is %s; write %s", kindOf(v), wanted)
}

// kindOf names the kind of a value without showing it.
func kindOf(v tftypes.Value) string {
	t := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case t.Is(tftypes.String):
		return "a string"
	case t.Is(tftypes.Number):
		return "a number"
	case t.Is(tftypes.Bool):
		return "a bool"
	case t.Is(tftypes.List{}), t.Is(tftypes.Tuple{}):
		return "a list"
	case t.Is(tftypes.Set{}):
		return "a set"
	case t.Is(tftypes.Map{}):
		return "a map"
	case t.Is(tftypes.Object{}):
		return "an object"
	}
	return "a value of another kind"
}

// entriesOf returns what an object or map holds.
func entriesOf(v tftypes.Value) (map[string]tftypes.Value, bool) {
	if !v.Type().Is(tftypes.Object{}) && !v.Type().Is(tftypes.Map{}) {
		return nil, false
	}
	var entries map[string]tftypes.Value
	return entries, v.As(&entries) == nil
}

// objectOf returns the object that holds entries.
func objectOf(entries map[string]tftypes.Value) tftypes.Value {
	attributeTypes := make(map[string]tftypes.Type, len(entries))
	for name, e := range entries {
		attributeTypes[name] = e.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: attributeTypes}, entries)
}

// elementsOf returns what a tuple, list or set holds.
func elementsOf(v tftypes.Value) ([]tftypes.Value, bool) {
	if !v.Type().Is(tftypes.Tuple{}) && !v.Type().Is(tftypes.List{}) && !v.Type().Is(tftypes.Set{}) {
		return nil, false
	}
	var elements []tftypes.Value
	return elements, v.As(&elements) == nil
}

func textOf(v tftypes.Value) (string, bool) {
	switch {
	case v.Type().Is(tftypes.String):
		var s string
		return s, v.As(&s) == nil
	case v.Type().Is(tftypes.Bool):
		var b bool
		err := v.As(&b)
		return strconv.FormatBool(b), err == nil
	case v.Type().Is(tftypes.Number):
		var n big.Float
		err := v.As(&n)
		return n.Text('f', -1), err == nil
	}
	return "", false
}

func wholeOf(v tftypes.Value) (int64, bool) {
	s, ok := textOf(v)
	if !ok || v.Type().Is(tftypes.Bool) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func flagOf(v tftypes.Value) (value, ok bool) {
	s, ok := textOf(v)
	if !ok || v.Type().Is(tftypes.Number) || (s != "true" && s != "false") {
		return false, false
	}
	return s == "true", true
}

func namePath(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func keyPath(at, key string) string { return fmt.Sprintf("%s[%q]", at, key) }

func elementPath(at string, i int) string { return fmt.Sprintf("%s[%d]", at, i) }
