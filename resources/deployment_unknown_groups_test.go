package resources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// unsettled plans sites with three nodes in a group "web" and two in a group "db" of which something is not known.
type unsettled struct {
	*planning
	folder string
}

func newUnsettled(t *testing.T) unsettled {
	t.Helper()
	u := unsettled{newPlanning(t), t.TempDir()}
	u.mayApply()
	return u
}

// unknownText is a text that is not known yet.
var unknownText = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)

// site returns a site: of node n3 and of the groups, attributes are given. "web" has batches.
func (u unsettled) site(n3, web, db map[string]any, content string) map[string]tftypes.Value {
	u.t.Helper()
	with := func(object, more map[string]any) map[string]any {
		for name, v := range more {
			object[name] = v
		}
		return object
	}
	var nodes []any
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5"} {
		if err := os.MkdirAll(filepath.Join(u.folder, name, "etc"), 0o755); err != nil {
			u.t.Fatal(err)
		}
		tag := "web"
		if name > "n3" {
			tag = "db"
		}
		n := map[string]any{"name": name, "rack": "r1", "tags": []any{tag}, "labels": map[string]any{"a": "x"}, "roles": []any{"front"},
			"connect": map[string]any{"transport": "local", "root": filepath.Join(u.folder, name)}}
		if name == "n3" {
			n = with(n, n3)
		}
		nodes = append(nodes, n)
	}
	group := func(name string, more map[string]any) map[string]any {
		return with(map[string]any{"name": name, "critical": true, "selectors": []any{map[string]any{"node_tags": []any{name}}}}, more)
	}
	service := func(name, criterion, value, content string) map[string]any {
		return map[string]any{"name": name, "selectors": []any{map[string]any{criterion: []any{value}}}, "configuration": map[string]any{
			"file": map[string]any{"/etc/" + name: map[string]any{"content": content}}}}
	}
	return map[string]tftypes.Value{"site": valueOf("lon1"), "nodes": valueOf(nodes),
		"groups": valueOf([]any{group("web", with(map[string]any{"rolling": map[string]any{"batches": []any{"1", "50%"}}}, web)),
			group("db", with(map[string]any{"depends_on_groups": []any{"web"}}, db))}),
		"services": valueOf([]any{service("motd", "node_labels", "a:x", content), service("rack", "rack_names", "r1", "rack")}),
	}
}

// While the nodes with work of a group are not certain, its batches are not, nor what depends on how many nodes there
// are; its tasks are.
func TestUnknownMembershipLeavesBatchesOpen(t *testing.T) {
	t.Parallel()
	u := newUnsettled(t)
	prior := u.apply(u.site(nil, nil, nil, "one"))
	budget := tftypes.NewValue(u.typ.AttributeTypes["failure_budget"], map[string]tftypes.Value{
		"nodes": tftypes.NewValue(tftypes.Number, nil), "percent": valueOf(40)})
	known := u.site(nil, nil, nil, "two")
	known["failure_budget"] = budget
	if planned, _, _ := u.planFrom(known, prior); !strings.Contains(planned["steps"].String(), "batch 1 of 3: 1 node (n1)") {
		t.Errorf("no batches: %s", planned["steps"])
	}
	for name, config := range map[string]map[string]tftypes.Value{
		"tags":      u.site(map[string]any{"tags": []any{unknownText}}, nil, nil, "two"),
		"selectors": u.site(nil, map[string]any{"selectors": []any{map[string]any{"node_tags": []any{"web"}}, map[string]any{"node_names": []any{unknownText}}}}, nil, "two"),
		"services":  u.site(nil, nil, nil, "two"),
	} {
		if name == "services" { // it may be on any node, and only what is placed by rack changes for certain
			config["services"] = valueOf([]any{map[string]any{"name": "motd", "selectors": []any{map[string]any{"node_names": []any{"n2"}}},
				"configuration": map[string]any{"file": map[string]any{"/etc/motd": map[string]any{"content": "two"}}}},
				map[string]any{"name": "more", "selectors": []any{map[string]any{"node_names": []any{unknownText}}}, "configuration": map[string]any{
					"file": map[string]any{"/etc/more": map[string]any{"content": "x"}}}}})
		}
		config["failure_budget"] = budget
		_, warnings, _ := u.planFrom(config, prior)
		steps := certain(warnings)
		if strings.Contains(steps, "batch ") || !strings.Contains(steps, "update file[/etc/motd]") {
			t.Errorf("%s: certain are batches, or not the tasks:\n%s", name, steps)
		}
		if budget := strings.Contains(steps, "more than 2 nodes failed"); budget != (name != "tags") { // 40 % of 5, all in groups
			t.Errorf("%s: that how many nodes may fail is certain is %t:\n%s", name, budget, steps)
		}
	}
}

// A node that is certainly in a group cannot be torn down, whatever else of it or of other groups is not known.
func TestUnknownMembershipTearsDownNoCertainMember(t *testing.T) {
	t.Parallel()
	u := newUnsettled(t)
	prior := u.apply(u.site(nil, nil, nil, "one"))
	by := func(criterion string, values ...any) map[string]any {
		return map[string]any{"selectors": []any{map[string]any{criterion: values}}}
	}
	for name, c := range map[string]struct {
		n3, web, db map[string]any
		nodes       string
	}{
		"rack":             {map[string]any{"rack": unknownText}, nil, nil, ""},
		"zone":             {map[string]any{"zone": unknownText}, nil, nil, ""},
		"labels":           {map[string]any{"labels": map[string]any{"a": unknownText}}, nil, nil, ""},
		"roles":            {map[string]any{"roles": []any{unknownText}}, nil, nil, ""},
		"tags":             {map[string]any{"tags": []any{unknownText}}, nil, nil, "1 node: n3."},
		"one tag of two":   {map[string]any{"tags": []any{"web", unknownText}}, nil, nil, ""},
		"selector":         {nil, by("node_tags", unknownText), nil, "3 nodes: n1, n2, n3."},
		"selector of last": {nil, nil, by("node_tags", unknownText), "2 nodes: n4, n5."},
		"rack of selector": {map[string]any{"rack": unknownText}, by("rack_names", "r1"), nil, "1 node: n3."},
		"place":            {map[string]any{"address": unknownText}, nil, nil, "1 node: n3."},
	} {
		_, warnings, _ := u.planFrom(u.site(c.n3, c.web, c.db, "one"), prior)
		_, nodes, _ := strings.Cut(warnings, "May be torn down, depending on what is not known: ")
		if nodes, _, _ = strings.Cut(nodes, " protect is"); nodes != c.nodes {
			t.Errorf("%s: %q may be torn down, want %q", name, nodes, c.nodes)
		}
	}
}

// A node that is certainly in a group stays as it is where nothing is done on it, also when it may come into a group
// before that one; where something is, it is not certain in which group.
func TestUnknownSelectorsLeaveIdleMembers(t *testing.T) {
	t.Parallel()
	u := newUnsettled(t)
	prior := u.apply(u.site(nil, nil, nil, "one"))
	by := func(tags ...any) map[string]any {
		return map[string]any{"selectors": []any{map[string]any{"node_tags": tags}}}
	}
	override := valueOf([]any{map[string]any{"name": "o", "groups": []any{"web"}, "configuration": map[string]any{
		"file": map[string]any{"/etc/motd": map[string]any{"mode": "0600"}}}}})
	for name, c := range map[string]struct {
		content    string
		overridden bool
		nodes      string
	}{
		"nothing else":  {"one", false, "n1=? n2=? n3=? n4=DEPLOYED n5=DEPLOYED"},
		"an override":   {"one", true, "n1=? n2=? n3=? n4=? n5=?"},
		"other changes": {"two", false, "n1=? n2=? n3=? n4=? n5=?"},
	} {
		site := func(tags ...any) map[string]tftypes.Value {
			config := u.site(nil, by(tags...), nil, c.content)
			if c.overridden {
				config["overrides"] = override
			}
			config["protect"] = tftypes.NewValue(u.typ.AttributeTypes["protect"], map[string]tftypes.Value{
				"max_torn_down_nodes": valueOf("100%"), "max_removed_resources": tftypes.NewValue(tftypes.Number, nil), "destroy": tftypes.NewValue(tftypes.Bool, nil)})
			return config
		}
		before, warnings, _ := u.planFrom(site(unknownText), prior)
		if got := shortly(t, before["node_status"]); got != c.nodes {
			t.Errorf("%s: node_status is %s, want %s\n%s", name, got, c.nodes, warnings)
		}
		if strings.Contains(certain(warnings), "n4") {
			t.Errorf("%s: certain is what is done on n4:\n%s", name, warnings)
		}
		for _, tag := range []string{"web", "db", "none"} {
			after, _, _ := u.planFrom(site(tag), prior)
			for _, attribute := range []string{"node_status", "group_status", "changed_nodes", "run", "steps"} {
				if !agrees(before[attribute], after[attribute]) {
					t.Errorf("%s, %s: %s was %s, and is %s", name, tag, attribute, before[attribute], after[attribute])
				}
			}
		}
	}
}

// A critical group is deployed after every apply that succeeds: one in which it fails is an error. So it stays known in a
// plan, and so does a group without tasks that depends on it, whatever is done there or is not known.
func TestCriticalGroupsStayKnown(t *testing.T) {
	t.Parallel()
	u := newUnsettled(t)
	prior := u.apply(u.site(nil, nil, nil, "one"))
	late := map[string]any{"tags": []any{unknownText}}
	some := func() map[string]any { return map[string]any{"critical": false} }
	for name, c := range map[string]struct {
		config map[string]tftypes.Value
		groups string
	}{
		"nothing else":          {u.site(late, nil, nil, "one"), "db=DEPLOYED web=DEPLOYED"},
		"a change":              {u.site(nil, nil, nil, "two"), "db=DEPLOYED web=DEPLOYED"},
		"a change besides":      {u.site(late, nil, nil, "two"), "db=DEPLOYED web=DEPLOYED"},
		"selectors":             {u.site(nil, map[string]any{"selectors": []any{map[string]any{"node_tags": []any{unknownText}}}}, nil, "two"), "db=DEPLOYED web=DEPLOYED"},
		"dependent, no tasks":   {u.site(map[string]any{"labels": map[string]any{"a": "y"}}, nil, some(), "one"), "db=DEPLOYED web=DEPLOYED"},
		"not critical":          {u.site(late, some(), some(), "one"), "db=? web=?"},
		"not critical, changed": {u.site(nil, some(), nil, "two"), "db=DEPLOYED web=?"},
	} {
		planned, warnings, _ := u.planFrom(c.config, prior)
		if got := shortly(t, planned["group_status"]); got != c.groups {
			t.Errorf("%s: group_status is %s, want %s\n%s", name, got, c.groups, warnings)
		}
	}
}

// consistent plans a site while something is not known, and with each value that it may come to have: nothing that was
// known is contradicted, and what is certain is done. It returns what is planned first, and the warnings.
func (u unsettled) consistent(name string, prior applied, late map[string]tftypes.Value,
	known ...map[string]tftypes.Value) (map[string]tftypes.Value, string) {
	u.t.Helper()
	protect := tftypes.NewValue(u.typ.AttributeTypes["protect"], map[string]tftypes.Value{
		"max_torn_down_nodes": valueOf("100%"), "max_removed_resources": tftypes.NewValue(tftypes.Number, nil), "destroy": tftypes.NewValue(tftypes.Bool, nil)})
	late["protect"] = protect
	before, warnings, _ := u.planFrom(late, prior)
	for i, config := range known {
		config["protect"] = protect
		after, _, _ := u.planFrom(config, prior)
		for _, attribute := range []string{"node_status", "group_status", "changed_nodes", "run", "steps"} {
			if !agrees(before[attribute], after[attribute]) {
				u.t.Errorf("%s, %d: %s was %s, and is %s\n%s", name, i, attribute, before[attribute], after[attribute], warnings)
			}
		}
		done := after["steps"].String()
		u.checkCalls(fmt.Sprintf("%s, %d", name, i), warnings, after)
		for _, what := range regexp.MustCompile(`file\[[^\]]*\]|\bn[0-9]\b`).FindAllString(certain(warnings), -1) {
			if !strings.Contains(done, what) {
				u.t.Errorf("%s, %d: %s is certain, and not among what is done: %s\n%s", name, i, what, done, warnings)
			}
		}
	}
	return before, warnings
}

// A node of which rack, labels, tags or roles are not known does what it certainly does.
func TestUnknownNodeShowsWhatIsCertainOfIt(t *testing.T) {
	t.Parallel()
	u := newUnsettled(t)
	prior := u.apply(u.site(nil, nil, nil, "one"))
	override := valueOf([]any{map[string]any{"name": "o", "roles": []any{"back", "/fr.*/"}, "configuration": map[string]any{
		"file": map[string]any{"/etc/motd": map[string]any{"mode": "0600"}, "/etc/more": map[string]any{"content": "x"}}}}})
	for name, c := range map[string]struct {
		late       map[string]any
		known      []map[string]any
		overridden bool
		steps      []string // that are certain
		changed    string
	}{
		"rack": {map[string]any{"rack": unknownText}, []map[string]any{{"rack": "r1"}, {"rack": "r2"}}, false,
			[]string{"web (critical): prepare 3 nodes (n1, n2, n3)", "3 changes on 3 nodes: update file[/etc/motd] on 3"}, "n1=2 n2=2 n3=2 n4=2 n5=2"},
		"labels": {map[string]any{"labels": map[string]any{"a": unknownText, "b": "y"}}, []map[string]any{
			{"labels": map[string]any{"a": "x", "b": "y"}}, {"labels": map[string]any{"a": "y", "b": "y"}}}, false,
			[]string{"2 changes on 2 nodes: update file[/etc/motd] on 2"}, "n1=2 n2=2 n3=? n4=2 n5=2"},
		"another label": {map[string]any{"labels": map[string]any{"a": "x", "b": unknownText}}, []map[string]any{
			{"labels": map[string]any{"a": "x", "b": "y"}}}, false, []string{"3 changes on 3 nodes: update file[/etc/motd] on 3"}, "n1=2 n2=2 n3=2 n4=2 n5=2"},
		"roles": {map[string]any{"roles": []any{unknownText}}, []map[string]any{{"roles": []any{"front"}}, {"roles": []any{"none"}}}, false,
			[]string{"3 changes on 3 nodes: update file[/etc/motd] on 3"}, "n1=2 n2=2 n3=2 n4=2 n5=2"},
		"all roles": {map[string]any{"roles": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, tftypes.UnknownValue)},
			[]map[string]any{{"roles": []any{"front"}}, {"roles": []any{}}}, false, []string{"3 changes on 3 nodes: update file[/etc/motd] on 3"}, "n1=2 n2=2 n3=2 n4=2 n5=2"},
		"roles that count": {map[string]any{"roles": []any{unknownText}}, []map[string]any{{"roles": []any{"front"}}, {"roles": []any{"none"}}}, true,
			[]string{"web (critical): prepare 2 nodes (n1, n2)", "create file[/etc/more] (by override o) on 2, update file[/etc/motd] (by override o) on 2"}, "n1=2 n2=2 n3=? n4=2 n5=2"},
		"one role that counts": {map[string]any{"roles": []any{"front", unknownText}}, []map[string]any{{"roles": []any{"front", "none"}}, {"roles": []any{"front", "back"}}}, true,
			[]string{"create file[/etc/more] (by override o) on 3, update file[/etc/motd] (by override o) on 3"}, "n1=2 n2=2 n3=2 n4=2 n5=2"},
		"one tag of two": {map[string]any{"tags": []any{"web", unknownText}}, []map[string]any{{"tags": []any{"web", "db"}}, {"tags": []any{"web", "none"}}}, false,
			[]string{"3 changes on 3 nodes: update file[/etc/motd] on 3"}, "n1=2 n2=2 n3=2 n4=2 n5=2"},
		"a tag of a later group": {map[string]any{"tags": []any{"db", unknownText}}, []map[string]any{{"tags": []any{"web", "db"}}, {"tags": []any{"db", "none"}}}, false,
			[]string{"web (critical): prepare 2 nodes (n1, n2)", "db (critical): prepare 2 nodes (n4, n5)"}, "n1=2 n2=2 n3=? n4=2 n5=2"},
	} {
		site := func(n3 map[string]any) map[string]tftypes.Value {
			config := u.site(n3, nil, nil, "two")
			if c.overridden {
				config["overrides"] = override
			}
			return config
		}
		var known []map[string]tftypes.Value
		for _, n3 := range c.known {
			known = append(known, site(n3))
		}
		before, warnings := u.consistent(name, prior, site(c.late), known...)
		for _, want := range c.steps {
			if !strings.Contains(certain(warnings), want) {
				t.Errorf("%s: %q is not certain:\n%s", name, want, warnings)
			}
		}
		if got := shortly(t, before["changed_nodes"]); got != c.changed {
			t.Errorf("%s: changed_nodes is %s, want %s\n%s", name, got, c.changed, warnings)
		}
		if strings.Contains(warnings, "n3: removes") || strings.Contains(certain(warnings), "remove ") {
			t.Errorf("%s: certain is a removal:\n%s", name, warnings)
		}
	}
}

// An override of which the roles are not known hides only what it names, on the nodes that it may concern.
func TestUnknownScopeOfAnOverrideHidesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	u := newUnsettled(t)
	override := func(scope string, v ...any) tftypes.Value {
		return valueOf([]any{map[string]any{"name": "o", scope: v, "configuration": map[string]any{
			"file": map[string]any{"/etc/motd": map[string]any{"mode": "0600"}, "/etc/more": map[string]any{"content": "x"}}}}})
	}
	site := func(content, changed string, n3 map[string]any, overrides tftypes.Value) map[string]tftypes.Value {
		config := u.site(n3, nil, nil, content)
		var services []tftypes.Value
		if err := config["services"].As(&services); err != nil {
			t.Fatal(err)
		}
		config["services"] = valueOf([]any{services[0], map[string]any{"name": "rack", "selectors": []any{}, "configuration": map[string]any{
			"file": map[string]any{"/etc/rack": map[string]any{"content": changed}}}}})
		config["overrides"] = overrides
		return config
	}
	bare := map[string]any{"roles": []any{}}
	prior := u.apply(site("one", "one", bare, override("roles", "front")))
	for name, c := range map[string]struct {
		late    tftypes.Value
		known   []tftypes.Value
		certain []string
		changed string
	}{
		"roles": {override("roles", unknownText), []tftypes.Value{override("roles", "front"), override("roles", "none")},
			[]string{"update file[/etc/motd] on n3", "file[/etc/rack] on 3"}, "n1=2 n2=2 n3=2 n4=2 n5=2"},
		"a role of two": {override("roles", "front", unknownText), []tftypes.Value{override("roles", "front", "none"), override("roles", "front", "back")},
			[]string{"update file[/etc/motd] (by override o) on 2", "file[/etc/motd] on n3", "file[/etc/rack] on 3"}, "n1=2 n2=2 n3=2 n4=2 n5=2"},
		"nodes": {override("nodes", unknownText), []tftypes.Value{override("nodes", "n3"), override("nodes", "n1")},
			[]string{"update file[/etc/rack] on 3"}, "n1=2 n2=2 n3=2 n4=2 n5=2"},
		"groups": {override("groups", unknownText), []tftypes.Value{override("groups", "web"), override("groups", "db")},
			[]string{"update file[/etc/rack] on 3"}, "n1=2 n2=2 n3=2 n4=2 n5=2"},
	} {
		var known []map[string]tftypes.Value
		for _, o := range c.known {
			known = append(known, site("two", "two", bare, o))
		}
		before, warnings := u.consistent(name, prior, site("two", "two", bare, c.late), known...)
		for _, want := range c.certain {
			if !strings.Contains(certain(warnings), want) {
				t.Errorf("%s: %q is not certain:\n%s", name, want, warnings)
			}
		}
		if got := shortly(t, before["changed_nodes"]); got != c.changed {
			t.Errorf("%s: changed_nodes is %s, want %s\n%s", name, got, c.changed, warnings)
		}
		// Without other changes, nothing is certain but that the node without roles stays.
		idle := map[string]string{"roles": "n1=? n2=? n3=1 n4=? n5=?", "a role of two": "n1=1 n2=1 n3=1 n4=1 n5=1"}[name]
		known = nil
		for _, o := range c.known {
			known = append(known, site("one", "one", bare, o))
		}
		before, warnings = u.consistent(name+", nothing else", prior, site("one", "one", bare, c.late), known...)
		if want := "May be changed, depending on what is not known: 4 nodes: n1, n2, n4, n5."; name == "roles" &&
			!strings.Contains(warnings, want) {
			t.Errorf("the nodes that it may concern are not counted: no %q in:\n%s", want, warnings)
		}
		if got := shortly(t, before["changed_nodes"]); idle != "" && got != idle {
			t.Errorf("%s: without other changes changed_nodes is %s, want %s\n%s", name, got, idle, warnings)
		}
	}
}

// An override may name nodes of which the address is not known: the other nodes have their steps all the same.
func TestUnknownNodeThatAnOverrideNames(t *testing.T) {
	t.Parallel()
	u := newUnsettled(t)
	site := func(content string, n3 map[string]any, nodes ...any) map[string]tftypes.Value {
		config := u.site(n3, nil, nil, content)
		config["overrides"] = valueOf([]any{map[string]any{"name": "o", "nodes": nodes, "configuration": map[string]any{
			"file": map[string]any{"/etc/motd": map[string]any{"mode": "0600"}}}}})
		return config
	}
	for name, nodes := range map[string][]any{"it alone": {"n3"}, "it and another one": {"n1", "n3"}} {
		prior := u.apply(site("one", nil, nodes...))
		_, warnings := u.consistent(name, prior, site("two", map[string]any{"address": unknownText}, nodes...), site("two", nil, nodes...))
		if want := "file[/etc/motd]"; !strings.Contains(certain(warnings), want) {
			t.Errorf("%s: %q is not certain:\n%s", name, want, warnings)
		}
		if got := strings.Contains(certain(warnings), "(by override o)"); got != (len(nodes) > 1) {
			t.Errorf("%s: the override is certain: %t\n%s", name, got, warnings)
		}
	}
}
