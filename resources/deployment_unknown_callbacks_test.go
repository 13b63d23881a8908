package resources_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/slipway/terraform-provider-slipway/planner/document"
)

// probeCatalog is an entity with a callback of the whole service in each kind of position: a runs before all groups, f
// in the first group with a node of the service, l in the last one, and p after all groups. Its files do not read what
// is not known of nodes, or do.
const probeCatalog = `
entities:
  probe:
    attributes:
      size: {type: string, modifier: rw+}
    tasks:
    - {name: a, callback: {type: command, parameters: {argv: ["true", "${self.size}"]}}}
    - {name: f, tag: pre_node, callback: {type: command, parameters: {argv: ["true", "${self.size}"]}}}
    - {name: l, tag: cluster, callback: {type: command, parameters: {argv: ["true", "${self.size}"]}}}
    - {name: p, tag: post_cluster, callback: {type: command, parameters: {argv: ["true", "${self.size}"]}}}
  plain:
    attributes:
      size: {type: string, modifier: rw+}
    tasks:
    - {name: file, config: {type: file, title: /etc/plain, parameters: {content: "${self.size} ${node.name}"}}}
    - {name: l, tag: cluster, callback: {type: command, parameters: {argv: ["true"]}}}
  racked:
    attributes:
      size: {type: string, modifier: rw+}
    tasks:
    - {name: file, config: {type: file, title: /etc/racked, parameters: {content: "${self.size} ${node.rack}"}}}
    - {name: l, tag: cluster, callback: {type: command, parameters: {argv: ["true"]}}}
`

// ofEntity is a service of an entity of the catalog.
func ofEntity(t *testing.T, name, entity, size string, selectors ...any) map[string]any {
	t.Helper()
	c, err := document.ParseCatalog([]document.Source{{Name: "probe.yaml", Data: []byte(probeCatalog)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Catalog.Entities {
		if e.Name == entity {
			definition, err := e.Definition()
			if err != nil {
				t.Fatal(err)
			}
			return map[string]any{"name": name, "selectors": selectors, "entity": map[string]any{"definition": definition},
				"attributes": map[string]any{"size": size}}
		}
	}
	t.Fatalf("no entity %q", entity)
	return nil
}

// withService adds a service to a site.
func withService(t *testing.T, site map[string]tftypes.Value, service map[string]any) map[string]tftypes.Value {
	t.Helper()
	var services []tftypes.Value
	if err := site["services"].As(&services); err != nil {
		t.Fatal(err)
	}
	var all []any
	for _, s := range services {
		all = append(all, s)
	}
	site["services"] = valueOf(append(all, service))
	return site
}

var callLine = regexp.MustCompile(`(?m)(?:\b([a-z]+[0-9]?)(?: \(critical\))?: )?(?:after the last batch: )?\b(?:management|pre_node|cluster|post_cluster): call ([^"\n]*)`)

// calls returns the callbacks of whole services among the lines of a plan, sorted: "web: command probe/f".
func calls(lines string) []string {
	var out []string
	for _, line := range callLine.FindAllStringSubmatch(lines, -1) {
		for _, call := range strings.Split(line[2], ", ") {
			if !strings.Contains(call, " for ") {
				out = append(out, line[1]+": "+call)
			}
		}
	}
	slices.Sort(out)
	return out
}

// A callback of a whole service is certain where it runs in the same position whatever becomes of what is not known.
func TestUnknownNodesHideOnlyTheCallbacksThatMayMove(t *testing.T) {
	t.Parallel()
	u := newUnsettled(t)
	names := func(names ...any) any { return map[string]any{"node_names": names} }
	tags := func(tags ...any) map[string]any {
		return map[string]any{"tags": tags}
	}
	by := func(tag any) map[string]any {
		return map[string]any{"selectors": []any{map[string]any{"node_tags": []any{tag}}}}
	}
	labels := func(b any) map[string]any { return map[string]any{"labels": map[string]any{"a": "x", "b": b}} }
	type late struct{ n3, web, db map[string]any }
	nodes := func(values ...map[string]any) (out []late) {
		for _, v := range values {
			out = append(out, late{n3: v})
		}
		return out
	}
	for name, c := range map[string]struct {
		late  late
		known []late
		on    []any // selectors of the service
		want  string
	}{
		"tags, all nodes":           {late{n3: tags(unknownText)}, nodes(tags("web"), tags("db"), tags("x")), nil, "a f:web l:db p"},
		"tags, and a later group":   {late{n3: tags(unknownText)}, nodes(tags("web"), tags("db"), tags("x")), []any{names("n3", "n4")}, "a l:db p"},
		"tags, and an earlier one":  {late{n3: tags(unknownText)}, nodes(tags("web"), tags("db"), tags("x")), []any{names("n1", "n3")}, "a f:web p"},
		"a tag of the first group":  {late{n3: tags("web", unknownText)}, nodes(tags("web", "db"), tags("web", "x")), []any{names("n3")}, "a f:web l:web p"},
		"a tag of a later group":    {late{n3: tags("db", unknownText)}, nodes(tags("db", "web"), tags("db", "x")), []any{names("n3")}, "a p"},
		"not on that node":          {late{n3: tags("db", unknownText)}, nodes(tags("db", "web"), tags("db", "x")), []any{names("n4")}, "a f:db l:db p"},
		"address":                   {late{n3: map[string]any{"address": unknownText}}, nodes(nil), []any{names("n3", "n4")}, "a f:web l:db p"},
		"address, only there":       {late{n3: map[string]any{"address": unknownText}}, nodes(nil), []any{names("n3")}, "a f:web l:web p"},
		"selectors of the first":    {late{web: by(unknownText)}, []late{{web: by("web")}, {web: by("db")}}, []any{names("n4")}, "a p"},
		"selectors of the last":     {late{db: by(unknownText)}, []late{{db: by("db")}, {db: by("x")}}, nil, "a f:web p"},
		"a label, and a later one":  {late{n3: labels(unknownText)}, nodes(labels("y"), labels("z")), []any{map[string]any{"node_labels": []any{"b:y"}}, names("n4")}, "a l:db p"},
		"a label, in the same":      {late{n3: labels(unknownText)}, nodes(labels("y"), labels("z")), []any{map[string]any{"node_labels": []any{"b:y"}}, names("n1")}, "a f:web l:web p"},
		"name, all nodes":           {late{n3: map[string]any{"name": unknownText}}, nodes(map[string]any{"name": "n3"}), nil, "a f:web l:db p"},
		"a service that is unknown": {late{n3: tags("web")}, nodes(nil), nil, "a f:web l:db p"},
	} {
		site := func(l late, size string) map[string]tftypes.Value {
			config := u.site(l.n3, l.web, l.db, "one")
			if name == "a service that is unknown" {
				content := any("x")
				if l.n3 != nil {
					content = unknownText
				}
				config = withService(t, config, map[string]any{"name": "more", "selectors": []any{}, "configuration": map[string]any{
					"file": map[string]any{"/etc/more": map[string]any{"content": content}}}})
			}
			return withService(t, config, ofEntity(t, "probe", "probe", size, c.on...))
		}
		prior := u.apply(site(late{}, "1"))
		var known []map[string]tftypes.Value
		for _, k := range c.known {
			known = append(known, site(k, "2"))
		}
		_, warnings := u.consistent(name, prior, site(c.late, "2"), known...)
		var want []string
		for _, callback := range strings.Fields(c.want) {
			callback, group, _ := strings.Cut(callback, ":")
			want = append(want, group+": command probe/"+callback)
		}
		slices.Sort(want)
		if got := calls(certain(warnings)); !slices.Equal(got, want) {
			t.Errorf("%s: certain are %q, want %q\n%s", name, got, want, warnings)
		}
	}
}

// probes adds a service of an entity with callbacks to a random site.
func probes(t *testing.T, r *rand.Rand, services []any) []any {
	t.Helper()
	selectors := [][]any{nil, nil, {map[string]any{"rack_names": []any{"r0"}}}, {map[string]any{"node_labels": []any{"of:l0"}}},
		{map[string]any{"node_tags": []any{"t1"}}}}[r.IntN(5)]
	entity := []string{"probe", "plain", "racked"}[r.IntN(3)]
	return append(services, ofEntity(t, "probe", entity, string(rune('a'+r.IntN(3))), selectors...))
}

// On a node of which something is not known, what certainly goes is removed for certain, and the tasks of entities whose
// templates do not read what is not known are certain, too.
func TestUnknownNodeLosesWhatIsCertain(t *testing.T) {
	t.Parallel()
	u := newUnsettled(t)
	labels := func(b any) map[string]any { return map[string]any{"labels": map[string]any{"a": "x", "b": b}} }
	perhaps := map[string]any{"node_labels": []any{"b:y"}}
	file := func(name string) map[string]any {
		return map[string]any{"name": "more", "selectors": []any{perhaps}, "configuration": map[string]any{
			"file": map[string]any{"/etc/" + name: map[string]any{"content": "x"}}}}
	}
	old := func(n3 map[string]any) map[string]tftypes.Value {
		return withService(t, u.site(n3, nil, nil, "one"), map[string]any{"name": "gone", "selectors": []any{}, "configuration": map[string]any{
			"file": map[string]any{"/etc/gone": map[string]any{"content": "x"}}}})
	}
	prior := u.apply(old(labels("y")))
	for name, c := range map[string]struct {
		service map[string]any // nil: none
		certain string
		hidden  bool // something is
	}{
		"nothing else":                      {nil, "remove file[/etc/gone] on 3", false},
		"a service that may bring it":       {file("gone"), "prepare 2 nodes (n1, n2)", true},
		"a service that may bring another":  {file("other"), "remove file[/etc/gone] on 3", false},
		"an entity that may come":           {ofEntity(t, "more", "plain", "1", perhaps), "prepare 2 nodes (n1, n2)", true},
		"an entity that reads another part": {ofEntity(t, "more", "racked", "1"), "remove file[/etc/gone] on 3", false},
		"tasks of an entity":                {ofEntity(t, "more", "plain", "1"), "create file[/etc/plain] on 3", false},
	} {
		site := func(n3 map[string]any) map[string]tftypes.Value {
			config := u.site(n3, nil, nil, "one")
			if c.service != nil {
				config = withService(t, config, c.service)
			}
			return config
		}
		_, warnings := u.consistent(name, prior, site(labels(unknownText)), site(labels("y")), site(labels("z")))
		if !strings.Contains(certain(warnings), c.certain) {
			t.Errorf("%s: %q is not certain:\n%s", name, c.certain, warnings)
		}
		if got := strings.Contains(warnings, "Not shown: "); got != c.hidden {
			t.Errorf("%s: that something is not shown is said: %t\n%s", name, got, warnings)
		}
	}
	// One that reads what is not known is not certain.
	late := func(rack any) map[string]tftypes.Value {
		return withService(t, u.site(map[string]any{"rack": rack}, nil, nil, "one"), ofEntity(t, "more", "racked", "1"))
	}
	_, warnings := u.consistent("rack", prior, late(unknownText), late("r1"), late("r2"))
	if strings.Contains(certain(warnings), "n3") || !strings.Contains(certain(warnings), "create file[/etc/racked] on 2") ||
		!strings.Contains(warnings, "Not shown: ") {
		t.Errorf("what depends on the rack is certain, or what does not is not:\n%s", warnings)
	}
}
