package resource

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A secret of a deployment stands in a parameter as a text that names it, `⟦secret:name@version⟧`, everywhere but in
// the manifest that a node gets. So plans, digests, journals and ledgers name it and never have its content.

var secretName = regexp.MustCompile(`⟦secret:([A-Za-z_][A-Za-z0-9_.-]{0,127})(?:@(-?[0-9]+))?⟧`)

// SecretReference returns the text that stands for a secret, whose version is not known yet; ok is false when value is
// not `{secret = "name"}`.
func SecretReference(value any) (text string, ok bool) {
	m, is := value.(map[string]any)
	name, named := m["secret"].(string)
	if text = "⟦secret:" + name + "⟧"; !is || len(m) != 1 || !named || secretName.FindString(text) != text {
		return "", false
	}
	return text, true
}

// SecretIn reports whether a text contains one that stands for a secret: nobody may write it.
func SecretIn(text string) bool { return secretName.MatchString(text) }

// Secrets returns the names of the secrets that the parameters refer to, sorted, each once.
func (p Parameters) Secrets() []string {
	names := map[string]bool{}
	replaceTexts(map[string]any(p), func(text string) string {
		for _, found := range secretName.FindAllStringSubmatch(text, -1) {
			names[found[1]] = true
		}
		return text
	})
	return slices.Sorted(maps.Keys(names))
}

// WithSecretsVersion returns the parameters with references to secrets that name their version.
func (p Parameters) WithSecretsVersion(version string) Parameters {
	return p.replaceSecrets(func(_, name, _ string) string { return "⟦secret:" + name + "@" + version + "⟧" })
}

// Resolve returns the parameters with the content of secrets in place of their references, and sensitive. missing are
// the references, as `name@version`, whose content is not there.
func (p Parameters) Resolve(version string, secrets map[string]string) (resolved Parameters, missing []string) {
	resolved = p.replaceSecrets(func(reference, name, of string) string {
		content, ok := secrets[name]
		if !ok || of != version {
			missing = append(missing, name+"@"+of)
			return reference
		}
		return content
	})
	resolved[Sensitive] = true
	slices.Sort(missing)
	return resolved, slices.Compact(missing)
}

func (p Parameters) replaceSecrets(by func(reference, name, version string) string) Parameters {
	out, _ := replaceTexts(map[string]any(p), func(text string) string {
		if !strings.Contains(text, "⟦secret:") {
			return text
		}
		return secretName.ReplaceAllStringFunc(text, func(reference string) string {
			parts := secretName.FindStringSubmatch(reference)
			return by(reference, parts[1], parts[2])
		})
	}).(map[string]any)
	return out
}

// replaceTexts copies a value with other texts.
func replaceTexts(value any, by func(string) string) any {
	switch v := value.(type) {
	case string:
		return by(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = replaceTexts(e, by)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = replaceTexts(e, by)
		}
		return out
	}
	return value
}
