package document

import (
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog/template"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// maxNesting bounds the nesting of a parameter's values. An alias can even refer to a list that contains it.
const maxNesting = 32

// intoConfiguration reads type -> title -> parameters. Types and parameters are checked later, with the site.
func (r *reader) intoConfiguration(target *resource.Configuration) readFunc {
	return func(n *yaml.Node, path string) {
		const form = "type: {title: {parameter: value}}"
		hint := "write " + form
		if r.live {
			hint = "write type = { title = { parameters } }"
		}
		*target = resource.Configuration{}
		for _, t := range r.members(n, path, form) {
			if t.name == "" {
				r.report(t.key, path, invalid.EmptyType, "a type is empty; %s", hint)
				continue
			}
			at := join(path, t.name)
			titles, before := make(map[string]resource.Parameters), len(r.errs)
			list := r.members(t.value, at, "title: {parameter: value}")
			if r.setAside(before, t.value, t.name, "") {
				continue
			}
			found := len(r.errs)
			for _, title := range list {
				if title.name == "" {
					r.report(title.key, at, invalid.EmptyTitle, "a title is empty; %s", hint)
					continue
				}
				before := len(r.errs)
				p := r.withPlace(withSecrets(t.name, r.parameters(title.value, keyed(at, title.name))))
				if r.isUnknown(title.value) || r.live && len(p) == 0 && len(r.errs) > before {
					continue
				}
				if r.filtered(t.name) || !r.setAside(before, title.value, t.name, title.name) {
					titles[title.name] = p
				}
			}
			(*target)[t.name] = titles
			if r.filtered(t.name) {
				r.errs = r.errs[:found]
			}
		}
	}
}

// parameters reads name -> value.
func (r *reader) parameters(n *yaml.Node, path string) resource.Parameters {
	out := make(resource.Parameters)
	for _, f := range r.members(n, path, "parameter: value") {
		if r.partly && hasUnknown(f.value) {
			out[f.name] = resource.Unknown{Secret: hasUnknownSecret(f.value)}
		} else if value, ok := r.value(f.value, join(path, f.name), 0); ok {
			out[f.name] = value
		}
	}
	return out
}

// hasUnknownSecret reports whether a value, or an element of it, is `{secret = name}` with a name that is not known.
func hasUnknownSecret(n *yaml.Node) bool {
	if n.Kind == yaml.MappingNode {
		return len(n.Content) == 2 && n.Content[0].Value == "secret" && n.Content[1].Tag == unknownTag
	}
	return slices.ContainsFunc(n.Content, hasUnknownSecret)
}

// withSecrets writes the references to secrets in parameters, `{secret = "name"}`, as the texts that stand for them; so
// it does `${secrets.name}` in templates.
func withSecrets(typ string, p resource.Parameters) resource.Parameters {
	text, ok := p[schema.Template].(string)
	if ok && schema.HasTemplate(resource.Resource{Type: typ, Parameters: p}) {
		p[schema.Template] = secretsInTemplate(text)
	}
	for name, value := range p {
		p[name] = secretsIn(value)
	}
	return p
}

// secretsIn does what withSecrets does in a value, which it may change.
func secretsIn(value any) any {
	if text, ok := resource.SecretReference(value); ok {
		return text
	}
	if text, ok := resource.TemplateOf(value); ok {
		return map[string]any{"template": secretsInTemplate(text)}
	}
	list, _ := value.([]any)
	for i, e := range list {
		list[i] = secretsIn(e)
	}
	return value
}

func secretsInTemplate(text string) string {
	return template.InsertSecrets(text, func(name string) string {
		reference, _ := resource.SecretReference(map[string]any{"secret": name})
		return reference
	})
}

// withPlace makes the path of a file or directory on the controller, which a document gives relative to itself, one
// from the working directory. What Terraform gives is that already.
func (r *reader) withPlace(p resource.Parameters) resource.Parameters {
	if r.live || r.converts {
		return p
	}
	for _, name := range []string{resource.SourceFile, schema.SourceDir} {
		if at, ok := p[name].(string); ok && at != "" && !filepath.IsAbs(at) {
			p[name] = filepath.Join(filepath.Dir(r.file), at)
		}
	}
	return p
}

// strictly makes null in what is live an error, in place of something that is left out: an override cannot take a
// parameter away, so null would silently do nothing (fuel.md, OV-36).
func (r *reader) strictly(read readFunc) readFunc {
	return func(n *yaml.Node, path string) {
		r.strict = r.live
		read(n, path)
		r.strict = false
	}
}

// withNulls calls read while null is a value that may be nested so deep.
func (r *reader) withNulls(depth int, read func()) {
	was := r.nulls
	r.nulls = depth
	read()
	r.nulls = was
}

// value returns the value of a parameter: string, bool, int64 for whole numbers, float64 for others, []any and
// map[string]any. Its errors never repeat the value, which may be secret.
func (r *reader) value(n *yaml.Node, path string, depth int) (any, bool) {
	if depth > maxNesting {
		r.report(n, path, Schema, "lists and mappings are more than %d levels deep, or one holds itself", maxNesting)
		return nil, false
	}
	at := r.resolve(n)
	if at == nil {
		return nil, false
	}
	if depth < r.nulls && isScalar(at, "!!null") {
		return nil, true
	}
	switch at.Kind {
	case yaml.SequenceNode:
		out := make([]any, 0, len(at.Content))
		for i, item := range at.Content {
			value, ok := r.value(item, index(path, i), depth+1)
			if !ok {
				return nil, false
			}
			out = append(out, value)
		}
		return out, true
	case yaml.MappingNode:
		fs, ok := r.mapping(n, path)
		if !ok {
			return nil, false
		}
		out := make(map[string]any, len(fs.list))
		for _, f := range fs.list {
			if r.live && isNull(f.value) {
				continue
			}
			value, ok := r.value(f.value, keyed(path, f.name), depth+1)
			if !ok {
				return nil, false
			}
			out[f.name] = value
		}
		return out, true
	}
	return r.scalar(n, at, path)
}

// plainInteger is a whole number that YAML and people read alike. To YAML 0644 is 420.
var plainInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

func (r *reader) scalar(n, at *yaml.Node, path string) (any, bool) {
	switch at.ShortTag() {
	case "!!str":
		if resource.SecretIn(at.Value) {
			r.report(n, path, Schema, "contains a text that stands for a secret; write { secret = \"name\" } as the whole value")
			return nil, false
		}
		return at.Value, true
	case "!!bool":
		var b bool
		if at.Decode(&b) == nil {
			return b, true
		}
	case "!!int":
		if !plainInteger.MatchString(at.Value) {
			r.report(n, path, Schema,
				"is a number that YAML does not read as it is written (0644 is 420); write it in quotes")
			return nil, false
		}
		if i, err := strconv.ParseInt(at.Value, 10, 64); err == nil {
			return i, true
		}
		r.tooLarge(n, path)
		return nil, false
	case "!!float":
		if plainInteger.MatchString(at.Value) {
			r.tooLarge(n, path)
			return nil, false
		}
		var f float64
		if at.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			if whole, ok := resource.Whole(f); ok {
				return whole, true
			}
			return f, true
		}
		r.report(n, path, Schema, "is not a finite number")
		return nil, false
	case "!!null":
		switch {
		case r.strict:
			r.wrongKind(n, at, path, "")
		case r.live:
			r.report(n, path, invalid.NullValue, "is null; leave it out")
		default:
			r.report(n, path, invalid.NullValue, "is nothing (null); give a value, or leave it out")
		}
		return nil, false
	}
	r.wrongKind(n, at, path, "a value that a parameter takes; write it in quotes if text is meant")
	return nil, false
}

func (r *reader) tooLarge(n *yaml.Node, path string) {
	r.report(n, path, Schema, "is a whole number of more than 64 bits; write it in quotes if text is meant")
}
