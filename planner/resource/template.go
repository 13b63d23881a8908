package resource

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// A value of a parameter in inline configuration may be written as `{template = "..."}`: what the template gives on a
// node takes its place before anything is sent. So may elements of lists.

// TemplateOf returns the text of a value that is written as a template.
func TemplateOf(value any) (text string, ok bool) {
	m, is := value.(map[string]any)
	if !is || len(m) != 1 {
		return "", false
	}
	text, ok = m["template"].(string)
	return text, ok
}

// TemplatesIn returns the texts of the templates in a value, in order.
func TemplatesIn(value any) (texts []string) {
	switch v := value.(type) {
	case map[string]any:
		if text, ok := TemplateOf(v); ok {
			texts = append(texts, text)
		}
	case []any:
		for _, e := range v {
			texts = append(texts, TemplatesIn(e)...)
		}
	}
	return texts
}

// ReplaceTemplates copies a value with what by returns in place of each template.
func ReplaceTemplates(value any, by func(text string) any) any {
	if text, ok := TemplateOf(value); ok {
		return by(text)
	}
	list, isList := value.([]any)
	if !isList {
		return value
	}
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = ReplaceTemplates(e, by)
	}
	return out
}

// templates checks the templates in a value of a parameter. What they give is checked when it is known.
func (s Schema) templates(p *Parameter, value any) (errs []invalid.Error) {
	var check func(value any, at string, line bool)
	check = func(value any, at string, line bool) {
		if text, ok := TemplateOf(value); ok {
			if err := s.Template(text, line); err != nil {
				errs = append(errs, invalid.Error{Attribute: at, Message: err.Error()})
			}
			return
		}
		list, _ := value.([]any)
		for i, e := range list {
			lines := len(list) == 1 && !p.Commands || p.Commands && at == p.Name || runsLine(list[:i])
			check(e, fmt.Sprintf("%s[%d]", at, i), p.Shell && lines)
		}
	}
	check(value, p.Name, p.Shell)
	return errs
}

// runsLine reports whether words are a shell whose next argument is a line: sh -c.
func runsLine(words []any) bool {
	if len(words) < 2 {
		return false
	}
	option := textOf(words[len(words)-1])
	return strings.HasPrefix(option, "-") && strings.HasSuffix(option, "c") && slices.Contains(
		[]string{"sh", "ash", "bash", "dash", "ksh", "zsh", "su", "runuser"}, path.Base(textOf(words[0])))
}
