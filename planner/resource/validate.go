package resource

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate returns everything that is wrong with r, sorted by parameter: unknown parameters, missing ones, values of the
// wrong kind or out of bounds, and, when all of these are fine, what the type's own check finds. It accepts the
// metaparameters for every type. No message repeats the value of a sensitive parameter or of a resource with `sensitive = true`.
// The error of a title has the parameter "title".
func (s Schema) Validate(r Resource) []ParameterError {
	var errs []ParameterError
	if m := titleMistake(r.Title); m != "" {
		errs = append(errs, ParameterError{Parameter: "title", Message: m})
	}
	for i := range s.Parameters {
		if p := &s.Parameters[i]; p.Required && !r.Parameters.Has(p.Name) {
			errs = append(errs, ParameterError{Parameter: p.Name, Missing: true, Message: fmt.Sprintf("is required by the type %s", s.Type)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		p := s.parameter(name)
		if p == nil {
			errs = append(errs, s.unknown(name))
			continue
		}
		c := parameterCheck{Parameter: *p, secret: p.Sensitive || r.Sensitive()}
		value := c.run(r.Parameters[name], p.normalize(r.Parameters[name]))
		if value != nil && isReferences(name) {
			_, isList := r.Parameters[name].([]any)
			references, _ := value.([]string) // the parameter's kind
			c.references(references, isList, r.ID())
		}
		errs = append(errs, c.errs...)
	}
	if len(errs) == 0 && s.Check != nil {
		normal := s.Normalize(r)
		for _, e := range s.Check(normal) {
			if s.reveals(e.Message, normal) {
				e.Message = hidden + "; see the description of the type " + s.Type
			}
			errs = append(errs, e)
		}
	}
	slices.SortStableFunc(errs, func(a, b ParameterError) int { return strings.Compare(a.Parameter, b.Parameter) })
	return errs
}

func titleMistake(title string) string {
	switch {
	case title == "":
		return "must not be empty"
	case !utf8.ValidString(title):
		return "is not UTF-8 text"
	case strings.ContainsFunc(title, unicode.IsControl):
		return fmt.Sprintf("%q contains a line break or another control character; titles are one line of text", title)
	}
	return ""
}

func (s Schema) unknown(name string) ParameterError {
	known := s.names()
	message := fmt.Sprintf("the type %s has no such parameter", s.Type)
	if near := Nearest(name, known); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	} else {
		message += "; it has " + strings.Join(known, ", ")
	}
	return ParameterError{Parameter: name, Unknown: true, Message: message}
}

// reveals reports whether a message shows the text of a sensitive parameter.
func (s Schema) reveals(message string, r Resource) bool {
	for _, p := range s.Parameters {
		if !p.Sensitive && !r.Sensitive() {
			continue
		}
		secrets := append(r.Parameters.Strings(p.Name), slices.Collect(maps.Values(r.Parameters.StringMap(p.Name)))...)
		for _, secret := range secrets {
			if secret != "" && strings.Contains(message, secret) {
				return true
			}
		}
	}
	return false
}

// hidden is said instead of what is wrong with a sensitive value, when telling would show it.
const hidden = "is not valid; the value and its mistake are not shown because it is sensitive"

// parameterCheck collects what is wrong with one parameter.
type parameterCheck struct {
	Parameter
	secret bool
	errs   []ParameterError
}

// run checks a value, given as written and normalised, and returns it as [Parameter.Check] takes it, nil when it is wrong.
func (c *parameterCheck) run(written, normal any) any {
	var value any
	switch c.Kind {
	case String:
		if s, ok := c.text(c.Name, written, normal); ok {
			value = s
		}
	case Bool:
		if b, ok := normal.(bool); ok {
			value = b
		} else {
			c.wrong(c.Name, "must be true or false, without quotes", written)
		}
	case Integer:
		if n, ok := normal.(int64); ok {
			value = n
		} else {
			c.wrong(c.Name, "must be a whole number, without quotes", written)
		}
	case StringList:
		if list, ok := normal.([]any); ok {
			value = c.texts(written, list)
		} else {
			c.wrong(c.Name, "must be a list of strings", written)
		}
	case StringMap:
		if m, ok := normal.(map[string]any); ok {
			value = c.textMap(written, m)
		} else {
			c.wrong(c.Name, "must be a map of strings", written)
		}
	}
	if len(c.errs) > 0 {
		return nil
	}
	if c.Check != nil {
		if err := c.Check(value); err != nil {
			message := err.Error()
			if c.secret {
				message = hidden + ". " + c.Description
			}
			c.add(c.Name, message)
			return nil
		}
	}
	return value
}

func (c *parameterCheck) texts(written any, list []any) []string {
	// A list that was written as a single value is shown as that value.
	asWritten, isList := written.([]any)
	out := make([]string, 0, len(list))
	for i, e := range list {
		path, w := c.Name, written
		if isList {
			path, w = fmt.Sprintf("%s[%d]", c.Name, i), asWritten[i]
		}
		if s, ok := c.text(path, w, e); ok {
			out = append(out, s)
		}
	}
	return out
}

func (c *parameterCheck) textMap(written any, m map[string]any) map[string]string {
	asWritten, _ := written.(map[string]any)
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		path := fmt.Sprintf("%s[%q]", c.Name, k)
		if !utf8.ValidString(k) {
			c.add(path, "the key is not UTF-8 text")
		}
		if s, ok := c.text(path, asWritten[k], m[k]); ok {
			out[k] = s
		}
	}
	return out
}

// text checks one string.
func (c *parameterCheck) text(path string, written, normal any) (string, bool) {
	s, ok := normal.(string)
	switch {
	case !ok:
		right := "must be a string"
		if _, isScalar := scalarText(normal); isScalar {
			right += ", in quotes"
		}
		c.wrong(path, right, written)
	case !utf8.ValidString(s):
		c.add(path, "is not UTF-8 text")
	case len(c.Values) > 0 && !slices.Contains(c.Values, s):
		c.notAllowed(path, s)
	default:
		return s, true
	}
	return "", false
}

func (c *parameterCheck) notAllowed(path, value string) {
	allowed := "must be one of " + strings.Join(c.Values, ", ")
	if c.secret {
		c.add(path, allowed)
		return
	}
	message := fmt.Sprintf("%q is not allowed; %s", value, allowed)
	if near := Nearest(value, c.Values); near != "" {
		message += fmt.Sprintf(" (did you mean %q?)", near)
	}
	c.add(path, message)
}

func (c *parameterCheck) references(refs []string, isList bool, self ID) {
	for i, ref := range refs {
		path := c.Name
		if isList {
			path = fmt.Sprintf("%s[%d]", c.Name, i)
		}
		typ, title, err := ParseID(ref)
		switch {
		case err != nil && c.secret:
			c.add(path, "is not a reference of the form type[title]")
		case err != nil:
			c.add(path, err.Error())
		case MakeID(typ, title) == self:
			c.add(path, "refers to the resource itself; name another resource")
		}
	}
}

func (c *parameterCheck) wrong(path, right string, value any) {
	c.add(path, right+", not "+c.describe(value))
}

func (c *parameterCheck) add(path, message string) {
	c.errs = append(c.errs, ParameterError{Parameter: path, Message: message})
}

// describe names a value that is wrong: what it is, and which one it is where that is short and not secret.
func (c *parameterCheck) describe(value any) string {
	const short = 40
	switch v := value.(type) {
	case nil:
		return "null (leave the parameter out instead)"
	case string:
		if c.secret || len(v) > short {
			return "a string"
		}
		return fmt.Sprintf("the string %q", v)
	case bool:
		if c.secret {
			return "a bool"
		}
		return fmt.Sprint(v)
	case int64:
		if c.secret {
			return "a number"
		}
		return fmt.Sprint(v)
	case float64:
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return "a number that is not finite"
		case c.secret:
			return "a number"
		}
		return fmt.Sprint(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	default:
		return fmt.Sprintf("a value of type %T", v)
	}
}
