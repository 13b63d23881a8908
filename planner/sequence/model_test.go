package sequence

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// testModel has items by their paths alone: below /mgmt, /catalog and /sites/S/clusters/C/nodes/N. Everything exists but what is named in
// missing.
type testModel struct {
	clusters []Cluster
	flags    map[string]Item // New, Removed, Uncertain and Types of single items
	missing  []string
}

// sections is what a section of a node requires.
var sections = map[string][]string{
	"os":       {"system"},
	"nics":     {"os", "system"},
	"routes":   {"nics", "os", "system"},
	"storage":  {"routes", "nics", "os", "system"},
	"fs":       {"storage", "routes", "nics", "os", "system"},
	"configs":  {"fs", "storage", "routes", "nics", "os", "system"},
	"items":    {"fs", "storage", "routes", "nics", "os", "system"},
	"services": {"fs", "storage", "routes", "nics", "os", "system"},
}

func (m *testModel) Item(path string) (Item, bool) {
	it := m.flags[path]
	words := strings.Split(path, "/")
	if len(words) > 1 && words[1] == "mgmt" {
		it.Node, it.Management = "/mgmt", true
	}
	if len(words) > 4 && words[3] == "clusters" {
		it.Cluster = strings.Join(words[:5], "/")
	}
	if len(words) > 6 && words[5] == "nodes" {
		it.Node = strings.Join(words[:7], "/")
	}
	return it, path != "" && !slices.Contains(m.missing, path)
}

func (m *testModel) Requires(path string) []string {
	words := strings.Split(path, "/")
	var out []string
	if len(words) > 5 && words[5] == "services" {
		out = append(out, strings.Join(words[:5], "/")+"/nodes")
	}
	if it, _ := m.Item(path); it.Node != "" && path != it.Node {
		section, _, _ := strings.Cut(path[len(it.Node)+1:], "/")
		for _, s := range sections[section] {
			out = append(out, it.Node+"/"+s)
		}
	}
	return out
}

func (m *testModel) Removed() []string {
	var out []string
	for path, it := range m.flags {
		if it.Removed {
			out = append(out, path)
		}
	}
	slices.SortFunc(out, comparePaths)
	return out
}

func (m *testModel) Clusters() []Cluster { return m.clusters }

// twoClusters are c1 with n1 and n2, and c2 with n3 and n4 and an HA manager.
func twoClusters() *testModel {
	cluster := func(id string, nodes ...string) Cluster {
		c := Cluster{Path: "/sites/s/clusters/" + id, Site: "/sites/s"}
		for _, n := range nodes {
			c.Nodes = append(c.Nodes, c.Path+"/nodes/"+n)
		}
		return c
	}
	m := &testModel{clusters: []Cluster{cluster("c1", "n1", "n2"), cluster("c2", "n3", "n4")}, flags: map[string]Item{}}
	m.clusters[1].HA = true
	return m
}

// full writes the path that begins with n1 to n4 (a node), c1 or c2 (a cluster), m (the management server).
func full(path string) string {
	first, rest, below := strings.Cut(path, "/")
	start := map[string]string{
		"m": "/mgmt", "c1": "/sites/s/clusters/c1", "c2": "/sites/s/clusters/c2",
		"n1": "/sites/s/clusters/c1/nodes/n1", "n2": "/sites/s/clusters/c1/nodes/n2",
		"n3": "/sites/s/clusters/c2/nodes/n3", "n4": "/sites/s/clusters/c2/nodes/n4",
	}[first]
	if start == "" {
		return path
	}
	if below {
		start += "/" + rest
	}
	return start
}

// works reads tasks, a line each: `ID KIND WHERE [word...]`. KIND is config (WHERE is the node, or node=item), callback (WHERE is the item)
// or remote (WHERE is node,node=item). Words are task:ID, item:PATH, key:TYPE=TITLE (requirements), tag:T, group:G, also:PATH,
// replaces:TYPE=TITLE, type:T, key of the resource `title:K`, digest:D, source:S, transient, removes and future.
func works(t *testing.T, lines ...string) []Work {
	t.Helper()
	var out []Work
	for _, line := range lines {
		words := strings.Fields(line)
		w := Work{ID: words[0]}
		where, item, _ := strings.Cut(words[2], "=")
		switch words[1] {
		case "config":
			w.Node, w.Item, w.Resource = full(where), full(where), Resource{"res", words[0]}
		case "callback":
			w.Kind, w.Item = task.Callback, full(where)
		case "remote":
			w.Kind = task.Remote
			for node := range strings.SplitSeq(where, ",") {
				w.Nodes = append(w.Nodes, full(node))
			}
			w.Item = w.Nodes[0]
		default:
			t.Fatalf("%s: no such kind", line)
		}
		if item != "" {
			w.Item = full(item)
		}
		for _, word := range words[3:] {
			key, value, _ := strings.Cut(word, ":")
			typ, title, _ := strings.Cut(value, "=")
			switch key {
			case "tag":
				w.Tag = value
			case "group":
				w.Group = task.Group(value)
			case "also":
				w.Also = append(w.Also, full(value))
			case "replaces":
				w.Replaces = append(w.Replaces, Resource{typ, title})
			case "type":
				w.Resource.Type = value
			case "title":
				w.Resource.Title = value
			case "digest":
				w.Digest = value
			case "source":
				w.Source = value
			case "transient":
				w.Transient = true
			case "removes":
				w.Removes = true
			case "future":
				w.Future = true
			case "item":
				w.Requires = append(w.Requires, Requirement{Item: full(value)})
			default:
				r, err := ParseRequirement(word)
				if err != nil {
					t.Fatal(err)
				}
				w.Requires = append(w.Requires, r)
			}
		}
		out = append(out, w)
	}
	return out
}

// lockable offers one lock pair for every node of a model.
func lockable(m Model) map[string][]LockPair {
	out := make(map[string][]LockPair)
	for _, c := range m.Clusters() {
		for _, node := range c.Nodes {
			w := Work{Kind: task.Callback, Item: node}
			out[node] = []LockPair{{w, w}}
		}
	}
	return out
}

// text writes phases: `a b | c`.
func text(s *Schedule) string {
	var out []string
	for _, batch := range s.Phases {
		var ids []string
		for _, w := range batch.Works {
			ids = append(ids, w.ID)
		}
		out = append(out, strings.Join(ids, " "))
	}
	return strings.Join(out, " | ")
}

// scenario is one input and the phases, or the code of all problems and a part of each message, that it gives.
type scenario struct {
	works, others, remembered, stale []string
	ordered                          [][]string
	model                            func(m *testModel)
	in                               func(in *Input)
	want                             string
	problems                         []string // "code: part of the message"
	unkept                           []string // "task requirement required"
	after                            map[string]string
}

func (sc scenario) input(t *testing.T) Input {
	t.Helper()
	m := twoClusters()
	if sc.model != nil {
		sc.model(m)
	}
	in := Input{
		Model: m, Rules: DefaultRules(), Works: works(t, sc.works...), Others: works(t, sc.others...), Ordered: sc.ordered,
		Remembered: works(t, sc.remembered...), Stale: works(t, sc.stale...),
	}
	if sc.in != nil {
		sc.in(&in)
	}
	return in
}

func run(t *testing.T, scenarios map[string]scenario) {
	t.Helper()
	for name, sc := range scenarios {
		t.Run(name, func(t *testing.T) {
			s, problems := Make(sc.input(t))
			if len(problems) != len(sc.problems) {
				t.Fatalf("problems:\n%v\nwant %q", problems, sc.problems)
			}
			for i, p := range problems {
				code, part, _ := strings.Cut(sc.problems[i], ": ")
				if string(p.Code) != code || !strings.Contains(p.Message, part) {
					t.Errorf("got %s: %s\nwant %s", p.Code, p.Message, sc.problems[i])
				}
			}
			if problems != nil {
				return
			}
			if got := text(s); got != sc.want {
				t.Errorf("got  %q\nwant %q", got, sc.want)
			}
			var unkept []string
			for _, u := range s.Unkept {
				unkept = append(unkept, fmt.Sprint(u.Task, " ", u.Requirement, " ", u.Required))
			}
			if diff := cmp.Diff(sc.unkept, unkept); diff != "" {
				t.Errorf("not kept (-want +got)\n%s", diff)
			}
			for id, want := range sc.after {
				if got := strings.Join(s.After(id), " "); got != want {
					t.Errorf("after of %s: got %q, want %q", id, got, want)
				}
			}
		})
	}
}
