package resource

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A secret of a deployment stands in a parameter as a text that names it, `⟦secret:name@version⟧`, everywhere but on
// the node that gets its content with the manifest. So plans, digests, journals and ledgers name it and never have its
// content.

var secretName = regexp.MustCompile(`⟦secret:([A-Za-z_][A-Za-z0-9_.-]{0,127})(?:@(-?[0-9]+))?⟧`)

// secretStart begins each text that stands for a secret.
const secretStart = "⟦secret:"

// SecretReference returns the text that stands for a secret, whose version is not known yet; ok is false when value is
// not `{secret = "name"}`.
func SecretReference(value any) (text string, ok bool) {
	m, is := value.(map[string]any)
	name, named := m["secret"].(string)
	if text = secretStart + name + "⟧"; !is || len(m) != 1 || !named || secretName.FindString(text) != text {
		return "", false
	}
	return text, true
}

// SecretIn reports whether a text contains one that stands for a secret: nobody may write it.
func SecretIn(text string) bool {
	return strings.Contains(text, secretStart) && secretName.MatchString(text)
}

// secretIn reports whether a text in a value contains one that stands for a secret.
func secretIn(value any) bool {
	switch v := value.(type) {
	case string:
		return SecretIn(v)
	case []any:
		return slices.ContainsFunc(v, secretIn)
	case map[string]any:
		for _, e := range v {
			if secretIn(e) {
				return true
			}
		}
	}
	return false
}

// HasSecret reports whether a text of a parameter refers to a secret.
func (p Parameters) HasSecret(name string) bool { return secretIn(p[name]) }

// Secrets returns the secrets that the parameters refer to, as `name@version`, as `name` while the version is not
// known, sorted, each once.
func (p Parameters) Secrets() []string {
	var found []string
	p.ReplaceSecrets(func(_, _, text string) string {
		for _, m := range secretName.FindAllString(text, -1) {
			found = append(found, secretOf(m))
		}
		return text
	})
	slices.Sort(found)
	return slices.Compact(found)
}

// secretOf returns the secret for which a text stands.
func secretOf(reference string) string {
	return strings.TrimSuffix(strings.TrimPrefix(reference, secretStart), "⟧")
}

// SecretName returns the name of the secret that a text refers to; ok is false when it is anything else.
func SecretName(text string) (name string, ok bool) {
	m := secretName.FindStringSubmatch(text)
	if m == nil || m[0] != text {
		return "", false
	}
	return m[1], true
}

// ShowSecrets returns a text with references to secrets as templates have them, `${secrets.name}`.
func ShowSecrets(text string) string { return secretName.ReplaceAllString(text, "$${secrets.$1}") }

// WithSecretsVersion returns the parameters with references to secrets that name their version.
func (p Parameters) WithSecretsVersion(version string) Parameters {
	return p.ReplaceSecrets(func(_, _, text string) string {
		return secretName.ReplaceAllString(text, secretStart+"$1@"+version+"⟧")
	})
}

// WithUnknownSecrets returns the parameters without those that refer to a secret, which are not known yet.
func (p Parameters) WithUnknownSecrets() Parameters {
	out := maps.Clone(p)
	for name, value := range p {
		if secretIn(value) {
			out[name] = Unknown{Secret: true}
		}
	}
	return out
}

// Resolve returns the parameters with the contents of secrets, by `name@version`, in place of their references, and
// sensitive. missing are those that contents does not have: their references stay.
func (p Parameters) Resolve(contents map[string]string) (resolved Parameters, missing []string) {
	resolved = p.ReplaceSecrets(func(_, _, text string) string {
		return secretName.ReplaceAllStringFunc(text, func(reference string) string {
			content, ok := contents[secretOf(reference)]
			if !ok {
				missing = append(missing, secretOf(reference))
				return reference
			}
			return content
		})
	})
	resolved = maps.Clone(resolved)
	resolved[Sensitive] = true
	slices.Sort(missing)
	return resolved, slices.Compact(missing)
}

// ReplaceSecrets returns the parameters with what by returns in place of each text that refers to a secret; p itself
// where none does. at says where in the parameter the text is: environment[0].
func (p Parameters) ReplaceSecrets(by func(parameter, at, text string) string) Parameters {
	if !secretIn(map[string]any(p)) {
		return p
	}
	out := maps.Clone(p)
	for _, name := range slices.Sorted(maps.Keys(p)) {
		out[name] = replaceSecrets(p[name], name, func(at, text string) string { return by(name, at, text) })
	}
	return out
}

// replaceSecrets copies a value with other texts in place of those that refer to secrets.
func replaceSecrets(value any, at string, by func(at, text string) string) any {
	switch v := value.(type) {
	case string:
		if SecretIn(v) {
			return by(at, v)
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = replaceSecrets(e, fmt.Sprintf("%s[%d]", at, i), by)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = replaceSecrets(v[k], fmt.Sprintf("%s[%q]", at, k), by)
		}
		return out
	}
	return value
}

// noSecret says why a parameter is refused that has a secret, and what to write instead.
func (s Schema) noSecret() string {
	var take []string
	for i := range s.Parameters {
		if s.Parameters[i].Secret {
			take = append(take, s.Parameters[i].Name)
		}
	}
	const file = "the content of a file with mode \"0600\", and name that file"
	if len(take) == 0 {
		return "takes no secret of the deployment, which others could read there; write it into " + file
	}
	return fmt.Sprintf("takes no secret of the deployment, which others could read there; of the type %s, what takes one "+
		"is %s; else write it into %s", s.Type, strings.Join(take, ", "), file)
}
