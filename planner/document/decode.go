package document

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// readFunc reads the value n, which is at path in the document, and stores it. It reports what is wrong with it.
type readFunc func(n *yaml.Node, path string)

// key is a key that an object may have.
type key struct {
	name     string
	required bool
	read     readFunc
}

// object reads a mapping and reports unknown keys.
func (r *reader) object(n *yaml.Node, path string, keys ...key) {
	if fs, ok := r.mapping(n, path); ok {
		r.known(fs, path, keys)
		r.read(n, fs, path, keys...)
	}
}

// read reads the keys of a mapping, in the order of keys.
func (r *reader) read(n *yaml.Node, fs *fields, path string, keys ...key) {
	for _, k := range keys {
		value, ok := fs.get(k.name)
		switch {
		case ok && r.isUnknown(value):
		case ok:
			k.read(value, join(path, k.name))
		case k.required:
			r.required(n, fs, path, k.name)
		}
	}
}

// options are what a tag `key` says after the name, separated by commas:
//
//	required  the key must be there
//	null      the value may be null, which leaves the field as it is or a text empty; an empty text is an error
//	filled=X  the text must not be empty; X is what to do about it
//	secret    no error may quote the text; the key may also be below `credentials`
//	port      the number of a port
//	most=N    the largest whole number
//	set       the order of the texts says nothing: those of Terraform are sorted
//	some=X    X, the object, or each object of the list, must have a key
type options string

func (o options) get(name string) (value string, ok bool) {
	for option := range strings.SplitSeq(string(o), ",") {
		if option, value, _ := strings.Cut(option, "="); option == name {
			return value, true
		}
	}
	return "", false
}

func (o options) has(name string) bool {
	_, ok := o.get(name)
	return ok
}

// keyOf returns the name of a field's key and its options. The name is in the tag `key`, else in the tag `json`;
// without one, or with the name -, the field has no key.
func keyOf(f reflect.StructField) (name string, o options, ok bool) {
	name, rest, _ := strings.Cut(f.Tag.Get("key"), ",")
	inJSON, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	name = cmp.Or(name, inJSON)
	return name, options(rest), name != "" && name != "-"
}

// keys returns the keys of the struct that target points to, and own ones, which replace those of the same name.
func (r *reader) keys(target any, own ...key) []key {
	var out, secrets []key
	v := reflect.ValueOf(target).Elem()
	for i := range v.NumField() {
		name, o, ok := keyOf(v.Type().Field(i))
		if !ok || slices.ContainsFunc(own, func(k key) bool { return k.name == name }) {
			continue
		}
		if k := (key{name, o.has("required"), r.intoField(v.Field(i), o)}); o.has("secret") {
			secrets = append(secrets, k)
		} else {
			out = append(out, k)
		}
	}
	if len(secrets) > 0 {
		out = append(out, r.eitherPlace(secrets)...)
	}
	return append(out, own...)
}

// eitherPlace returns the keys of an object whose secrets are either below `credentials`, as in slipway_node, or beside
// the other keys, as in documents and states of slipway 0.1.0.
func (r *reader) eitherPlace(secrets []key) []key {
	const apart = "credentials"
	given := make(map[string]bool, len(secrets))
	for i, k := range secrets {
		secrets[i].read = func(n *yaml.Node, path string) {
			if given[k.name] {
				r.report(n, path, Schema, "stands beside %s and in it; keep one", apart)
				return
			}
			given[k.name] = true
			k.read(n, path)
		}
	}
	return append(secrets, key{apart, false, func(n *yaml.Node, path string) { r.object(n, path, secrets...) }})
}

// into returns what reads a value into the variable that target points to, as its type says.
func (r *reader) into(target any) readFunc { return r.intoField(reflect.ValueOf(target).Elem(), "") }

func (r *reader) intoField(v reflect.Value, o options) readFunc {
	switch target := v.Addr().Interface().(type) {
	case *time.Duration:
		return r.intoDuration(target)
	case *resource.Configuration:
		return r.intoConfiguration(target)
	case *map[string]any:
		return func(n *yaml.Node, path string) { *target = r.parameters(n, path) }
	case *any:
		return func(n *yaml.Node, path string) { *target, _ = r.value(n, path, 0) }
	case *int64:
		return r.intoWhole(target)
	}
	switch v.Kind() {
	case reflect.String:
		return func(n *yaml.Node, path string) { v.SetString(r.textWith(n, path, o)) }
	case reflect.Bool:
		return func(n *yaml.Node, path string) { v.SetBool(r.boolean(n, path)) }
	case reflect.Int:
		return func(n *yaml.Node, path string) { v.SetInt(int64(r.integerWith(n, path, o))) }
	case reflect.Pointer:
		return func(n *yaml.Node, path string) {
			if at := r.resolve(n); o.has("null") && (at == nil || isScalar(at, "!!null")) {
				return
			}
			v.Set(reflect.New(v.Type().Elem()))
			r.intoField(v.Elem(), o)(n, path)
		}
	case reflect.Struct:
		return func(n *yaml.Node, path string) {
			keys := r.keys(v.Addr().Interface())
			r.object(n, path, keys...)
			if what, some := o.get("some"); some {
				r.notEmpty(n, path, what, keys)
			}
		}
	case reflect.Slice:
		return func(n *yaml.Node, path string) {
			items := slices.DeleteFunc(slices.Clone(r.list(n, path)), r.isUnknown)
			v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
			for i, item := range items {
				r.intoField(v.Index(i), o)(item, index(path, i))
			}
			if texts, ok := v.Interface().([]string); ok && o.has("set") && r.converts { // a set has an order of its own
				slices.Sort(texts)
			}
		}
	case reflect.Map:
		return func(n *yaml.Node, path string) { r.mapInto(v, n, path) }
	}
	panic("document: no reader for " + v.Type().String())
}

// mapInto reads a mapping of any keys.
func (r *reader) mapInto(v reflect.Value, n *yaml.Node, path string) {
	fs, ok := r.mapping(n, path)
	if !ok {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(fs.list)))
	at := keyed
	if v.Type().Elem().Kind() == reflect.Map {
		at = join
	}
	for i, mapping := 0, r.resolve(n); r.noNulls && !r.strict && i+1 < len(mapping.Content); i += 2 {
		if value := mapping.Content[i+1]; isNull(value) {
			r.wrongKind(value, value, at(path, mapping.Content[i].Value), "")
		}
	}
	for _, f := range fs.list {
		if f.name == "" && v.Type().Elem().Kind() == reflect.Map {
			r.report(f.key, path, invalid.EmptyType, "a type is empty; write type: {parameter: value}")
			continue
		}
		element := reflect.New(v.Type().Elem()).Elem()
		r.intoField(element, "")(f.value, at(path, f.name))
		v.SetMapIndex(reflect.ValueOf(f.name), element)
	}
}

// notEmpty reports a mapping without any key (airship.md D-19).
func (r *reader) notEmpty(n *yaml.Node, path, what string, keys []key) {
	if at := r.resolve(n); at != nil && at.Kind == yaml.MappingNode && len(at.Content) == 0 {
		r.report(n, path, Schema, "is empty; %s must have at least one of %s", what, strings.Join(namesOf(keys), ", "))
	}
}

func namesOf(keys []key) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}

// textWith returns a text with the options null, filled and secret.
func (r *reader) textWith(n *yaml.Node, path string, o options) string {
	at := r.resolve(n)
	switch {
	case at == nil, o.has("null") && isScalar(at, "!!null"):
		return ""
	case o.has("secret") && !isScalar(at, "!!str") && (!r.converts || !isScalar(at, "!!bool", "!!int", "!!float")):
		r.wrongKind(n, at, path, "text; write it in quotes")
		return ""
	}
	text, ok := r.text(n, path)
	switch {
	case !ok:
	case o.has("null") && strings.TrimSpace(text) == "":
		r.report(n, path, Schema, "is empty; write null, or leave it out, for none")
	case o.has("filled") && text == "":
		advice, _ := o.get("filled")
		r.report(n, path, Schema, "is empty; %s", cmp.Or(advice, "give a name, or leave it out"))
	}
	return text
}

// integerWith returns a whole number with the options port and most.
func (r *reader) integerWith(n *yaml.Node, path string, o options) int {
	most := math.MaxInt32
	if o.has("port") {
		most = 65535
	} else if value, ok := o.get("most"); ok {
		most, _ = strconv.Atoi(value)
	}
	number, ok := r.integer(n, path, most)
	if ok && number == 0 && o.has("port") {
		r.report(n, path, Schema, "0 is not a port; give a number from 1 to 65535, or leave it out")
	}
	return number
}

// ParseDuration reads a positive duration. Zero is an error and does not mean "not set" (airship.md D-24).
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration; write a number and a unit, such as 30s, 10m or 1h30m", cut(s, maxWord))
	case d <= 0:
		return 0, fmt.Errorf("%q is not above zero; leave it out for the default", s)
	}
	return d, nil
}

// intoDuration reads what [ParseDuration] reads.
func (r *reader) intoDuration(target *time.Duration) readFunc {
	return func(n *yaml.Node, path string) {
		s, ok := r.text(n, path)
		if !ok {
			return
		}
		d, err := ParseDuration(s)
		if err != nil {
			r.report(n, path, invalid.BadValue, "%v", err)
		}
		*target = d
	}
}

// intoWhole reads a signed 64-bit integer.
func (r *reader) intoWhole(target *int64) readFunc {
	return func(n *yaml.Node, path string) {
		value, ok := r.value(n, path, 0)
		number, whole := value.(int64)
		if ok && !whole {
			r.wrongKind(n, r.resolve(n), path, "a whole number")
		}
		*target = number
	}
}

// each reads the items of a list.
func (r *reader) each(read readFunc) readFunc {
	return func(n *yaml.Node, path string) {
		for i, item := range r.list(n, path) {
			read(item, index(path, i))
		}
	}
}

// listInto reads the items of a list and adds them to target.
func listInto[T any](r *reader, target *[]T, read func(n *yaml.Node, path string) T) readFunc {
	return r.each(func(n *yaml.Node, path string) { *target = append(*target, read(n, path)) })
}

// membersInto reads the members of a mapping, each an object with the key as its name, and adds them to target.
func membersInto[T any](r *reader, target *[]T, read func(f field, path string) T) readFunc {
	return func(n *yaml.Node, path string) {
		if fs, ok := r.mapping(n, path); ok {
			for _, f := range fs.list {
				*target = append(*target, read(f, join(path, f.name)))
			}
		}
	}
}

// PlainOf returns what an object has under the keys that [reader.keys] reads, as plain values: durations as texts, and
// nil for a text, a duration or a pointer that is not set.
func PlainOf(v any) any { return plainOf(reflect.ValueOf(v)) }

func plainOf(v reflect.Value) any {
	if d, ok := v.Interface().(time.Duration); ok {
		if d == 0 {
			return nil
		}
		return d.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		out := make(map[string]any, v.NumField())
		for i := range v.NumField() {
			if name, _, ok := keyOf(v.Type().Field(i)); ok {
				out[name] = plainOf(v.Field(i))
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plainOf(v.Index(i))
		}
		return out
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plainOf(v.Elem())
	case reflect.String:
		if v.Len() == 0 {
			return nil
		}
	}
	return v.Interface()
}
