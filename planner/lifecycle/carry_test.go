package lifecycle_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
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
	out, errs := e.Check(read(t, text))
	if len(errs) > 0 {
		t.Fatal(text, errs)
	}
	return out
}

func read(t testing.TB, text string) map[string]any {
	t.Helper()
	value, _ := decoded(t, text).(map[string]any)
	return value
}

func decoded(t testing.TB, text string) any {
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

// valueAt goes to a place: names and numbers with points between them.
func valueAt(value any, at string) any {
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

// Children without a key are the same when they are equal, then when what is fixed in them is.
func TestCarryWithoutKey(t *testing.T) {
	e := entity(t, "share")
	out := lifecycle.CarryAllocated(e, tree(t, e, share),
		read(t,
			`{notes: [{by: him, text: a}, {by: me, text: new}, {by: you, text: other}, {by: me, text: b}, {by: me, text: more}]}`))
	const want = `[{"by":"him","text":"a"},{"by":"me","seen":1,"text":"new"},{"by":"you","seen":3,"text":"other"},{"by":"me","seen":2,"text":"b"},{"by":"me","text":"more"}]`
	if got := encode(t, out["notes"]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCarryAndRestore(t *testing.T) {
	e := entity(t, "share")
	prior := tree(t, e, share)
	next := read(t, `{name: n, size: 2, vni: 99, home: r1, leases: [{address: z}], boot: {image: i}, disks: [{slot: 2}, {slot: 1}],
	  files: [{name: f2, uid: 77}, {name: f7, uid: 78}, {name: f1, parts: [{at: 1, side: a}, {at: 2}]}]}`)
	t.Run("what is read-only is ignored", func(t *testing.T) {
		out := lifecycle.RestoreAllocated(e, prior, next)
		for at, want := range map[string]string{"vni": "10", "used_by": `["r9"]`, "leases": `[{"address":"a"}]`,
			"files.0.uid": "2", "files.1.uid": "null", "files.2.uid": "1",
			"files.2.parts": `[{"at":1,"id":5,"side":"a"},{"at":2}]`, "note": "null"} {
			if got := encode(t, valueAt(out, at)); got != want {
				t.Errorf("%s = %s, want %s", at, got, want)
			}
		}
	})
	t.Run("what is read-only counts", func(t *testing.T) {
		out, errs := e.Check(lifecycle.CarryAllocated(e, prior, next))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		var got []string
		for _, m := range lifecycle.CheckUpdate(e, prior, out) {
			got = append(got, m.Attribute+" "+string(m.Code))
		}
		want := []string{"vni readonly_attribute", "files[0].uid readonly_attribute",
			"files[0].mode immutable_attribute", "files[1].uid readonly_attribute", "files[2].parts immutable_attribute", "leases readonly_attribute"}
		slices.Sort(got)
		slices.Sort(want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// merged returns base with the attributes of top in their places.
func merged(base, top map[string]any) map[string]any {
	out := maps.Clone(base)
	maps.Copy(out, top)
	return out
}
