package resources_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The version of the secrets is not known: only what names a secret depends on it.
func TestUnknownSecretsVersionHidesOnlyWhatNamesASecret(t *testing.T) {
	t.Parallel()
	p := newPlanning(t)
	p.mayApply()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	site := func(version any, plain string, more map[string]any) map[string]tftypes.Value {
		files := map[string]any{"/etc/plain": map[string]any{"content": plain}}
		for title, content := range more {
			files[title] = map[string]any{"content": content, "mode": "0600"}
		}
		return map[string]tftypes.Value{"site": valueOf("lon1"), "secrets_version": valueOf(version),
			"secrets_wo": tftypes.NewValue(p.typ.AttributeTypes["secrets_wo"], map[string]tftypes.Value{"pw": valueOf("hunter2")}),
			"nodes":      valueOf([]any{map[string]any{"name": "n", "connect": map[string]any{"transport": "local", "root": folder}}}),
			"services": valueOf([]any{map[string]any{"name": "s", "selectors": []any{},
				"configuration": map[string]any{"file": files}}}),
			"overrides": valueOf([]any{map[string]any{"name": "o", "configuration": map[string]any{"file": map[string]any{
				"/etc/plain": map[string]any{"mode": "0640"}}}}})}
	}
	unknown := tftypes.NewValue(tftypes.Number, tftypes.UnknownValue)
	secrets := map[string]any{"/etc/pw": map[string]any{"secret": "pw"},
		"/etc/of": map[string]any{"template": "${node.name} ${secrets.pw}"}}
	none := applied{tftypes.NewValue(p.typ, nil), nil}
	for _, c := range []struct {
		name          string
		prior         applied
		given         func(version any) map[string]tftypes.Value
		versions      []any
		want, certain string
	}{
		{"a creation", none, func(v any) map[string]tftypes.Value { return site(v, "a", secrets) }, []any{1},
			`^Not known before the apply:\n\n  secrets_version\n\n`,
			`file\[/etc/of\].*file\[/etc/plain\].*file\[/etc/pw\]`},
		{"no resource names a secret", none, func(v any) map[string]tftypes.Value { return site(v, "a", nil) }, []any{1},
			`^Not known before the apply:\n\n  secrets_version\n\n`, `create file\[/etc/plain\]`},
		{"an update", p.apply(site(1, "a", secrets)), func(v any) map[string]tftypes.Value { return site(v, "b", secrets) },
			[]any{1, 2}, `(?s)\n\nWhat may be done besides.*file\[/etc/of\].*file\[/etc/pw\]`,
			`: 1 change on node n: update file\[/etc/plain\]`},
		{"nothing else changes", p.apply(site(1, "a", secrets)),
			func(v any) map[string]tftypes.Value { return site(v, "a", secrets) }, []any{1, 2},
			`(?s)\n\nWhat may be done besides.*file\[/etc/of\].*file\[/etc/pw\]`, `^  no steps`},
		{"nothing changes", p.apply(site(1, "a", nil)), func(v any) map[string]tftypes.Value { return site(v, "a", nil) },
			[]any{1, 2}, `^Not known before the apply:\n\n  secrets_version\n\n`, `^  no steps`},
	} {
		before, warnings, _ := p.planFrom(c.given(unknown), c.prior)
		if !regexp.MustCompile(c.want).MatchString(warnings) ||
			!regexp.MustCompile(c.certain).MatchString(certain(warnings)) {
			t.Errorf("%s: the warning is\n%s\nwant %s, and certain %s", c.name, warnings, c.want, c.certain)
		}
		for _, version := range c.versions {
			after, _, _ := p.planFrom(c.given(version), c.prior)
			for name := range after {
				if name != "secrets_version" && !agrees(before[name], after[name]) {
					t.Errorf("%s: %s was %s while the version was unknown, and is %s with %v", c.name, name,
						before[name], after[name], version)
				}
			}
		}
	}
}
