package refine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

func text(name string, required bool) resource.Parameter {
	return resource.Parameter{Name: name, Kind: resource.String, Required: required, Scalars: true}
}

var schemas = refine.Schemas{
	Config: map[string]resource.Schema{
		"package": {Type: "package", Parameters: []resource.Parameter{{Name: "ensure", Kind: resource.String,
			Values: []string{"installed", "latest"}}}},
		"file": {Type: "file", Parameters: []resource.Parameter{text("content", true), text("mode", false),
			text("owner", false)}},
		"service": {Type: "service", Parameters: []resource.Parameter{text("ensure", false)}},
	},
	Remote: map[string]resource.Schema{
		"shell": {Type: "shell", Parameters: []resource.Parameter{text("command", true),
			{Name: "timeout", Kind: resource.Integer, Required: true}}},
	},
	Callback: map[string]resource.Schema{
		"http": {Type: "http", Parameters: []resource.Parameter{text("url", true)}},
	},
}

func attribute(name string, kind catalog.Kind) catalog.Attribute {
	return catalog.Attribute{Name: name, Type: catalog.Type{Name: string(kind)}, Modifier: catalog.Fixed}
}

func config(name, typ, title string, parameters map[string]any) catalog.Task {
	return catalog.Task{Name: name, Config: &catalog.ConfigTask{Type: typ, Title: title, Parameters: parameters}}
}

// entity resolves an entity with the given tasks, and attributes that the tests use.
func entity(t testing.TB, tasks ...catalog.Task) *catalog.Entity {
	t.Helper()
	secret := attribute("secret", catalog.String)
	secret.Sensitive, secret.HasDefault, secret.Default = true, true, "hunter2"
	vni := attribute("vni", catalog.Int)
	vni.Type.Name, vni.Modifier = "int?", catalog.Allocated
	servers := attribute("servers", catalog.String)
	servers.Type.Name, servers.HasDefault, servers.Default = "string[]", true, []any{"a", "b"}
	note := attribute("note", catalog.String)
	note.Type.Name, note.HasDefault = "string?", true
	ensure := attribute("ensure", catalog.String)
	ensure.HasDefault, ensure.Default = true, "installed"
	c, errs := catalog.Resolve(catalog.Definitions{Entities: []catalog.Entity{{
		Name: "e", Structure: catalog.Structure{Attributes: []catalog.Attribute{secret, vni, servers, note, ensure}},
		Tasks: tasks,
	}}})
	if errs != nil {
		t.Fatal(errs)
	}
	return &c.Entities[0]
}

func instance(t testing.TB, attributes map[string]any, tasks ...catalog.Task) (*refine.Refined, invalid.Errors) {
	t.Helper()
	return refine.NewInstance("lon1", site.Service{Name: "s", Entity: entity(t, tasks...), Attributes: attributes}, schemas)
}

func refined(t testing.TB, attributes map[string]any, tasks ...catalog.Task) *refine.Refined {
	t.Helper()
	r, errs := instance(t, attributes, tasks...)
	if errs != nil {
		t.Fatal(errs)
	}
	return r
}

func on(t testing.TB, r *refine.Refined, node string) []refine.EntityTask {
	t.Helper()
	tasks, errs := r.On(site.Node{Name: node})
	if errs != nil {
		t.Fatal(errs)
	}
	return tasks
}

func TestEntityTasks(t *testing.T) {
	loop := config("each", "file", "/etc/${each.value}",
		map[string]any{"content": "${each.key} on ${node.name}", "owner": "${self.note}"})
	loop.ForEach, loop.Requires, loop.Notify = "${self.servers}", []catalog.Requirement{{Task: "package"}},
		[]string{"daemon"}
	daemon := config("daemon", "service", "d", nil)
	steps := catalog.Task{Name: "list", When: "${self.note == null}",
		Requires: []catalog.Requirement{{Section: catalog.Routes}}, Steps: []catalog.Task{
			{Name: "one", Tolerate: true, Remote: &catalog.RemoteTask{Type: "shell", Limit: 2,
				Parameters: map[string]any{"command": "x", "timeout": int64(3)}}},
			config("two", "file", "/two", map[string]any{"content": "2"}),
		}}
	skipped := config("skipped", "file", "/never", map[string]any{"content": ""})
	skipped.When = "${length(self.servers) > 2}"
	central := catalog.Task{Name: "register", Requires: []catalog.Requirement{{Task: "daemon"}},
		Callback: &catalog.CallbackTask{Type: "http", Parameters: map[string]any{"url": "http://x/${service.name}"},
			Returns: map[string]string{"vni": "vni"}}}
	r := refined(t, nil, config("package", "package", "p", map[string]any{"ensure": "${self.ensure}"}), loop, daemon,
		steps, skipped, central)

	var got []string
	for _, e := range on(t, r, "n1") {
		got = append(got, fmt.Sprintf("%s %s %s %v needs %v", e.Task.Group, e.Template, e.Task.Resource.ID(),
			e.Task.Resource.Parameters, e.Needs))
		if e.Task.Digest == "" || e.Task.Digest != resource.Digest(e.Task.Resource) {
			t.Errorf("%s has the digest %q", e.Template, e.Task.Digest)
		}
	}
	want := []string{
		"node package package[p] map[ensure:installed] needs []",
		"node each file[/etc/a] map[content:0 on n1 notify:[service[d]] require:[package[p]]] needs [{package package[p]  }]",
		"node each file[/etc/b] map[content:1 on n1 notify:[service[d]] require:[package[p]]] needs [{package package[p]  }]",
		"node daemon service[d] map[] needs []",
		"node one shell[s/one] map[command:x timeout:3] needs [{  routes }]",
		"node two file[/two] map[content:2] needs [{  routes } {one shell[s/one]  }]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	one := on(t, r, "n1")[4].Task
	if one.Kind != task.Remote || one.Name != "s/one" || one.Limit != 2 || !one.Tolerate {
		t.Errorf("remote task %+v", one)
	}
	callbacks := r.Central()
	if len(callbacks) != 1 || callbacks[0].Task.Kind != task.Callback || callbacks[0].Task.Group != task.Management ||
		callbacks[0].Returns["vni"] != "vni" {
		t.Fatalf("callbacks %+v", callbacks)
	}
	if d := cmp.Diff([]refine.Need{{Task: "daemon"}}, callbacks[0].Needs); d != "" {
		t.Error(d)
	}
	if tasks := on(t, r, "n2"); tasks[1].Task.Resource.Parameters["content"] != "0 on n2" {
		t.Errorf("on n2: %+v", tasks[1])
	}
}

func TestEntityResultsAreShared(t *testing.T) {
	r := refined(t, nil, config("a", "file", "/a", map[string]any{"content": "${site.name}"}))
	if a, b := on(t, r, "n1"), on(t, r, "n2"); &a[0] != &b[0] {
		t.Error("nodes have tasks of their own, though no template reads the node")
	}
	titled := config("a", "file", "/${node.name}", map[string]any{"content": ""})
	after := config("b", "file", "/b", map[string]any{"content": ""})
	after.Requires = []catalog.Requirement{{Task: "a"}}
	r = refined(t, nil, titled, after, config("c", "file", "/c", map[string]any{"content": ""}))
	for _, node := range []string{"n1", "n2"} {
		if got := on(t, r, node)[1].Task.Resource.Parameters.Strings(resource.Require); len(got) != 1 ||
			got[0] != "file[/"+node+"]" {
			t.Errorf("on %s b requires %v", node, got)
		}
	}
}

func TestNeedsThroughTasksThatVary(t *testing.T) {
	titled := config("a", "file", "/${node.name}", map[string]any{"content": ""})
	second, third := config("b", "file", "/b", map[string]any{"content": ""}),
		config("c", "file", "/c", map[string]any{"content": ""})
	second.Requires, third.Requires = []catalog.Requirement{{Task: "a"}}, []catalog.Requirement{{Task: "b"}}
	call := catalog.Task{Name: "call", Callback: &catalog.CallbackTask{Type: "http",
		Parameters: map[string]any{"url": "http://x"}}}
	titled.Requires = []catalog.Requirement{{Task: "call"}}
	r := refined(t, nil, call, titled, second, third)
	for _, node := range []string{"n1", "n2"} {
		got := on(t, r, node)
		want := [][]refine.Need{{{Task: "call", Resource: "http[s/call]"}},
			{{Task: "a", Resource: resource.MakeID("file", "/"+node)}}, {{Task: "b", Resource: "file[/b]"}}}
		if d := cmp.Diff(want, [][]refine.Need{got[0].Needs, got[1].Needs, got[2].Needs}); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"file[/" + node + "]"},
			got[1].Task.Resource.Parameters.Strings(resource.Require)); d != "" {
			t.Error(d)
		}
	}
}

func TestValuesThatAreNotKnown(t *testing.T) {
	tasks := []catalog.Task{config("a", "file", "/a", map[string]any{"content": "vni ${self.vni}", "mode": "0644"})}
	before := on(t, refined(t, nil, tasks...), "n")[0]
	if d := cmp.Diff([]string{"content"}, before.Task.Pending); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"self.vni"}, before.Awaits); d != "" {
		t.Error(d)
	}
	if before.Task.Resource.Parameters.Has("content") {
		t.Error("a parameter that is not known has a value")
	}
	after := on(t, refined(t, map[string]any{"vni": int64(7)}, tasks...), "n")[0]
	if after.Task.Pending != nil || after.Task.Resource.Parameters["content"] != "vni 7" ||
		after.Task.Digest == before.Task.Digest {
		t.Errorf("when known: %+v", after)
	}
}

// TestPendingDigests: as long as a value is not known, a digest is over all that is known of what the resource is made
// from.
func TestPendingDigests(t *testing.T) {
	digest := func(attributes map[string]any, content string) string {
		t.Helper()
		made := on(t, refined(t, attributes, config("a", "file", "/a", map[string]any{"content": content})), "n")[0]
		if len(made.Task.Pending) != 1 {
			t.Fatalf("nothing is pending in %s", content)
		}
		return made.Task.Digest
	}
	for _, content := range []string{"${self.vni} ${self.note}", "${self.vni} ${jsonencode(self)}",
		`${self.vni} %{ for s in [self.note] }${s}%{ endfor }`, `${self.vni} ${self["note"]}`} {
		same, again, other := digest(map[string]any{"note": "x"}, content),
			digest(map[string]any{"note": "x"}, content), digest(map[string]any{"note": "y"}, content)
		if same != again {
			t.Errorf("%s: the digest changes from one time to the next", content)
		}
		if same == other {
			t.Errorf("%s: the digest does not cover what is known", content)
		}
	}
	if digest(map[string]any{"note": "x"}, "${self.vni}") != digest(map[string]any{"note": "y"}, "${self.vni}") {
		t.Error("the digest covers what the template does not read")
	}
	if digest(map[string]any{"note": nil}, "${self.vni} ${coalesce(self.note, 1)}") == digest(
		map[string]any{"note": "null"}, "${self.vni} ${coalesce(self.note, 1)}") {
		t.Error("null passes for a text")
	}
}

func TestSecretsMakeResourcesSensitive(t *testing.T) {
	tasks := on(t, refined(t, nil,
		config("a", "file", "/a", map[string]any{"content": "x${self.secret}"}),
		config("b", "file", "/b", map[string]any{"content": "x"})), "n")
	if !tasks[0].Task.Resource.Sensitive() || tasks[1].Task.Resource.Sensitive() {
		t.Errorf("sensitive: %v, %v", tasks[0].Task.Resource.Sensitive(), tasks[1].Task.Resource.Sensitive())
	}
}

func TestEntityErrors(t *testing.T) {
	file := func(title string, parameters map[string]any) []catalog.Task {
		return []catalog.Task{config("t", "file", title, parameters)}
	}
	each := func(list any) []catalog.Task {
		t := config("t", "file", "/${each.key}", map[string]any{"content": ""})
		t.ForEach = list
		return []catalog.Task{t}
	}
	content := map[string]any{"content": ""}
	twice := config("t", "file", "/same", content)
	twice.ForEach = "${self.servers}"
	tests := map[string]struct {
		attributes map[string]any
		tasks      []catalog.Task
		want       string
	}{
		"unknown attribute": {map[string]any{"ensur": "x"}, nil,
			`attributes.ensur: there is no such attribute; did you mean "ensure"?`},
		"wrong type": {map[string]any{"servers": "a"}, nil,
			`attributes.servers: is the string "a", not a list in which each element is a string`},
		"at the attribute": {map[string]any{"ensure": "gone"},
			[]catalog.Task{config("p", "package", "p", map[string]any{"ensure": "${self.ensure}"})},
			`attributes.ensure: package[p]: "gone" is not allowed`},
		"at the template": {nil, file("/a", map[string]any{"contnt": "x"}),
			"entity.tasks[0].config.parameters.contnt: file[/a]: the type file has no such parameter"},
		"missing": {nil, file("/a", nil),
			"entity.tasks[0].config.parameters.content: file[/a]: is required"},
		"unknown type": {nil, []catalog.Task{config("t", "fiel", "/a", nil)},
			`entity.tasks[0].config.type: there is no configuration resource type "fiel"`},
		"a wrong kind": {nil, file("/a", map[string]any{"content": "${self.servers}"}),
			"attributes.servers: file[/a]: must be a string"},
		"evaluation": {nil, file("/a", map[string]any{"content": "x\n${self.servers[7]}"}),
			"entity.tasks[0].config.parameters.content: The given key does not identify an element in this collection value"},
		"unknown title": {nil, file("/${self.vni}", content),
			"must be known when the plan is made; it waits for self.vni"},
		"unknown elements": {nil, each("${[for i in range(self.vni) : i]}"), "it waits for self.vni"},
		"secret title": {nil, file("/${self.secret}", content),
			"entity.tasks[0].config.title: is made from a sensitive attribute"},
		"secret keys":    {nil, each("${{(self.secret) = 1}}"), "is made from a sensitive attribute"},
		"no list":        {nil, each("${self.ensure}"), "gives string; give a list or a map"},
		"the same twice": {nil, []catalog.Task{twice}, "file[/same] is there already"},
		"null inside":    {nil, file("/a", map[string]any{"content": "x", "mode": "${[null]}"}), "has null in it"},
		"remote parameters": {nil, []catalog.Task{{Name: "r",
			Remote: &catalog.RemoteTask{Type: "shell", Parameters: map[string]any{"command": "x"}}}},
			"entity.tasks[0].remote.parameters.timeout: shell[s/r]: is required"},
		"callback parameters": {nil, []catalog.Task{{Name: "r", Callback: &catalog.CallbackTask{Type: "htp"}}},
			`entity.tasks[0].callback.type`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, errs := instance(t, tt.attributes, tt.tasks...)
			if got := errs.Error(); !strings.Contains(got, tt.want) || strings.Contains(got, "hunter2") {
				t.Errorf("got:\n%s\nwant %q in it", got, tt.want)
			}
		})
	}
}

func TestErrorsOfANodeNameIt(t *testing.T) {
	r := refined(t, nil, config("t", "file", "/${node.labels.missing}", map[string]any{"content": ""}))
	if _, errs := r.On(site.Node{Name: "n7"}); !strings.Contains(errs.Error(), `on node "n7"`) {
		t.Errorf("got %v", errs)
	}
}

func BenchmarkEntityOnNodes(b *testing.B) {
	const nodes = 1000
	for name, content := range map[string]string{"shared": "${service.name}",
		"per node": "%{ for s in self.servers }server ${s} # ${node.name}\n%{ endfor }"} {
		b.Run(name, func(b *testing.B) {
			r := refined(b, nil,
				config("package", "package", "p", map[string]any{"ensure": "${self.ensure}"}),
				config("file", "file", "/f", map[string]any{"content": content}),
				config("daemon", "service", "d", nil))
			b.ReportAllocs()
			for b.Loop() {
				for i := range nodes {
					if _, errs := r.On(site.Node{Name: fmt.Sprint("n", i), Tags: []string{"a", "b"},
						Labels: map[string]string{"os": "linux"}}); errs != nil {
						b.Fatal(errs)
					}
				}
			}
		})
	}
}
