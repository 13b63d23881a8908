package edit_test

import (
	"reflect"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle/edit"
)

func TestParsePath(t *testing.T) {
	for _, c := range []struct {
		text string
		want edit.Path
	}{
		{".", edit.Path{}},
		{"a", edit.Path{{Name: "a"}}},
		{".a.b", edit.Path{{Name: "a"}, {Name: "b"}}},
		{"l[k=v].c", edit.Path{{Name: "l", Filters: []edit.Filter{{Name: "k", Value: "v"}}}, {Name: "c"}}},
		{`l[k=][n=\0]`, edit.Path{{Name: "l", Filters: []edit.Filter{{Name: "k"}, {Name: "n", Null: true}}}}},
		{`a\.b\\[k\==\*\[\]]`, edit.Path{{Name: `a.b\`, Filters: []edit.Filter{{Name: "k=", Value: "*[]"}}}}},
	} {
		got, err := edit.ParsePath(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v", c.text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":         "the path is empty; the whole is written `.`",
		"a.":       "character 3: a name is needed",
		"..":       "character 2: a name is needed",
		"a..b":     "character 3: a name is needed",
		"[k=v]":    "character 1: a name is needed",
		"l[0]":     "character 4: a filter is [key=value]; lists have no numbers",
		"l[=v]":    "character 3: a filter needs a key before `=`",
		"l[k=v":    "character 6: the filter must end with `]`; write `\\` before each of \\ [ ] . * = in a value",
		"l[k=v]x":  "character 7: a point or a filter must come here; write `\\x` for the character itself",
		"l[k=*]":   "character 5: `*` is every element; an edit needs one: write `\\*` for the character itself",
		"a.*":      "character 3: `*` has no meaning here; write `\\*` for the character itself",
		`a\x`:      "character 3: `\\` stands before one of \\ [ ] . * = or, for null, 0; write `\\\\` for the character itself",
		`a\`:       "character 3: `\\` stands before one of \\ [ ] . * = or, for null, 0; write `\\\\` for the character itself",
		`l[k=a\0]`: "character 8: `\\0` is null, and stands alone",
		`\0`:       "character 3: a name is needed",
	} {
		if _, err := edit.ParsePath(text); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestParsePattern(t *testing.T) {
	for text, want := range map[string]string{
		"id": "id", "items[name=*].id": "items[name=*].id", "items[].id": "items[*=*].id", "items[*].id": "items[*=*].id", "items[*=*].id": "items[*=*].id", "a.b": "a.b",
	} {
		if got, err := edit.ParsePattern(text); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"items[name=a].id", "items[*=a].id", "items.*", "items[a].id"} {
		if got, err := edit.ParsePattern(text); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, text := range []string{".", "a.b", `l[k=v][n=\0].c`, `a\.b\\[k\==\*]`, "items[*].id", "l[", `\`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if path, err := edit.ParsePath(text); err == nil {
			again, err := edit.ParsePath(path.String())
			if err != nil || !reflect.DeepEqual(path, again) {
				t.Errorf("%q: %q, %v", text, path, err)
			}
		}
		if path, err := edit.ParsePattern(text); err == nil {
			again, err := edit.ParsePattern(path.String())
			if err != nil || path.String() != again.String() {
				t.Errorf("%q: %q, %v", text, path, err)
			}
		}
	})
}

// Whatever edits say, there is a result or a mistake, and the base stays.
func FuzzApply(f *testing.F) {
	for _, target := range []string{".", "size", "files[name=f1].content", "extra.a.b", "files", `files[name=f1].parts[side=\0]`} {
		for _, operation := range edit.Operations() {
			f.Add(operation, target, `{"a": [{"b": null}], "name": "f1"}`)
			f.Add(operation, target, `[{"name": "f1", "uid": 5}, 1]`)
		}
	}
	e := entity(f, "share")
	f.Fuzz(func(t *testing.T, operation, target, value string) {
		v, ok := fromJSON(value)
		if !ok {
			return
		}
		base := tree(t, e, share)
		before := encode(t, base)
		list := []any{map[string]any{"operation": operation, "target": target, "value": v}}
		edits, mistakes := edit.ParseEdits(list)
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		out, mistakes := edit.Apply(e, base, edits)
		if (out == nil) != (len(mistakes) > 0) {
			t.Error(out, mistakes)
		}
		if encode(t, base) != before {
			t.Error("the base has changed")
		}
		if out != nil {
			edit.Check(e, base, edit.Carry(e, base, out))
			edit.Added(e, base, out)
		}
	})
}
