package edit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// editLimit bounds the edits of one update.
const editLimit = 10_000

// Apply is the update of PATCH v2: it carries out edits one after the other, each on what the ones before it left. With mistakes there is no result; all
// of them are told, those of targets with the code bad_edit_target and the path `edits[i].target` (lsm.md 4).
//
// All names of a target but the last must be there, and all filters of a part must hold for exactly one element. Whether a name is an attribute,
// and who may change it, is not looked at. A child whose key changes is a new one (lsm.md 13): what slipway had set in it is dropped.
func Apply(entity *catalog.Entity, base map[string]any, edits []Edit) (map[string]any, []catalog.Mistake) {
	if len(edits) > editLimit {
		return nil, []catalog.Mistake{{Path: "edits", Code: catalog.BadEdit, Message: fmt.Sprintf("there are %d; %d is the most in one update", len(edits), editLimit)}}
	}
	tree, _ := clone(base).(map[string]any)
	if tree == nil {
		tree = make(map[string]any)
	}
	var mistakes []catalog.Mistake
	for i, e := range edits {
		var wrong *mistake
		if tree, wrong = apply(entity.Structure, tree, e); wrong != nil {
			message := wrong.message
			if e.ID != "" {
				message = fmt.Sprintf("edit %q: %s", e.ID, message)
			}
			mistakes = append(mistakes, catalog.Mistake{Path: fmt.Sprintf("edits[%d].%s", i, wrong.key), Code: wrong.code, Message: message})
		}
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return tree, nil
}

// mistake is what is wrong with one edit, and which of its keys is to blame.
type mistake struct {
	key     string
	code    catalog.Code
	message string
}

func badTarget(format string, args ...any) *mistake {
	return &mistake{"target", catalog.BadEditTarget, fmt.Sprintf(format, args...)}
}

func badValue(format string, args ...any) *mistake {
	return &mistake{"value", catalog.BadEdit, fmt.Sprintf(format, args...)}
}

// apply carries out one edit in the tree, which belongs to it.
func apply(s catalog.Structure, tree map[string]any, e Edit) (map[string]any, *mistake) {
	if !slices.Contains(Operations(), e.Operation) {
		return tree, &mistake{"operation", catalog.BadEdit, fmt.Sprintf("there is no operation %q; use replace, merge or remove", e.Operation)}
	}
	path, err := ParsePath(e.Target)
	if err != nil {
		return tree, badTarget("is no path to an attribute: %s", err)
	}
	value := clone(e.Value)
	if len(path) == 0 {
		return whole(s, tree, e.Operation, value)
	}
	at, wrong := locate(s, tree, path)
	if wrong != nil {
		return tree, wrong
	}
	return tree, at.change(e.Operation, value)
}

// whole carries out an edit of the whole tree.
func whole(s catalog.Structure, tree map[string]any, operation Operation, value any) (map[string]any, *mistake) {
	object, ok := value.(map[string]any)
	switch {
	case operation == Remove:
		return tree, badTarget("the whole cannot be removed; delete the service instead")
	case !ok:
		return tree, badValue("is %s; the whole of the attributes is an object", kind(value))
	case operation == Replace:
		return object, nil
	}
	combineObjects(level{structure: &s}, tree, object)
	return tree, nil
}

// level is what the catalog says of a place: the structure of an object, nothing inside attributes; and of what embedded entity it is a child.
type level struct {
	structure *catalog.Structure
	child     *catalog.Embedded
}

// embedded returns the embedded entity of a name, nil when the name is another thing.
func (l level) embedded(name string) *catalog.Embedded {
	if l.structure == nil {
		return nil
	}
	i := slices.IndexFunc(l.structure.Embedded, func(e catalog.Embedded) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &l.structure.Embedded[i]
}

func (l level) below(name string) level {
	e := l.embedded(name)
	if e == nil {
		return level{}
	}
	return level{structure: &e.Structure, child: e}
}

// shown is a path for people: values of filters on sensitive attributes are left out.
func shown(s catalog.Structure, path Path) string {
	out := slices.Clone(path)
	l := level{structure: &s}
	for i := range out {
		l = l.below(out[i].Name)
		out[i].Filters = slices.Clone(out[i].Filters)
		for j, f := range out[i].Filters {
			if l.structure == nil {
				out[i].Filters[j] = Filter{Name: f.Name, Value: "..."} // inside an attribute, which may be a secret
			} else if a, ok := l.structure.Attribute(f.Name); ok && a.Sensitive {
				out[i].Filters[j] = Filter{Name: f.Name, Value: "..."}
			}
		}
	}
	return out.String()
}

// target is a place that a path leads to: a name of an object, or an element of the list there.
type target struct {
	in      level
	object  map[string]any
	name    string
	element int // -1: no element
	text    string
}

func locate(s catalog.Structure, tree map[string]any, path Path) (target, *mistake) {
	t := target{in: level{structure: &s}, object: tree}
	for i, part := range path {
		t.name, t.element, t.text = part.Name, -1, shown(s, path[:i+1])
		value, found := t.object[part.Name]
		last := i == len(path)-1
		if len(part.Filters) > 0 {
			list, ok := value.([]any)
			if !ok {
				return t, badTarget("%s: %q is %s, not a list; leave the filter out", t.text, part.Name, absent(value, found))
			}
			hits := 0
			for j, element := range list {
				if object, ok := element.(map[string]any); ok && holds(part.Filters, object) {
					t.element = j
					hits++
				}
			}
			if hits != 1 {
				return t, badTarget("%s: %s; a target is exactly one", t.text, hit(hits))
			}
			value = list[t.element]
		}
		if last {
			return t, nil
		}
		object, ok := value.(map[string]any)
		if !ok {
			hint := ""
			if _, isList := value.([]any); isList {
				hint = "; say which element, as in list[key=value]"
			}
			return t, badTarget("%s is %s, so nothing is inside it%s", t.text, absent(value, found), hint)
		}
		t.in, t.object = t.in.below(part.Name), object
	}
	return t, nil
}

func hit(n int) string {
	if n == 0 {
		return "no element is so"
	}
	return fmt.Sprintf("%d elements are so", n)
}

func absent(value any, found bool) string {
	if !found {
		return "not there"
	}
	return kind(value)
}

func kind(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a simple value"
}

// holds reports whether an object has all values.
func holds(filters []Filter, object map[string]any) bool {
	for _, f := range filters {
		switch v := object[f.Name].(type) {
		case nil:
			if !f.Null {
				return false
			}
		case string:
			if f.Null || v != f.Value {
				return false
			}
		case bool:
			if f.Null || strconv.FormatBool(v) != f.Value && (v && f.Value != "True" || !v && f.Value != "False") { // as Python writes it
				return false
			}
		case int64, float64:
			if f.Null || catalog.Canonical(v) != f.Value {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func (t target) change(operation Operation, value any) *mistake {
	if t.element >= 0 {
		return t.changeElement(operation, value)
	}
	old, found := t.object[t.name]
	switch operation {
	case Remove:
		if !found {
			return badTarget("%s is not there, so it cannot be removed", t.text)
		}
		delete(t.object, t.name)
	case Replace:
		t.rekey(t.object, t.in.child, map[string]any{t.name: value})
		t.object[t.name] = value
	case Combine:
		if !combinable(t.in.embedded(t.name), old, value) {
			return badValue("is %s, and %s is %s; merge is for two objects or two lists: use replace", kind(value), t.text, absent(old, found))
		}
		t.object[t.name] = t.in.combine(t.name, old, value)
	}
	return nil
}

func (t target) changeElement(operation Operation, value any) *mistake {
	list, _ := t.object[t.name].([]any)
	switch operation {
	case Remove:
		t.object[t.name] = slices.Delete(list, t.element, t.element+1)
	case Replace:
		list[t.element] = value
	case Combine:
		object, ok := value.(map[string]any)
		if !ok {
			return badValue("is %s, and %s is an object; merge is for two objects or two lists: use replace", kind(value), t.text)
		}
		child, _ := list[t.element].(map[string]any)
		l := t.in.below(t.name)
		t.rekey(child, l.child, object)
		combineObjects(l, child, object)
	}
	return nil
}

// rekey drops what slipway has set in a child that gets another key from a change.
func (target) rekey(child map[string]any, e *catalog.Embedded, change map[string]any) {
	if e == nil {
		return
	}
	for _, k := range e.Key {
		if value, ok := change[k]; ok && catalog.Canonical(value) != catalog.Canonical(child[k]) {
			kept := withoutAllocated(e.Structure, child)
			clear(child)
			maps.Copy(child, kept)
			return
		}
	}
}

// combinable reports whether merge can bring two values together. What is not there, or null, takes what comes; a list of children takes one child too.
func combinable(e *catalog.Embedded, old, value any) bool {
	_, isObject := value.(map[string]any)
	_, isList := value.([]any)
	switch old.(type) {
	case nil:
		return isObject || isList
	case map[string]any:
		return isObject
	case []any:
		return isList || isObject && e != nil
	}
	return false
}

// combine brings together the two values under a name.
func (l level) combine(name string, old, value any) any {
	e := l.embedded(name)
	if object, ok := value.(map[string]any); ok && e != nil && !e.Single() {
		value = []any{object}
	}
	switch v := value.(type) {
	case map[string]any:
		if object, ok := old.(map[string]any); ok {
			combineObjects(l.below(name), object, v)
			return object
		}
	case []any:
		if list, ok := old.([]any); ok {
			return combineLists(e, list, v)
		}
	}
	return value
}

func combineObjects(l level, into, from map[string]any) {
	for name, value := range from {
		into[name] = l.combine(name, into[name], value)
	}
}

func combineLists(e *catalog.Embedded, into, from []any) []any {
	if e == nil || len(e.Key) == 0 {
		return append(into, from...)
	}
	index := make(map[string]int, len(into))
	for i, element := range into {
		if child, ok := element.(map[string]any); ok {
			index[keyOf(*e, child)] = i
		}
	}
	for _, element := range from {
		child, ok := element.(map[string]any)
		if !ok {
			into = append(into, element) // the types are checked later
			continue
		}
		key := keyOf(*e, child)
		i, found := index[key]
		if !found {
			index[key] = len(into)
			into = append(into, child)
			continue
		}
		old, _ := into[i].(map[string]any)
		combineObjects(level{structure: &e.Structure, child: e}, old, child)
	}
	return into
}

// clone copies a value to any depth.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if v == nil {
			return nil
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return value
}
