package edit_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle/edit"
)

const entities = `
entities:
  router: {attributes: {name: string}}
  share:
    identity: name
    attributes:
      name: string
      size: {type: int, modifier: rw+}
      note: {type: "string?", modifier: rw+, default: null}
      extra: {type: dict, modifier: rw+, default: {}}
      vlans: {type: "int[]", modifier: rw+, default: []}
      site: {type: string, default: lon}
      vni: {type: "int?", modifier: r, default: null}
    relations:
      home: {entity: router, upper: 1}
      peers: {entity: router, modifier: rw+}
      used_by: {entity: router, modifier: r}
    embedded:
      files:
        modifier: rw+
        upper: 3
        key: [name]
        attributes:
          name: string
          mode: {type: int, default: 644}
          content: {type: string, modifier: rw+, default: ""}
          uid: {type: "int?", modifier: r, default: null}
        embedded:
          parts:
            key: [at, side]
            attributes:
              at: int
              side: {type: "string?", default: null}
              id: {type: "int?", modifier: r, default: null}
              text: {type: string, modifier: rw+, default: ""}
      disks:
        key: [slot]
        attributes: {slot: int, quota: {type: int, modifier: rw+, default: 1}}
      backup:
        modifier: rw+
        upper: 1
        attributes: {target: string, keep: {type: int, modifier: rw+, default: 7}}
      boot:
        upper: 1
        attributes: {image: string, timeout: {type: int, modifier: rw+, default: 5}}
      leases:
        modifier: r
        attributes: {address: {type: string, modifier: r}}
      notes:
        modifier: rw+
        attributes: {by: string, text: {type: string, modifier: rw+}, seen: {type: "int?", modifier: r, default: null}}
  loose:
    strict: false
    attributes: {path: string}
    embedded:
      open:
        modifier: rw+
        attributes: {name: string, uid: {type: "int?", modifier: r, default: null}}
        embedded: {deep: {attributes: {name: string}}}
      shut:
        attributes: {slot: int, quota: {type: int, modifier: rw+}}
        embedded: {deep: {modifier: rw+, attributes: {name: {type: string, modifier: rw+}}}}
`

func entity(t testing.TB, name string) *catalog.Entity {
	t.Helper()
	c, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml", Data: []byte(entities)}})
	if err != nil {
		t.Fatal(err)
	}
	e, ok := c.Catalog.Entity(name)
	if !ok {
		t.Fatalf("no entity %q", name)
	}
	return e
}

// tree reads attributes and completes them.
func tree(t testing.TB, e *catalog.Entity, text string) map[string]any {
	t.Helper()
	out, mistakes := e.Check(read(t, text))
	if len(mistakes) > 0 {
		t.Fatal(text, mistakes)
	}
	return out
}

func read(t testing.TB, text string) map[string]any {
	t.Helper()
	value, _ := plain(t, text).(map[string]any)
	return value
}

func plain(t testing.TB, text string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(text, err)
	}
	return whole(value)
}

func whole(value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return value
}

func encode(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const share = `{name: n, size: 1, vni: 10, home: r1, peers: [r1, r2], used_by: [r9], leases: [{address: a}],
  files: [{name: f1, content: c1, uid: 1, parts: [{at: 1, side: a, id: 5}, {at: 1, id: 6}]}, {name: f2, mode: 600, uid: 2, parts: []}],
  disks: [{slot: 1}, {slot: 2}], boot: {image: i}, notes: [{by: me, text: a, seen: 1}, {by: me, text: b, seen: 2}, {by: you, text: a, seen: 3}]}`

func TestApply(t *testing.T) {
	e := entity(t, "share")
	for _, c := range []struct{ name, edits, at, want string }{
		{"replace", `[{operation: replace, target: size, value: 5}]`, "size", `5`},
		{"replace the whole", `[{operation: replace, target: ., value: {name: m}}]`, "", `{"name":"m"}`},
		{"a leading point", `[{operation: replace, target: .size, value: 5}]`, "size", `5`},
		{"replace what is not there", `[{operation: remove, target: note}, {operation: replace, target: note, value: x}]`, "note", `"x"`},
		{"remove returns to the default", `[{operation: remove, target: site}]`, "site", `null`},
		{"inside a dict", `[{operation: replace, target: extra, value: {a: {b: 1}}}, {operation: replace, target: extra.a.c, value: 2}]`, "extra", `{"a":{"b":1,"c":2}}`},
		{"merge objects at every depth", `[{operation: replace, target: extra, value: {a: {b: 1}}}, {operation: merge, target: extra, value: {a: {c: [1]}, d: 3}}]`, "extra", `{"a":{"b":1,"c":[1]},"d":3}`},
		{"merge a list without keys", `[{operation: merge, target: vlans, value: [1]}, {operation: merge, target: vlans, value: [2]}]`, "vlans", `[1,2]`},
		{"merge an object that is null", `[{operation: merge, target: backup, value: {target: nas}}]`, "backup", `{"target":"nas"}`},
		{"merge the whole", `[{operation: merge, target: ., value: {size: 4, boot: {timeout: 9}}}]`, "boot", `{"image":"i","timeout":9}`},
		{"an element by key", `[{operation: replace, target: 'files[name=f1].content', value: x}]`, "files.0.content", `"x"`},
		{"an element by number", `[{operation: replace, target: 'disks[slot=2].quota', value: 8}]`, "disks", `[{"quota":1,"slot":1},{"quota":8,"slot":2}]`},
		{"several filters", `[{operation: replace, target: 'files[name=f1].parts[at=1][side=a].text', value: x}]`, "files.0.parts.0.text", `"x"`},
		{"null", `[{operation: replace, target: 'files[name=f1].parts[side=\0].text', value: x}]`, "files.0.parts.1.text", `"x"`},
		{"remove an element", `[{operation: remove, target: 'files[name=f1]'}]`, "files", `[{"content":"","mode":600,"name":"f2","parts":[],"uid":2}]`},
		{"replace an element", `[{operation: replace, target: 'disks[slot=1]', value: {slot: 3}}]`, "disks", `[{"slot":3},{"quota":1,"slot":2}]`},
		{"merge into an element", `[{operation: merge, target: 'disks[slot=1]', value: {quota: 3}}]`, "disks.0", `{"quota":3,"slot":1}`},
		{"merge by key", `[{operation: merge, target: disks, value: [{slot: 2, quota: 7}, {slot: 3}]}]`, "disks", `[{"quota":1,"slot":1},{"quota":7,"slot":2},{"slot":3}]`},
		{"merge one child", `[{operation: merge, target: disks, value: {slot: 2, quota: 7}}]`, "disks.1.quota", `7`},
		{"merge by key, with a default", `[{operation: merge, target: 'files[name=f1].parts', value: [{at: 1, text: x}]}]`, "files.0.parts.1.text", `"x"`},
		{"another key is another child", `[{operation: replace, target: 'files[name=f1].name', value: f9}]`, "files.0", `{"content":"c1","mode":644,"name":"f9","parts":[{"at":1,"side":"a","text":""},{"at":1,"side":null,"text":""}]}`},
		{"another key in a merge", `[{operation: merge, target: 'files[name=f1]', value: {name: f9, uid: 4}}]`, "files.0.uid", `4`},
		{"the same key", `[{operation: merge, target: 'files[name=f1]', value: {name: f1}}]`, "files.0.uid", `1`},
		{"one after the other", `[{operation: merge, target: disks, value: [{slot: 3}]}, {operation: replace, target: 'disks[slot=3].quota', value: 9}]`, "disks.2.quota", `9`},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := tree(t, e, share)
			before := encode(t, base)
			edits, mistakes := edit.ParseEdits(plain(t, c.edits))
			if len(mistakes) > 0 {
				t.Fatal(mistakes)
			}
			out, mistakes := edit.Apply(e, base, edits)
			if len(mistakes) > 0 {
				t.Fatal(mistakes)
			}
			if encode(t, base) != before {
				t.Error("the base has changed")
			}
			if got := encode(t, pick(out, c.at)); got != c.want {
				t.Errorf("%s = %s, want %s", c.at, got, c.want)
			}
		})
	}
}

// pick goes to a place: names and numbers with points between them.
func pick(value any, at string) any {
	for _, step := range strings.FieldsFunc(at, func(r rune) bool { return r == '.' }) {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			value = v[step[0]-'0']
		}
	}
	return value
}

func TestApplyMistakes(t *testing.T) {
	e := entity(t, "share")
	for _, c := range []struct{ edits, want string }{
		{`[{operation: remove, target: 'files[name=nope]'}]`, "edits[0].target bad_edit_target files[name=nope]: no element is so; a target is exactly one"},
		{`[{edit_id: e, operation: remove, target: 'notes[by=me]'}]`, `edits[0].target bad_edit_target edit "e": notes[by=me]: 2 elements are so; a target is exactly one`},
		{`[{operation: replace, target: backup.keep, value: 3}]`, "edits[0].target bad_edit_target backup is null, so nothing is inside it"},
		{`[{operation: replace, target: nope.keep, value: 3}]`, "edits[0].target bad_edit_target nope is not there, so nothing is inside it"},
		{`[{operation: replace, target: name.x, value: 3}]`, "edits[0].target bad_edit_target name is a simple value, so nothing is inside it"},
		{`[{operation: replace, target: files.name, value: 3}]`, "edits[0].target bad_edit_target files is a list, so nothing is inside it; say which element, as in list[key=value]"},
		{`[{operation: replace, target: 'boot[image=i]', value: 3}]`, `edits[0].target bad_edit_target boot[image=i]: "boot" is an object, not a list; leave the filter out`},
		{`[{operation: remove, target: nope}]`, "edits[0].target bad_edit_target nope is not there, so it cannot be removed"},
		{`[{operation: remove, target: .}]`, "edits[0].target bad_edit_target the whole cannot be removed; delete the service instead"},
		{`[{operation: replace, target: ., value: 3}]`, "edits[0].value bad_edit is a simple value; the whole of the attributes is an object"},
		{`[{operation: merge, target: size, value: 3}]`, "edits[0].value bad_edit is a simple value, and size is a simple value; merge is for two objects or two lists: use replace"},
		{`[{operation: merge, target: 'disks[slot=1]', value: [1]}]`, "edits[0].value bad_edit is a list, and disks[slot=1] is an object; merge is for two objects or two lists: use replace"},
		{`[{operation: move, target: size, value: 3}]`, `edits[0].operation bad_edit there is no operation "move"; use replace, merge or remove`},
		{`[{operation: remove, target: 'files[0]'}]`, "edits[0].target bad_edit_target is no path to an attribute: character 8: a filter is [key=value]; lists have no numbers"},
		{`[{operation: remove, target: 'a'}, {operation: remove, target: 'b'}]`, "edits[0].target bad_edit_target a is not there, so it cannot be removed|edits[1].target bad_edit_target b is not there, so it cannot be removed"},
	} {
		edits, mistakes := edit.ParseEdits(plain(t, c.edits))
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		out, mistakes := edit.Apply(e, tree(t, e, share), edits)
		if got := told(mistakes); got != c.want || out != nil {
			t.Errorf("%s:\n got %s\nwant %s", c.edits, got, c.want)
		}
	}
}

func told(mistakes []catalog.Mistake) string {
	var texts []string
	for _, m := range mistakes {
		texts = append(texts, m.Path+" "+string(m.Code)+" "+m.Message)
	}
	return strings.Join(texts, "|")
}

func TestSensitiveFilters(t *testing.T) {
	e := &catalog.Entity{Structure: catalog.Structure{Embedded: []catalog.Embedded{{Name: "users", Structure: catalog.Structure{
		Attributes: []catalog.Attribute{{Name: "name"}, {Name: "password", Sensitive: true}},
	}}}}}
	_, mistakes := edit.Apply(e, map[string]any{"users": []any{}, "free": []any{}}, []edit.Edit{
		{Operation: "remove", Target: "users[name=bob][password=hunter2]"},
		{Operation: "remove", Target: "free[password=hunter2]"},
	})
	text := told(mistakes)
	if len(mistakes) != 2 || strings.Contains(text, "hunter2") || !strings.Contains(text, "bob") {
		t.Error(text)
	}
}

func TestParseEditsMistakes(t *testing.T) {
	for _, c := range []struct{ edits, want string }{
		{`{}`, "edits bad_edit is no list of edits"},
		{`[1, {}]`, "edits[0] bad_edit is a simple value; an edit is an object with edit_id, operation, target and value|edits[1].operation bad_edit is needed|edits[1].target bad_edit is needed|edits[1].value bad_edit is needed for the operation ; null is a value too"},
		{`[{operation: remove, target: 5, tarket: x}]`, `edits[0].target bad_edit is no text|edits[0].tarket bad_edit an edit has no such key; did you mean "target"?`},
	} {
		edits, mistakes := edit.ParseEdits(plain(t, c.edits))
		if got := told(mistakes); got != c.want || edits != nil {
			t.Errorf("%s:\n got %s\nwant %s", c.edits, got, c.want)
		}
	}
}

// Children without a key are the same when they are equal, then when what is fixed in them is.
func TestCarryWithoutKey(t *testing.T) {
	e := entity(t, "share")
	out := edit.Carry(e, tree(t, e, share), read(t, `{notes: [{by: him, text: a}, {by: me, text: new}, {by: you, text: other}, {by: me, text: b}, {by: me, text: more}]}`))
	const want = `[{"by":"him","text":"a"},{"by":"me","seen":1,"text":"new"},{"by":"you","seen":3,"text":"other"},{"by":"me","seen":2,"text":"b"},{"by":"me","text":"more"}]`
	if got := encode(t, out["notes"]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPutAndMerge(t *testing.T) {
	e := entity(t, "share")
	prior := tree(t, e, share)
	next := read(t, `{name: n, size: 2, vni: 99, home: r1, leases: [{address: z}], boot: {image: i}, disks: [{slot: 2}, {slot: 1}],
	  files: [{name: f2, uid: 77}, {name: f7, uid: 78}, {name: f1, parts: [{at: 1, side: a}, {at: 2}]}]}`)
	t.Run("what is read-only is ignored", func(t *testing.T) {
		out := edit.Put(e, prior, next, true)
		for at, want := range map[string]string{"vni": "10", "used_by": `["r9"]`, "leases": `[{"address":"a"}]`, "files.0.uid": "2", "files.1.uid": "null", "files.2.uid": "1",
			"files.2.parts": `[{"at":1,"id":5,"side":"a"},{"at":2}]`, "note": "null"} {
			if got := encode(t, pick(out, at)); got != want {
				t.Errorf("%s = %s, want %s", at, got, want)
			}
		}
	})
	t.Run("what is read-only counts", func(t *testing.T) {
		out, mistakes := e.Check(edit.Put(e, prior, next, false))
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		var got []string
		for _, m := range edit.Check(e, prior, out) {
			got = append(got, m.Place()+" "+string(m.Code))
		}
		want := []string{"vni readonly_attribute", "files[0].uid readonly_attribute", "files[0].mode immutable_attribute", "files[1].uid readonly_attribute", "files[2].parts immutable_attribute", "leases readonly_attribute"}
		slices.Sort(got)
		slices.Sort(want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("merge", func(t *testing.T) {
		out := edit.Merge(prior, map[string]any{"boot": map[string]any{"image": "x"}})
		if encode(t, out["boot"]) != `{"image":"x"}` || out["name"] != "n" || encode(t, prior["boot"]) != `{"image":"i","timeout":5}` {
			t.Error(encode(t, out), encode(t, prior))
		}
	})
}

// fromJSON reads JSON as a request brings it.
func fromJSON(text string) (any, bool) {
	var value any
	err := json.Unmarshal([]byte(text), &value)
	return value, err == nil
}
