package item

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRules plays scripts, one for each rule. Lines are explained at script.
func TestRules(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
	}{
		{"10 required children, collections and defaults are made", []string{
			"expect @/system Initial known name=sys", "expect @/links Initial", "expect @/os gone", "expect @ locked=false",
		}},
		{"11 checks at creation, in order", []string{
			"create /things/a thing", "inherit @/links/a /things/a",
			"create @/links/a/core nosuch !MethodNotAllowedError",
			"create /nowhere/b!d nosuch !InvalidTypeError",
			"create /nowhere/b.d thing !ValidationError",
			"create /nowhere/b thing !InvalidLocationError",
			"create /things/a system !ItemExistsError",
			"create /things/c system !InvalidChildTypeError",
			"create /things/a/nosuch system !ChildNotAllowedError", "create /things/a/name system !ChildNotAllowedError",
			"create @/os thing !ChildNotAllowedError", "create @/links/b thing !ChildNotAllowedError",
			"create //things thing !ValidationError", "create things thing !InvalidLocationError", "create / thing !ValidationError",
			"create /things/c thing nosuch=1 !PropertyNotAllowedError", "create @ node order=1 !ItemExistsError",
			"create /sites/s/clusters/c/nodes/x node order=1 !PropertyNotAllowedError",
			"create /things/c thing name=toolong !ValidationError", "create /things/c thing name=bad !ValidationError",
			"create /things/c thing size=10 !ValidationError", "create /things/c big !MissingRequiredPropertyError",
			"create /things/c big must=1 low=2 !ValidationError", "create /things/c big must=1 low=2 high=3",
		}},
		{"11 below an item marked for removal nothing is made", []string{
			"create /things/a thing", "success", "remove /things/a", "create /things/a/core system !MethodNotAllowedError",
		}},
		{"13 own values over the source's, live along the chain", []string{
			"create /things/a thing name=x note=n", "create /things/a/parts/p part name=y",
			"inherit @/links/a /things/a name=z", "inherit /sites/s/clusters/c/nodes/m/links/l @/links/a",
			"expect @/links/a name=z note=n size=1", "expect /sites/s/clusters/c/nodes/m/links/l name=z note=n", "expect /sites/s/clusters/c/nodes/m/links/l/parts/p name=y",
			"update /things/a note=o", "expect /sites/s/clusters/c/nodes/m/links/l note=o",
			"update @/links/a name-", "expect /sites/s/clusters/c/nodes/m/links/l name=x",
		}},
		{"13 children of the source that go are left out", []string{
			"create /things/a thing", "create /things/a/parts/p part", "create /things/a/parts/q part", "success", "remove /things/a/parts/p",
			"inherit @/links/a /things/a", "expect @/links/a/parts/p gone", "expect @/links/a/parts/q Initial",
		}},
		{"14 errors of inheriting", []string{
			"create /things/a thing", "create /things/b thing", "create /things/b/parts/p part", "create /things/a/parts/p part",
			"inherit @/frozen /things/a name=x !ValidationError", "inherit @/fixed/a /things/a name=x !ValidationError", "inherit @/fixed/a /things/a",
			"inherit @/links/a /things/c !InvalidLocationError", "inherit @/links/a /things !ChildNotAllowedError",
			"inherit @/links/a /mgmt !InvalidChildTypeError", "inherit /things/c /things/a !ChildNotAllowedError",
			"inherit @/links/a.b /things/a !ValidationError", "inherit @/links/a /things/a name=TOO !ValidationError",
			"inherit @/links/a /things/a nosuch=TOO !PropertyNotAllowedError",
			"inherit @/links/a /things/a", "inherit @/links/a /things/a !ItemExistsError",
			"inherit @/links/a/parts/q /things/b/parts/p !MethodNotAllowedError", "inherit @/links/a/parts/q /things/a/parts/p !MethodNotAllowedError",
			"success", "remove /things/b", "inherit @/links/b /things/b !MethodNotAllowedError",
			"update @/fixed/a name=x !ValidationError", "update @/fixed/a/parts/p name=x !ValidationError", "update /things/a name=x", "expect @/fixed/a name=x Updated",
		}},
		{"14 a removed child can be inherited again from where it came", []string{
			"create /things/a thing", "create /things/a/parts/p part", "inherit @/links/a /things/a", "remove @/links/a/parts/p",
			"expect @/links/a/parts/p gone", "inherit @/links/a/parts/p /things/a/parts/p", "expect @/links/a/parts/p Initial",
		}},
		{"an item cannot contain itself", []string{
			"create /things/a thing", "inherit @/links/a /things/a", "inherit @/os @ !InvalidChildTypeError",
		}},
		{"15 a new child of the source appears in all that inherits", []string{
			"create /things/a thing", "inherit @/links/a /things/a", "inherit /sites/s/clusters/c/nodes/m/links/l @/links/a",
			"create /things/a/parts/p part name=x", "create /things/a/parts/p/bits/b bit",
			"expect @/links/a/parts/p/bits/b Initial", "expect /sites/s/clusters/c/nodes/m/links/l/parts/p name=x",
			"update @/links/a/parts/p name=y", "expect /sites/s/clusters/c/nodes/m/links/l/parts/p name=y",
		}},
		{"15 below what goes it goes too, and comes back with it", []string{
			"create /things/a thing", "inherit @/links/a /things/a", "success", "remove @/links/a", "create /things/a/parts/p part",
			"expect @/links/a/parts/p ForRemoval", "expect @/links/a/parts/p/bits ForRemoval",
			"inherit @/links/a /things/a", "expect @/links/a Applied", "expect @/links/a/parts/p Initial",
		}},
		{"17 a deleted value gives way to source or default", []string{
			"create /things/a thing name=x size=2", "update /things/a size-", "expect /things/a size=1", "update /things/a name-", "expect /things/a name-",
			"update /things/a name- !InvalidRequestError", "update @/system name=x", "update @/system name-", "expect @/system name=sys",
			"create /things/b big must=1", "update /things/b must- !MissingRequiredPropertyError",
			"inherit @/os /things/a size=3", "update @/os size- name-", "expect @/os size=1 name-",
		}},
		{"18 an update is refused", []string{
			"update /things/x name=y !InvalidLocationError", "update @/links name=x !PropertyNotAllowedError",
			"create /things/a thing", "update /things/a nosuch=x !PropertyNotAllowedError", "update @ order=x !PropertyNotAllowedError",
		}},
		{"19 read-only for users once applied", []string{
			"create /things/a thing once=x", "create /things/b thing", "update /things/a once=y", "success",
			"update /things/a once=z !InvalidRequestError", "update /things/a once=y name=n", "update /things/a once=z !InvalidRequestError",
			"update /things/a once- !InvalidRequestError", "update /things/b once=x", "update /things/b once=y",
			"remove /things/a", "update /things/a once=z !InvalidRequestError", "expect /things/a ForRemoval",
		}},
		{"19 a node's lock flag is the planner's", []string{
			"create /sites/s/clusters/c/nodes/x node host=x locked=true", "expect /sites/s/clusters/c/nodes/x locked=false",
			"update @ locked=true !InvalidRequestError", "update @ locked=false", "plugin @ locked=true", "expect @ locked=true",
		}},
		{"4 plugins write what is plugin-updatable, applied or not", []string{
			"create /things/a thing auto=x", "success", "update /things/a auto=y !InvalidRequestError", "plugin /things/a auto=y",
			"expect /things/a Updated auto=y", "plugin /things/a name=n !InvalidRequestError",
		}},
		{"20 an update of a source is refused when an heir does not take it", []string{
			"create /things/b big must=1 low=1 high=2", "inherit @/links/b /things/b low=3 high=4", "inherit @/fixed/b /things/b",
			"create /things/a thing", "inherit @/links/a /things/a once=x", "success", "update /things/a once=y", "update @/links/a once=y !InvalidRequestError",
			"update /things/b low- high-", "expect @/fixed/b low-", "expect @/links/b low=3",
		}},
		{"2.2 updated and back", []string{
			"create /things/a thing name=x", "update /things/a name=y", "expect /things/a Initial", "success", "expect /things/a Applied applied:name=y",
			"update /things/a name=y", "expect /things/a Applied", "update /things/a name=z", "expect /things/a Updated applied:name=y",
			"update /things/a name=y", "expect /things/a Applied", "update /things/a name=z", "lost /things/a",
			"update /things/a name=y", "expect /things/a Updated unknown", "success", "expect /things/a Applied known",
		}},
		{"2.2 an update of an item for removal undoes the removal", []string{
			"create /things/a thing name=x", "create /things/a/parts/p part", "success", "remove /things/a", "expect /things/a/parts/p ForRemoval",
			"update /things/a name=x", "expect /things/a ForRemoval", "update /things/a name=y", "expect /things/a Updated",
			"expect /things/a/parts/p ForRemoval", "expect /things/a/parts ForRemoval",
		}},
		{"2.2 an update of data too, also where the data stays", []string{
			"create /things/a thing note=1", "create /things/b thing note=1", "create /things/c thing note=1", "success", "update /things/b name=y",
			"remove /things/a", "remove /things/b", "update /things/a note=2", "expect /things/a Applied applied:note=2", "remove /things/a", "update /things/a note=2",
			"expect /things/a Applied", "update /things/b note=2", "expect /things/b Updated", "update /things/c name=y", "remove /things/c",
			"update /things/c name-", "expect /things/c ForRemoval", "update /things/c note=2", "expect /things/c Updated",
		}},
		{"2.2 data is applied at once", []string{
			"create /things/a thing note=1", "inherit @/links/a /things/a", "inherit @/fixed/a /things/a", "update /things/a note=2", "expect /things/a Initial applied:note=2",
			"success", "update /things/a note=3", "expect /things/a Applied applied:note=3", "expect @/links/a Applied applied:note=3",
			"update @/links/a note=4", "expect @/links/a Applied applied:note=4", "update @/links/a note-", "expect @/links/a Applied applied:note=3",
			"update /things/a note-", "expect /things/a Applied applied:note-", "expect @/fixed/a applied:note-",
		}},
		{"28-31 a changed source and its heirs", []string{
			"create /things/a thing name=x", "inherit @/links/a /things/a", "inherit @/links/b /things/a name=own", "success",
			"update /things/a name=y", "expect @/links/a Updated", "expect @/links/a/parts Updated", "expect @/links/b Applied",
			"update /things/a name=x", "expect @/links/a Applied", "expect @/links/a/parts Applied",
			"lost @/links/a", "update /things/a note=q", "expect @/links/a Updated unknown",
			"update /things/a name=y size=2", "expect @/links/b Updated name=own size=2",
		}},
		{"Q10 a changed source leaves removals alone, and none is lost", []string{
			"create /things/a thing name=x", "inherit @/links/a /things/a", "success", "remove @/links/a", "update /things/a name=y",
			"expect @/links/a ForRemoval", "inherit @/links/a /things/a", "expect @/links/a Updated applied:name=x name=y",
		}},
		{"32 tasks", []string{
			"create /things/a thing name=x", "create /things/b thing", "done /things/a", "expect /things/a Applied applied:name=x", "expect /things/b Initial",
			"update /things/a name=y", "done /things/a", "expect /things/a Applied applied:name=y", "remove /things/a",
			"done /things/a /things/a/parts /things/nosuch", "expect /things/a Removed", "delete", "expect /things/a gone",
		}},
		{"33 a plan that succeeded leaves nothing but snapshots and removals", []string{
			"create /things/a thing", "create /snapshots/s snapshot", "create /things/b thing", "state /things/b Applied", "remove /things/b", "success",
			"expect /things/a Applied", "expect /snapshots/s Initial", "expect /things/b ForRemoval", "expect / Applied", "expect /things/a/parts Applied",
		}},
		{"34 what cannot be deleted is for removal again, for good", []string{
			"create /things/a thing", "create /things/a/parts/p part", "create /things/a/parts/q part", "success", "remove /things/a",
			"done /things/a /things/a/parts /things/a/parts/q /things/a/parts/q/bits", "delete",
			"expect /things/a/parts/q gone", "expect /things/a/parts/p ForRemoval", "expect /things/a ForRemoval", "expect /things/a/parts ForRemoval",
			"create /things/a thing !MethodNotAllowedError", "update /things/a name=x !MethodNotAllowedError",
			"done /things/a /things/a/parts /things/a/parts/p /things/a/parts/p/bits", "delete", "expect /things/a gone",
		}},
		{"34 an heir that stays keeps its source", []string{
			"create /things/a thing", "create /things/a/parts/p part", "inherit @/links/a /things/a", "success", "remove /things/a",
			"done /things/a /things/a/parts /things/a/parts/p /things/a/parts/p/bits @/links/a @/links/a/parts @/links/a/parts/p", "delete",
			"expect @/links/a/parts/p ForRemoval", "expect /things/a ForRemoval", "expect /things/a/parts/p ForRemoval",
		}},
		{"34 a collection stays as long as its parent", []string{
			"create /things/a thing", "success", "remove /things/a", "done /things/a/parts", "delete", "expect /things/a/parts ForRemoval",
			"create /things/a thing", "expect /things/a Applied", "expect /things/a/parts Applied",
		}},
		{"121 resumed", []string{
			"create /things/a thing", "create /things/a/parts/p part", "success", "remove /things/a", "done /things/a", "delete", "expect /things/a ForRemoval",
			"resume /things/a", "expect /things/a Removed", "resume /things/a/parts/p", "expect /things/a/parts/p ForRemoval",
		}},
		{"37 a new item goes at once", []string{
			"create /things/a thing", "create /things/a/parts/p part", "inherit @/links/a /things/a", "remove /things/a",
			"expect /things/a gone", "expect /things/a/parts/p gone", "expect @/links/a gone", "expect @/links/a/parts/p gone",
		}},
		{"37 not where something may be on a node", []string{
			"create /things/a thing", "create /things/a/parts/p part", "create /things/a/parts/q part", "lost /things/a/parts/p", "remove /things/a",
			"expect /things/a ForRemoval", "expect /things/a/parts ForRemoval", "expect /things/a/parts/p ForRemoval", "expect /things/a/parts/q gone",
			"create /things/b thing", "create /things/b/parts/p part", "lost /things/b", "remove /things/b/parts/p", "expect /things/b/parts/p ForRemoval",
		}},
		{"37 nor while an heir is on a node", []string{
			"create /things/a thing", "inherit @/links/a /things/a", "done @/links/a", "remove /things/a", "expect /things/a ForRemoval", "expect @/links/a ForRemoval",
		}},
		{"Q11 what is beside it does not matter", []string{
			"create /things/a thing", "create /things/b thing", "lost /things/b", "remove /things/a", "expect /things/a gone",
		}},
		{"38 what cannot be removed", []string{
			"remove / !MethodNotAllowedError", "remove /mgmt !MethodNotAllowedError", "remove /things !MethodNotAllowedError", "remove /nosuch !InvalidLocationError",
			"remove @/system", "expect @/system gone", "create @/system system", "expect @/system Initial",
		}},
		{"39 recovery is refused", []string{
			"create /things/a thing", "create /things/b thing", "create /things/a/parts/p part", "inherit @/links/a /things/a", "success",
			"remove /things/a/parts/p", "remove @/links/a", "inherit @/links/a /things/a !MethodNotAllowedError",
			"create /things/a/parts/p part", "inherit @/links/a /things/b !MethodNotAllowedError", "create @/links/a/parts/p part !MethodNotAllowedError",
			"inherit @/links/a /things/a", "expect @/links/a/parts/p Applied", "remove /things/b", "inherit /things/b /things/a !ItemExistsError",
		}},
		{"40 recovery to what was before", []string{
			"create /things/a thing name=x", "success", "update /things/a name=y", "remove /things/a", "create /things/a thing", "expect /things/a Updated name=y",
			"update /things/a name=x", "expect /things/a Applied", "lost /things/a", "remove /things/a", "create /things/a thing", "expect /things/a Updated unknown",
			"create /things/b thing", "lost /things/b", "remove /things/b", "expect /things/b ForRemoval", "create /things/b thing", "expect /things/b Initial unknown",
		}},
		{"40 heirs without values of their own come back", []string{
			"create /things/a thing name=x", "create /things/a/parts/p part", "inherit @/links/a /things/a", "inherit @/links/b /things/a name=own", "success", "remove /things/a",
			"create /things/a thing", "expect /things/a Applied", "expect @/links/a Applied", "expect @/links/a/parts/p Applied", "expect @/links/b ForRemoval", "expect @/links/b/parts/p ForRemoval",
		}},
		{"Q12 recovery looks at the type, and at everything before it begins", []string{
			"create /things/a thing name=x", "success", "remove /things/a", "create /things/a big must=1 !ItemExistsError", "create /things/a nosuch !InvalidTypeError",
			"create /things/a thing name=TOO !ValidationError", "expect /things/a ForRemoval",
		}},
		{"43 everything again", []string{
			"create /things/a thing name=x", "create /things/b thing", "success", "remove /things/b", "lost /things/a", "again",
			"expect /things/a Initial known applied:name-", "expect /things/b Initial",
		}},
		{"25-27 stored states", []string{
			"create /things/a thing name=x", "state /things/a Applied", "expect /things/a applied:name=x", "state /things/a Lost !InvalidRequestError", "state /nosuch Applied !InvalidLocationError",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { script(t, newTree(t), tt.lines...) })
	}
}

// TestContainsItself: a new reference below a source, from where the source's own heir is.
func TestContainsItself(t *testing.T) {
	d := Definitions{Types: []Type{
		{ID: "root", Elements: []Element{{Name: "a", Kind: Collection, Type: "x"}}},
		{ID: "x", Elements: []Element{{Name: "links", Kind: RefCollection, Type: "x"}}},
	}}
	registry, problems := Register(d)
	if problems != nil {
		t.Fatal(problems)
	}
	tree, _ := New(registry, "root")
	script(t, tree, "create /a/p x", "create /a/q x", "inherit /a/p/links/p /a/p !InvalidReferenceError",
		"inherit /a/q/links/p /a/p", "inherit /a/p/links/q /a/q !InvalidReferenceError")
}

// TestPlanEnded: litp.md 35, the table of what an ended plan says of an item.
func TestPlanEnded(t *testing.T) {
	waiting, ok, failed := Outcome{}, Outcome{Progress: Succeeded}, Outcome{Progress: Unfinished}
	tests := []struct {
		name   string
		before bool
		tasks  []Outcome
		want   bool
	}{
		{"none started", true, []Outcome{waiting, waiting}, true},
		{"none started, not known", false, []Outcome{waiting}, false},
		{"all succeeded", false, []Outcome{ok, ok}, true},
		{"one failed", true, []Outcome{ok, failed}, false},
		{"one waits", true, []Outcome{ok, waiting}, false},
		{"a lock failed", false, []Outcome{{Unfinished, true}, ok}, true},
		{"no tasks", false, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := newTree(t)
			tree.root.determinable = tt.before
			tree.PlanEnded(map[Path][]Outcome{Root: tt.tasks, "/nosuch": {failed}})
			if tree.root.determinable != tt.want {
				t.Errorf("known is %t, want %t", tree.root.determinable, tt.want)
			}
		})
	}
	t.Run("a removal that failed", func(t *testing.T) {
		tree := newTree(t)
		script(t, tree, "create /things/a thing", "create /things/a/parts/p part", "success", "remove /things/a", "done /things/a", "delete")
		tree.PlanEnded(map[Path][]Outcome{"/things/a": {ok}})
		script(t, tree, "expect /things/a ForRemoval unknown")
	})
}

func TestWarnings(t *testing.T) {
	tree := newTree(t)
	if got := tree.Create("/things/a", "big", map[string]string{"must": "x"}); len(got) != 1 || got[0].Code != Deprecated || !got[0].Warning {
		t.Errorf("deprecated type: got %v", got)
	}
	script(t, tree, "inherit @/links/a /things/a", "success", "remove @/links/a")
	got := tree.Update("/things/a", Set(map[string]string{"name": "x"}))
	if len(got) == 0 || got[0].Code != RemovalKept || got[0].Name != "/sites/s/clusters/c/nodes/n/links/a" || len(got.Errors()) != 0 {
		t.Errorf("removal kept: got %v", got)
	}
}

func TestRequired(t *testing.T) {
	tree := newTree(t)
	script(t, tree, "create /things/a thing", "create /things/a/parts/p part", "inherit @/links/a /things/a", "create /sites/s/clusters/c/services/v service")
	node := Path("/sites/s/clusters/c/nodes/n")
	tests := map[Path][]Path{
		node + "/links/a/parts/p":        {node + "/os", node + "/system"},
		node + "/links":                  {node + "/os", node + "/system"},
		node + "/system":                 nil,
		"/sites/s/clusters/c/services/v": {"/sites/s/clusters/c/nodes"},
		"/nosuch":                        nil,
	}
	for path, want := range tests {
		if diff := cmp.Diff(want, tree.Required(path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if !tree.Requires("/sites/s/clusters/c/services/v", node+"/system") || tree.Requires("/sites/s/clusters/c/services/v", "/sites/s/clusters/c/nodes2") {
		t.Error("Requires: whole segments count")
	}
}

func TestQueries(t *testing.T) {
	tree := newTree(t)
	script(t, tree, "create /things/a thing", "inherit @/links/a /things/a")
	it := tree.Get("/sites/s/clusters/c/nodes/n/links/a/parts")
	if it.Node().Path() != "/sites/s/clusters/c/nodes/n" || it.Cluster().Path() != "/sites/s/clusters/c" || it.Site().Path() != "/sites/s" || it.Management() != nil {
		t.Error("node, cluster or site of an item")
	}
	if tree.Get("/mgmt").Host() == nil || tree.Get("/things").Host() != nil || tree.Get("/things/a").Cluster() != nil {
		t.Error("an item on no node")
	}
	cluster := tree.Get("/sites/s/clusters/c")
	if !cluster.Is("cluster") || !cluster.Is("ha-cluster") || tree.Get("/sites/s/clusters").Is("cluster") || cluster.Is("node") {
		t.Error("is a")
	}
	n := 0
	for range tree.Root().OfType("thing") {
		n++
	}
	if n != 2 {
		t.Errorf("%d things, want 2", n)
	}
	if v, ok := tree.Get("/sites/s/clusters/c/nodes/n").View("order"); !ok || !cmp.Equal(v, []string{"a"}) {
		t.Errorf("view: %v %t", v, ok)
	}
}

func TestRestore(t *testing.T) {
	tree := newTree(t)
	script(t, tree, "create /things/a thing name=x", "success", "create /snapshots/old snapshot")
	saved := tree.Clone()
	script(t, tree, "update /things/a name=y", "create /things/b thing", "remove /snapshots/old", "create /snapshots/new snapshot time=1")
	back := tree.Restore(saved)
	script(t, back, "expect /things/a Applied name=x", "expect /things/b gone", "expect /snapshots/new Initial time=1", "expect /snapshots/old gone")
	script(t, saved, "expect /snapshots/old Initial")
	script(t, tree, "expect /things/a Updated name=y")
}

func TestPath(t *testing.T) {
	order := []Path{"/", "/a", "/a/b", "/a/b/c", "/a-b", "/a-b/c", "/b"}
	for i, p := range order {
		for j, q := range order {
			if got := p.Compare(q); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%s and %s: %d", p, q, got)
			}
		}
	}
	if Path("/a/bc").Within("/a/b") || !Path("/a/b").Within("/a/b") || Path("/a/b").Below("/a/b") || !Path("/a").Below("/") || Root.Below(Root) {
		t.Error("Within and Below look at whole segments")
	}
	if Path("/a").Parent() != "/" || Path("/a/b").Parent() != "/a" || Root.Parent() != "" || Path("").Parent() != "" || Path("/a/b").ID() != "b" {
		t.Error("Parent and ID")
	}
}
