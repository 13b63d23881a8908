package converge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Whatever a site goes through (other forms, other paths, other titles, removals in any order), a second apply changes nothing, and its
// tear-down leaves what was there before.
func TestAnySequenceOfManifestsIsUndone(t *testing.T) {
	forms := []func(r *rand.Rand, path string) resource.Parameters{
		func(r *rand.Rand, _ string) resource.Parameters {
			return resource.Parameters{"content": pick(r, "", "x\n", "y\n"), "force": true}
		},
		func(r *rand.Rand, _ string) resource.Parameters {
			return resource.Parameters{"mode": pick(r, "0600", "0644", "4755"), "force": true}
		},
		func(r *rand.Rand, _ string) resource.Parameters {
			return resource.Parameters{"content": "z", "mode": pick(r, "0640", "0755"), "force": true}
		},
		func(r *rand.Rand, _ string) resource.Parameters {
			return resource.Parameters{"ensure": "directory", "mode": pick(r, "0700", "0755")}
		},
		func(r *rand.Rand, _ string) resource.Parameters {
			return resource.Parameters{"target": pick(r, "a", "/b"), "force": true}
		},
		func(*rand.Rand, string) resource.Parameters {
			return resource.Parameters{"ensure": "absent", "force": true}
		},
		func(*rand.Rand, string) resource.Parameters { return resource.Parameters{"ensure": "present"} },
	}
	files := map[string]string{"/f": "old", "/d/": "", "/l": "->f", "/x.ini": "k = 0\n[s]\na = 9\n", "/etc/hosts": "127.0.0.1 localhost\n10.0.0.9  one # theirs\n"}
	for seed := range 30 {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		b := nodeOf(t, files)
		before := b.tree()
		applied := map[resource.ID]bool{}
		for step := range 6 {
			wanted := map[resource.ID]Item{}
			paths := []string{"/f", "/d", "/l", "/new"}
			r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
			for i, path := range paths[:r.IntN(len(paths)+1)] {
				p := forms[r.IntN(len(forms))](r, path)
				p["path"] = path
				title := pick(r, path, fmt.Sprintf("file-%d", i))
				wanted[resource.MakeID("file", title)] = Item{Resource: resource.Resource{Type: "file", Title: title, Parameters: p}}
			}
			for i := range r.IntN(4) {
				p := resource.Parameters{"path": pick(r, "/x.ini", "/y.ini"), "section": pick(r, "", "s", "t"), "setting": pick(r, "a", "b", "k") + fmt.Sprint(i),
					"value": pick(r, "1", "2", "")}
				if r.IntN(4) == 0 {
					p["ensure"] = "absent"
				}
				title := fmt.Sprint("ini-", r.IntN(5), i)
				wanted[resource.MakeID("ini_setting", title)] = Item{Resource: resource.Resource{Type: "ini_setting", Title: title, Parameters: p}}
			}
			for _, title := range []string{"one", "two", "three"}[:r.IntN(4)] {
				p := resource.Parameters{"ip": pick(r, "10.0.0.1", "fe80::1")}
				if r.IntN(2) == 0 {
					p["host_aliases"] = []any{pick(r, "a", "b")}
				}
				wanted[resource.MakeID("host", title)] = Item{Resource: resource.Resource{Type: "host", Title: title, Parameters: p}}
			}
			var items []Item
			for _, id := range slices.Sorted(maps.Keys(applied)) {
				if _, is := wanted[id]; !is {
					items = append(items, removal(string(id)))
				}
			}
			r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			ids := slices.Sorted(maps.Keys(wanted))
			r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			for _, id := range ids {
				items = append(items, wanted[id])
			}
			if seed%3 == 0 {
				b.takenBack(items...)
			}
			for _, statuses := range [][]Status{{Changed, Unchanged}, {Unchanged}} {
				for _, result := range b.apply(items...) {
					if !slices.Contains(statuses, result.Status) {
						t.Fatalf("seed %d, step %d: %+v\n%+v", seed, step, result, items)
					}
				}
			}
			applied = map[resource.ID]bool{}
			for id := range wanted {
				applied[id] = true
			}
		}
		b.tearDown()
		if diff := cmp.Diff(before, b.tree()); diff != "" {
			t.Fatalf("seed %d: not as before:\n%s", seed, diff)
		}
	}
}
