package resource

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Validate returns everything that is wrong with r, sorted by parameter: unknown parameters, missing ones, values of
// the wrong kind or out of bounds, and, when all of these are fine, what the type's own check finds. It accepts the
// metaparameters for every type. Of a value with templates it checks these. No message repeats the value of a sensitive
// parameter or of a resource with `sensitive = true`. The error of a title has the parameter "title".
func (s Schema) Validate(r Resource) []invalid.Error {
	_, errs := s.Conform(r)
	return errs
}

// Conform is [Schema.Validate] and [Schema.Normalize] in one. Unlike that of Normalize, the result shares values with
// r, and has the parameters of r themselves when they are in their normal form.
func (s Schema) Conform(r Resource) (Resource, []invalid.Error) {
	var errs []invalid.Error
	if m := titleError(r.Title); m != "" {
		errs = append(errs, invalid.Error{Attribute: "title", Message: m})
	}
	for i := range s.Parameters {
		if p := &s.Parameters[i]; p.Required && !r.Parameters.Has(p.Name) {
			errs = append(errs, invalid.Error{Attribute: p.Name, Code: invalid.MissingParameter,
				Message: fmt.Sprintf("is required by the type %s", s.Type)})
		}
	}
	secret, n := r.Sensitive(), normalizing{given: r.Parameters, normal: r.Parameters}
	var few [fewNames]string
	whole := true
	for _, name := range sortedNames(few[:0], r.Parameters) {
		p := s.parameter(name)
		if p == nil {
			errs = append(errs, s.unknown(name))
			continue
		}
		written := r.Parameters[name]
		unknown, is := written.(Unknown)
		named := unknown.Secret || secretIn(written)
		if is && (!named || p.Secret) {
			whole = false
			continue
		}
		if named && !p.Secret {
			errs = append(errs, invalid.Error{Attribute: name, Message: s.noSecret()})
			whole = false
			continue
		}
		templates := s.Template != nil && !IsMetaparameter(name)
		if templates && len(TemplatesIn(written)) > 0 {
			errs = append(errs, s.templates(p, written)...)
			whole = false
			continue
		}
		normal, changed := p.normalize(written)
		c := parameterCheck{Parameter: p, secret: p.Sensitive || secret, named: named, templates: templates}
		if c.run(written, normal) && isReferences(name) {
			c.references(written, normal, r)
		}
		errs = append(errs, c.errs...)
		n.set(p, normal, changed)
	}
	r.Parameters = n.normal
	if r.Parameters.Bool(Guard) && !s.Restorable {
		errs = append(errs, invalid.Error{Attribute: Guard, Message: fmt.Sprintf("a change of a resource of the type %s "+
			"cannot be put back; give guard to the file or service that it is about, and let that notify it", s.Type)})
	}
	if len(errs) == 0 && s.Check != nil && whole {
		for _, e := range s.Check(r) {
			if s.reveals(e.Message, r) {
				e.Message = hidden + "; see the description of the type " + s.Type
			}
			errs = append(errs, e)
		}
	}
	slices.SortStableFunc(errs, func(a, b invalid.Error) int { return strings.Compare(a.Attribute, b.Attribute) })
	return r, errs
}

func titleError(title string) string {
	switch {
	case title == "":
		return "must not be empty"
	case !utf8.ValidString(title):
		return "is not UTF-8 text"
	case strings.ContainsFunc(title, unicode.IsControl):
		return fmt.Sprintf("%q contains a line break or another control character; titles are one line of text", title)
	}
	if r, found := Invisible(title); found {
		return fmt.Sprintf("%q contains %U, which is invisible; leave it out", title, r)
	}
	return ""
}

// ansibleParameters are the parameters that Ansible calls otherwise, which are not spelt alike: the first one that a
// type has is meant.
var ansibleParameters = map[string][]string{
	"chdir":       {"cwd"},
	"cmd":         {"command"},
	"day":         {"monthday"},
	"dest":        {"path"},
	"expires":     {"expiry"},
	"insertafter": {"after"},
	"job":         {"command"},
	"option":      {"setting"},
	"opts":        {"options"},
	"regexp":      {"match"},
	"repo":        {"location", "source"},
	"retries":     {"tries"},
	"src":         {"source", "device"},
	"state":       {"ensure"},
	"url":         {"source"},
	"validate":    {"validate_cmd"},
	"version":     {"revision"},
}

func (s Schema) unknown(name string) invalid.Error {
	known := s.names()
	message := fmt.Sprintf("the type %s has no such parameter", s.Type)
	meant := slices.DeleteFunc(slices.Clone(ansibleParameters[name]), func(n string) bool { return s.parameter(n) == nil })
	if len(meant) == 0 {
		useless := func(n string) bool { return IsMetaparameter(n) && s.parameter(n).Unused }
		meant = []string{Nearest(name, slices.DeleteFunc(slices.Clone(known), useless))}
	}
	if meant[0] != "" {
		message += fmt.Sprintf("; did you mean %q?", meant[0])
	} else {
		message += "; it has " + strings.Join(known, ", ")
	}
	return invalid.Error{Attribute: name, Code: invalid.UnknownParameter, Message: message}
}

// reveals reports whether a message contains the text of a sensitive parameter.
func (s Schema) reveals(message string, r Resource) bool {
	for _, p := range s.Parameters {
		if !p.Sensitive && !r.Sensitive() {
			continue
		}
		secrets := append(r.Parameters.Strings(p.Name), slices.Collect(maps.Values(r.Parameters.StringMap(p.Name)))...)
		for _, c := range r.Parameters.Commands(p.Name) {
			secrets = append(secrets, c.Words...)
		}
		for _, secret := range secrets {
			if secret != "" && strings.Contains(message, secret) {
				return true
			}
		}
	}
	return false
}

// hidden replaces the message about a sensitive value when the message would show it.
const hidden = "is not valid; the value and its error are not shown because it is sensitive"

// Rule returns an error of [Parameter.Check] that says what is wrong with a value, or what would be right, and nothing
// of the value: it is shown also where the value is sensitive. Other packages can give nothing but a constant. An error
// that quotes the value wraps it.
func Rule(text constant) error { return rule{string(text)} }

type constant string

type rule struct{ text string }

func (r rule) Error() string { return r.text }

// parameterCheck collects what is wrong with one parameter.
type parameterCheck struct {
	*Parameter
	secret bool
	named  bool // it has texts that stand for secrets: the node checks their contents
	// templates says that its values may be written as templates.
	templates bool
	errs      []invalid.Error
}

// run checks a value, given as written and normalised, and reports whether it is fine.
func (c *parameterCheck) run(written, normal any) bool {
	value := normal // as [Parameter.Check] takes it
	switch c.Kind {
	case String:
		c.text(c.Name, written, normal)
	case Bool:
		_, ok := normal.(bool)
		if _, text := normal.(string); !ok && (!text || !c.Text) {
			c.wrong(c.Name, "must be true or false, without quotes", written)
		}
	case Integer:
		if _, ok := normal.(int64); !ok {
			c.wrong(c.Name, "must be a whole number, without quotes", written)
		}
	case StringList:
		if list, ok := normal.([]any); ok {
			c.texts(written, list)
		} else if text, ok := normal.(string); ok && c.Single {
			c.text(c.Name, text, text)
		} else {
			right := "must be a list of strings"
			if c.Instead != nil {
				right += fmt.Sprintf(", such as %q", c.Instead(written))
			}
			c.wrong(c.Name, right, written)
		}
	case StringMap:
		if m, ok := normal.(map[string]any); ok {
			c.textMap(written, m)
		} else {
			c.wrong(c.Name, "must be a map of strings", written)
		}
	}
	if len(c.errs) > 0 {
		return false
	}
	list, isList := normal.([]any)
	switch {
	case c.Check == nil || c.named:
		return true
	case c.Commands && isList && len(list) > 0:
		for _, e := range list {
			if !c.check(Parameters{"": e}.Strings("")) {
				return false
			}
		}
		return true
	}
	switch v := normal.(type) {
	case string:
		if c.Kind == StringList {
			value = []string{v}
		}
	case []any:
		value = textsOf(v)
	case map[string]any:
		value = textMapOf(v)
	}
	return c.check(value)
}

// check calls Check with a value of the kind that it takes, and reports whether that is fine.
func (c *parameterCheck) check(value any) bool {
	err := c.Check(value)
	if err == nil {
		return true
	}
	message := err.Error()
	if r := (rule{}); c.secret && errors.As(err, &r) {
		message = r.text + "; the value is not shown because it is sensitive"
	} else if c.secret {
		message = hidden + ". " + c.Description
	}
	c.add(c.Name, message)
	return false
}

func (c *parameterCheck) texts(written any, list []any) {
	// A list that was written as a single value is shown as that value.
	asWritten, isList := written.([]any)
	for i, e := range list {
		words, isWords := e.([]any)
		switch {
		case c.fits(e):
		case c.Commands && isWords:
			for at, word := range words {
				c.text(fmt.Sprintf("%s[%d]", c.element(i), at), word, word)
			}
		case isList:
			c.text(c.element(i), asWritten[i], e)
		default:
			c.text(c.Name, written, e)
		}
	}
}

// element is the path of an element of a list.
func (c *parameterCheck) element(i int) string { return fmt.Sprintf("%s[%d]", c.Name, i) }

func (c *parameterCheck) textMap(written any, m map[string]any) {
	asWritten, _ := written.(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		path := fmt.Sprintf("%s[%q]", c.Name, k)
		if !utf8.ValidString(k) {
			c.add(path, "the key is not UTF-8 text")
		}
		c.text(path, asWritten[k], m[k])
	}
}

// fits reports whether text finds nothing wrong.
func (c *parameterCheck) fits(normal any) bool {
	s, ok := normal.(string)
	return ok && utf8.ValidString(s) && (len(c.Values) == 0 || slices.Contains(c.Values, s))
}

// text checks one string.
func (c *parameterCheck) text(path string, written, normal any) {
	if c.fits(normal) {
		return
	}
	s, ok := normal.(string)
	switch {
	case !ok:
		right := "must be a string"
		if _, isScalar := scalarText(normal); isScalar {
			right += ", in quotes"
			if c.Instead != nil && !c.secret && c.Instead(normal) != "" {
				right += fmt.Sprintf(": %q", c.Instead(normal))
			}
		}
		c.wrong(path, right, written)
	case !utf8.ValidString(s):
		c.add(path, "is not UTF-8 text")
	default:
		c.notAllowed(path, s)
	}
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

// references checks a list of strings that are to be references, in the order written.
func (c *parameterCheck) references(written, normal any, r Resource) {
	_, isList := written.([]any)
	list, _ := normal.([]any) // the parameter's kind
	for i, e := range list {
		typ, title, err := ParseID(textOf(e))
		message, code := "", invalid.Code("")
		switch {
		case err != nil && c.secret:
			message = "is not a reference of the form type[title], such as service[nginx]"
		case err != nil:
			message = err.Error()
		case title == r.Title && typ == r.Type:
			message, code = "refers to the resource itself; name another resource", invalid.DependencyCycle
		default:
			continue
		}
		path := c.Name
		if isList {
			path = c.element(i)
		}
		c.errs = append(c.errs, invalid.Error{Attribute: path, Message: message, Code: code})
	}
}

func (c *parameterCheck) wrong(path, right string, value any) {
	message := right + ", not " + c.describe(value)
	if _, is := value.(map[string]any); is && c.Kind != StringMap {
		switch {
		case c.Secret:
			message += "; write a secret of the deployment as { secret = \"name\" }, with letters, digits, _, . and - in its " +
				"name, or as $${secrets.name} in { template = \"text\" }"
		case c.templates:
			message += "; write a template as { template = \"text\" }"
		}
	}
	c.add(path, message)
}

func (c *parameterCheck) add(path, message string) {
	c.errs = append(c.errs, invalid.Error{Attribute: path, Message: message})
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
