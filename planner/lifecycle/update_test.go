package lifecycle_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// indices are those in the exact path of an attribute.
var indices = regexp.MustCompile(`\[\d+\]`)

func TestCheck(t *testing.T) {
	for _, c := range []struct{ name, entity, prior, change, want, replaces string }{
		{"nothing", "share", share, `{}`, "", ""},
		{"rw+", "share", share, `{size: 2, note: x, peers: [r3]}`, "", ""},
		{"rw", "share", share, `{site: ams}`, "site immutable_attribute site", "site"},
		{"identity comes first", "share", share, `{site: ams, name: m}`,
			"name identity_immutable name; site immutable_attribute site", "name site"},
		{"r", "share", share, `{vni: 11}`, "vni readonly_attribute vni", ""},
		{"r to null", "share", share, `{vni: null}`, "vni readonly_attribute vni", ""},
		{"r relation", "share", share, `{used_by: []}`, "used_by readonly_attribute used_by", ""},
		{"rw relation", "share", share, `{home: r2}`, "home immutable_attribute home", "home"},
		{"the order of related services is none", "share", share, `{peers: [r2, r1]}`, "", ""},
		{"a new child takes rw", "share", share,
			`{files: [{name: f1, content: c1, parts: [{at: 1, side: a}, {at: 1}]}, {name: f3, mode: 1, parts: [{at: 7}]}]}`, "", ""},
		{"a new child takes no r", "share", share, `{files: [{name: f3, uid: 3}]}`,
			"files.uid readonly_attribute files[0].uid", ""},
		{"nor inside it", "share", share, `{files: [{name: f3, parts: [{at: 1}, {at: 2, id: 3}]}]}`,
			"files.parts.id readonly_attribute files[0].parts[1].id", ""},
		{"rw of an old child", "share", share, `{files: [{name: f2, mode: 1}]}`,
			"files.mode immutable_attribute files[0].mode", "files[0].mode"},
		{"children of an old child", "share", share,
			`{files: [{name: f1, content: c1, parts: [{at: 1, side: a, text: new}, {at: 3}, {at: 1}]}]}`,
			"files.parts immutable_attribute files[0].parts[1]", "files[0].parts[1]"},
		{"all children gone", "share", share, `{files: []}`, "", ""},
		{"another order is no change", "share", share, `{disks: [{slot: 2}, {slot: 1}]}`, "", ""},
		{"rw list, rw+ inside", "share", share, `{disks: [{slot: 1, quota: 9}, {slot: 2}]}`, "", ""},
		{"rw list, one more", "share", share, `{disks: [{slot: 1}, {slot: 3}, {slot: 2}]}`,
			"disks immutable_attribute disks[1]", "disks[1]"},
		{"rw list, one less", "share", share, `{disks: [{slot: 2}]}`, "disks immutable_attribute disks", "disks"},
		{"rw list, another key", "share", share, `{disks: [{slot: 2}, {slot: 3}]}`, "disks immutable_attribute disks",
			"disks"},
		{"rw+ single comes", "share", share, `{backup: {target: nas}}`, "", ""},
		{"rw inside a single", "share", share, `{boot: {image: j}}`, "boot.image immutable_attribute boot.image",
			"boot.image"},
		{"rw+ inside an rw single", "share", share, `{boot: {image: i, timeout: 9}}`, "", ""},
		{"rw single goes", "share", share, `{boot: null}`, "boot immutable_attribute boot", "boot"},
		{"rw single comes", "share", `{name: n, size: 1}`, `{boot: {image: i}}`, "boot immutable_attribute boot",
			"boot"},
		{"r embedded", "share", share, `{leases: []}`, "leases readonly_attribute leases", ""},
		{"without a key: all stay", "share", share,
			`{notes: [{by: you, text: a, seen: 3}, {by: me, text: b, seen: 2}, {by: me, text: a, seen: 1}]}`, "", ""},
		{"without a key: the same by what is fixed", "share", share,
			`{notes: [{by: me, text: a}, {by: me, text: new}, {by: you, text: c}]}`, "", ""},
		{"without a key: a new one takes no r", "share", share, `{notes: [{by: him, text: c, seen: 7}]}`,
			"notes.seen readonly_attribute notes[0].seen", ""},
		{"loose rw+ frees", "loose", `{path: p, open: [{name: a, deep: [{name: x}]}], shut: []}`,
			`{open: [{name: b, deep: []}]}`, "", ""},
		{"loose rw+ frees nested members", "loose", `{path: p, open: [{name: a, deep: [{name: x}]}]}`,
			`{open: [{name: a, deep: [{name: y}, {name: x}]}]}`, "", ""},
		{"loose, r stays slipway's", "loose", `{path: p, open: [{name: a, uid: 1}]}`, `{open: [{name: a, uid: 2}]}`,
			"open.uid readonly_attribute open[0].uid", ""},
		{"loose rw freezes", "loose", `{path: p, shut: [{slot: 1, quota: 1}]}`, `{shut: [{slot: 1, quota: 2}]}`,
			"shut immutable_attribute shut", "shut"},
		{"loose rw freezes all depths", "loose", `{path: p, shut: [{slot: 1, quota: 1, deep: [{name: a}]}]}`,
			`{shut: [{slot: 1, quota: 1, deep: [{name: b}]}]}`, "shut immutable_attribute shut", "shut"},
		{"loose rw, another order", "loose", `{path: p, shut: [{slot: 1, quota: 1}, {slot: 2, quota: 1}]}`,
			`{shut: [{slot: 2, quota: 1}, {slot: 1, quota: 1}]}`, "", ""},
		{"loose, plain rw", "loose", `{path: p}`, `{path: q}`, "path immutable_attribute path", "path"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := entity(t, c.entity)
			prior := tree(t, e, c.prior)
			next, errs := e.Check(lifecycle.CarryAllocated(e, prior, merged(prior, read(t, c.change))))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			var got []string
			for _, m := range lifecycle.CheckUpdate(e, prior, next) {
				got = append(got, indices.ReplaceAllString(m.Attribute, "")+" "+string(m.Code)+" "+m.Attribute)
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
			if text := strings.Join(lifecycle.ReplacementPaths(e, prior, next), " "); text != c.replaces {
				t.Errorf("replaces %s, want %s", text, c.replaces)
			}
		})
	}
}

// What an entity got after a service was made is free, once.
func TestCheckOfWhatIsNew(t *testing.T) {
	e := entity(t, "share")
	next := tree(t, e, share)
	prior := merged(next, nil)
	for _, name := range []string{"site", "name", "boot", "disks", "home"} {
		delete(prior, name)
	}
	if errs := lifecycle.CheckUpdate(e, prior, next); len(errs) > 0 {
		t.Error(errs)
	}
}

func BenchmarkCheckThousandChildren(b *testing.B) {
	e := entity(b, "share")
	e.Structure.Embedded[0].Upper = nil
	var files []any
	for i := range 1000 {
		files = append(files, map[string]any{"name": strings.Repeat("f", 5) + string(rune('a'+i%26)) +
			strings.Repeat("x", i/26), "uid": int64(i)})
	}
	prior, _ := e.Check(map[string]any{"name": "n", "size": int64(1), "files": files})
	for b.Loop() {
		next, _ := e.Check(lifecycle.CarryAllocated(e, prior, prior))
		if errs := lifecycle.CheckUpdate(e, prior, next); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
