package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// itemOf is an item of LITP's model as the vectors write it.
type itemOf struct {
	Path, Type, Inherit string
	Props               map[string]string
}

// taskOf is a task as the vectors write it.
type taskOf struct {
	ID, Kind, Node, Item, Type, Key, Tag, Group, State, Callback, Plugin string
	Nodes                                                                []string
	AlsoItems                                                            []string `yaml:"also_items"`
	Args                                                                 any
	Persist                                                              *bool
	Requires                                                             []string
	Replaces                                                             [][]string
	NotReturned                                                          bool `yaml:"not_returned"` // slipway has no such list
	Ordered                                                              []taskOf
}

// model is what a vector gives: items, and tasks on them. Nodes, clusters and the management server are items with
// certain paths.
type model struct {
	items           []itemOf
	tasks, previous []taskOf
	locks           []string // nodes
	policies        []any    // of locks
	lockProvider    bool
	leftLocked      string
	allApplied      bool
	states          map[string]string // path -> state
	undeterminable  []string
	removed         []string
	dependsOn       map[string]string         // cluster -> clusters
	types           map[string]map[string]any // of the vector
}

// readModel reads what a vector gives.
func readModel(t testing.TB, f *file, given yaml.Node) model {
	t.Helper()
	in := strictly[struct {
		Model          any
		Items          []itemOf
		Types          map[string]map[string]any
		Tasks          []taskOf
		Previous       []taskOf
		Group          string
		Locks          []string
		LockProvider   string `yaml:"lock_provider"`
		LockPolicies   []any  `yaml:"lock_policies"`
		LeftLocked     string `yaml:"left_locked"`
		AllApplied     bool   `yaml:"all_applied"`
		States         []struct{ Path, State string }
		Undeterminable []string
		Remove         []string
		HA             bool
		ClusterDepends map[string]string `yaml:"cluster_depends"`
		CoreChecks     bool              `yaml:"core_checks"`
	}](t, given)
	path := func(text string) string { return expand(t, f, text) }
	m := model{
		locks: each(in.Locks, path), policies: in.LockPolicies,
		lockProvider: in.LockProvider == "all" || len(in.Locks) > 0, leftLocked: path(in.LeftLocked),
		allApplied: in.AllApplied, states: make(map[string]string), undeterminable: each(in.Undeterminable, path), removed: each(in.Remove, path),
		dependsOn: in.ClusterDepends, types: in.Types,
	}
	models := decode[map[string][]itemOf](t, f.root["models"])
	names, several := in.Model.([]any)
	if !several && in.Model != nil {
		names = []any{in.Model}
	}
	var items []itemOf
	for _, name := range names {
		items = append(items, models[name.(string)]...)
	}
	for _, i := range append(items, in.Items...) {
		i.Path, i.Inherit = path(i.Path), path(i.Inherit)
		if in.HA && i.Path == path("@c1") {
			i.Props = map[string]string{"ha": "x"}
		}
		m.items = slices.DeleteFunc(m.items, func(other itemOf) bool { return other.Path == i.Path })
		m.items = append(m.items, i)
	}
	for _, s := range in.States {
		m.states[path(s.Path)] = s.State
	}
	var read func(of []taskOf) []taskOf
	read = func(of []taskOf) (out []taskOf) {
		for _, w := range of {
			if len(w.Ordered) > 0 {
				for i, step := range read(w.Ordered) {
					if i > 0 {
						step.Requires = append(step.Requires, "task:"+w.Ordered[i-1].ID)
					}
					out = append(out, step)
				}
				continue
			}
			w.Node, w.Nodes = path(w.Node), each(w.Nodes, path)
			w.Item = cmp.Or(path(w.Item), w.Node, strings.Join(w.Nodes[:min(1, len(w.Nodes))], ""))
			w.Group = cmp.Or(w.Group, in.Group)
			for i, r := range w.Requires {
				if item, ok := strings.CutPrefix(r, "item:"); ok {
					w.Requires[i] = "item:" + path(item)
				}
			}
			out = append(out, w)
		}
		return out
	}
	m.tasks, m.previous = read(in.Tasks), read(in.Previous)
	return m
}

// expand writes the path that an alias such as "@n1/os" stands for.
func expand(t testing.TB, f *file, text string) string {
	t.Helper()
	name, aliased := strings.CutPrefix(text, "@")
	if !aliased {
		return text
	}
	name, rest, below := strings.Cut(name, "/")
	path, known := decode[map[string]string](t, f.root["aliases"])[name]
	if !known {
		t.Fatalf("%s: there is no alias %q", text, name)
	}
	if below {
		path += "/" + rest
	}
	return path
}

func each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

// nodeOf returns the name of the node that an item is or lies below, and the element of the node below which it lies.
func nodeOf(path string) (node, element string) {
	parts := strings.Split(path, "/")
	at := slices.Index(parts, "nodes") + 1
	if len(parts) > 1 && parts[1] == "mgmt" {
		at = 1
	}
	if at == 0 || at >= len(parts) {
		return "", ""
	}
	if at+1 < len(parts) {
		element = parts[at+1]
	}
	return parts[at], element
}

// clusterOf returns the name of the cluster that an item is or lies below. The management server is a group by itself.
func clusterOf(path string) string {
	parts := strings.Split(path, "/")
	if node, _ := nodeOf(path); node == "mgmt" {
		return node
	}
	if at := slices.Index(parts, "clusters"); at >= 0 && at+1 < len(parts) {
		return parts[at+1]
	}
	return ""
}

func within(path, top string) bool { return path == top || strings.HasPrefix(path, top+"/") }

// siblings returns the items that one requires because the vector's own types say so: a child may name others of the
// same parent.
func (m model) siblings(path string) (out []string) {
	at := strings.LastIndexByte(path, '/')
	for _, parent := range m.items {
		if parent.Path != path[:at] {
			continue
		}
		for name := parent.Type; name != ""; name, _ = m.types[name]["extends"].(string) {
			children, _ := m.types[name]["children"].(map[string]any)
			child, _ := children[path[at+1:]].(map[string]any)
			if text, ok := child["require"].(string); ok {
				out = append(out, each(strings.Split(text, ","), func(id string) string { return parent.Path + "/" + strings.TrimSpace(id) })...)
			}
		}
	}
	return out
}

// isRemoved reports whether an item goes away: one that is named, or lies below one that is, or inherits from one.
func (m model) isRemoved(path string) bool {
	return slices.ContainsFunc(m.removed, func(top string) bool { return within(path, top) }) ||
		slices.ContainsFunc(m.items, func(i itemOf) bool { return i.Inherit != "" && within(path, i.Path) && m.isRemoved(i.Inherit) })
}

// isNew reports whether a node or cluster was never deployed.
func (m model) isNew(path string) bool {
	if state, given := m.states[path]; given {
		return state == "Initial"
	}
	return !m.allApplied && !slices.Contains(m.locks, path)
}

// site is the model as slipway has it: clusters are groups, with the management server as the first one; each task is a
// service of an entity of its own, in the section that its item stands for.
func (m model) site(t testing.TB, tasks []taskOf, removed bool) (site.Site, error) {
	t.Helper()
	s := site.Site{Name: "litp", Groups: []site.Group{}}
	inUse := site.Service{Name: "in-use", Configuration: resource.Configuration{"file": {"/in-use": {"content": ""}}}}
	for _, i := range m.items {
		node, element := nodeOf(i.Path)
		id := clusterOf(i.Path)
		switch {
		case removed && m.isRemoved(i.Path):
		case node != "" && element == "":
			n := site.Node{Name: node, Address: cmp.Or(i.Props["host"], node), Labels: map[string]string{"cluster": id}}
			if node == "mgmt" {
				s.Groups = slices.Insert(s.Groups, 0, site.Group{Name: id, Critical: true, Selectors: selectCluster(id)})
			}
			s.Nodes = append(s.Nodes, n)
			if !m.isNew(i.Path) {
				inUse.Selectors = append(inUse.Selectors, site.Selector{NodeNames: []string{node}})
			}
		case strings.HasSuffix(i.Path, "/clusters/"+id) && id != "":
			s.Groups = append(s.Groups, m.group(i, id))
		}
	}
	first := 0 // the management server does not go by its name
	if len(s.Groups) > 0 && s.Groups[0].Name == "mgmt" {
		first = 1
	}
	slices.SortFunc(s.Groups[first:], func(a, b site.Group) int { return strings.Compare(a.Name, b.Name) })
	if len(inUse.Selectors) > 0 {
		s.Services = append(s.Services, inUse)
	}
	entities := make(map[string]any)
	for _, w := range tasks {
		entities[w.ID] = m.entity(w, tasks)
	}
	if len(entities) == 0 {
		return s, nil
	}
	data, err := json.Marshal(map[string]any{"entities": entities})
	if err != nil {
		t.Fatal(err)
	}
	c, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml", Data: data}})
	if err != nil {
		return s, err
	}
	for _, w := range tasks {
		i := slices.IndexFunc(c.Catalog.Entities, func(e catalog.Entity) bool { return e.Name == w.ID })
		s.Services = append(s.Services, site.Service{Name: w.ID, Entity: &c.Catalog.Entities[i], Selectors: m.selectors(w)})
	}
	return s, nil
}

func selectCluster(id string) site.Selectors {
	return site.Selectors{{NodeLabels: []string{"cluster:" + id}}}
}

// group is a cluster. It is rolling when its nodes are to be locked, and spares new nodes unless the policies say
// otherwise.
func (m model) group(i itemOf, id string) site.Group {
	g := site.Group{Name: id, Critical: true, Selectors: selectCluster(id)}
	if list := i.Props["depends_on"] + m.dependsOn[id]; list != "" {
		g.DependsOn = strings.Split(list, ",")
	}
	locked := i.Props["ha"] != "" && !m.isNew(i.Path) && m.lockProvider ||
		slices.ContainsFunc(m.locks, func(node string) bool { return clusterOf(node) == id })
	spares := true
	for _, p := range m.policies {
		switch p := p.(type) {
		case string:
			locked, spares = locked && p != "none", spares && p != "initial"
		case map[string]any:
			locked = locked && !slices.Contains(p["create"].([]any), any(id))
		}
	}
	if locked {
		g.Rolling = &site.Rolling{MaxParallel: 1, Lock: "lock", Unlock: "unlock", SpareNew: spares}
		for _, node := range anyList(m.types[i.Type]["node_order_view"]) {
			g.Rolling.NodeOrder = append(g.Rolling.NodeOrder, node.(string))
		}
	}
	return g
}

// sections are the sections of the elements of a node.
var sections = map[string]catalog.Section{
	"system": catalog.System, "os": catalog.OS, "nics": catalog.NetworkInterfaces, "routes": catalog.Routes, "storage": catalog.StorageProfile,
	"fs": catalog.FileSystems, "configs": catalog.Configs, "items": catalog.Items,
}

// on returns the nodes on which a task runs; none for a callback that belongs to no node.
func (w taskOf) on() []string {
	node, _ := nodeOf(w.Item)
	switch {
	case w.Kind == "remote":
		return each(w.Nodes, func(path string) string { node, _ := nodeOf(path); return node })
	case w.Kind == "callback" && (node == "" || node == "mgmt"):
		return nil
	case w.Kind == "callback":
		return []string{node}
	}
	node, _ = nodeOf(w.Node)
	return []string{node}
}

// selectors place a task on its nodes; a callback of no node on those of its cluster, or on all.
func (m model) selectors(w taskOf) site.Selectors {
	nodes, cluster := w.on(), clusterOf(w.Item)
	switch {
	case nodes != nil:
		return site.Selectors{{NodeNames: nodes}}
	case cluster != "":
		return selectCluster(cluster)
	}
	return nil
}

// resource is what the task is about on a node.
func (w taskOf) resource() (typ, title string) {
	switch w.Kind {
	case "callback":
		return "http", w.ID + "/" + w.ID
	case "remote":
		return "shell", w.ID + "/" + w.ID
	}
	return "file", fmt.Sprintf("/%s.%s", cmp.Or(w.Type, "res"), cmp.Or(w.Key, w.ID))
}

// entity describes the one task of a service. What LITP derives from the item, that a task belongs to the management
// server or to a cluster, is said by a tag.
func (m model) entity(w taskOf, tasks []taskOf) map[string]any {
	made := map[string]any{"name": w.ID}
	typ, title := w.resource()
	node, element := nodeOf(w.Item)
	tag := cmp.Or(w.Group, w.Tag)
	switch w.Kind {
	case "callback":
		made["callback"] = map[string]any{
			"type": typ, "per_node": w.on() != nil, "parameters": map[string]any{"url": "http://localhost/" + w.Callback},
		}
		if cluster := clusterOf(w.Item); tag == "" && node == "" && cluster != "" {
			tag = string(task.Cluster)
		}
	case "remote":
		made["remote"] = map[string]any{"type": typ, "parameters": map[string]any{"command": "true", "timeout": 1}}
		if tag == "" && (node == "" || node == "mgmt") {
			tag = string(task.Management)
		}
	default:
		args, err := json.Marshal(w.Args)
		if err != nil {
			args = []byte(err.Error())
		}
		made["config"] = map[string]any{"type": typ, "title": title, "parameters": map[string]any{"content": string(args)}}
		if on, _ := nodeOf(w.Node); tag == "" && on == "mgmt" {
			tag = string(task.Management)
		}
		if w.Persist != nil {
			made["persist"] = *w.Persist
		}
	}
	if tag != "" {
		made["tag"] = tag
	}
	replaces, requires := []any{}, []any{}
	for _, pair := range w.Replaces {
		_, title := taskOf{Type: pair[0], Key: pair[1]}.resource()
		replaces = append(replaces, "file["+title+"]")
	}
	for _, text := range w.Requires {
		requires = append(requires, w.requirements(text, tasks)...)
	}
	made["replaces"], made["requires"] = replaces, requires
	out := map[string]any{"tasks": []any{made}}
	if section, ok := sections[element]; ok && slices.Contains(w.on(), node) {
		out["section"] = section
	}
	return out
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
}

// requirements writes a requirement as the tasks of entities have it. What is about a task that belongs to no node is
// about its service.
func (w taskOf) requirements(text string, tasks []taskOf) (out []any) {
	kind, what, _ := strings.Cut(text, ":")
	switch kind {
	case "task":
		i := slices.IndexFunc(tasks, func(other taskOf) bool { return other.ID == what })
		if i < 0 {
			return nil // an earlier plan had other tasks
		}
		if w.on() == nil || tasks[i].on() == nil {
			return []any{map[string]any{"service": what}}
		}
		typ, title := tasks[i].resource()
		return []any{map[string]any{"resource": fmt.Sprintf("%s[%s]", typ, title)}}
	case "item":
		for _, other := range tasks {
			if within(other.Item, what) && other.ID != w.ID {
				out = append(out, map[string]any{"service": other.ID})
			}
		}
		return out
	case "key":
		typ, key, _ := strings.Cut(what, "=")
		_, title := taskOf{Type: typ, Key: key}.resource()
		return []any{map[string]any{"resource": "file[" + title + "]"}}
	}
	return []any{map[string]any{"resource": text}}
}

// applied returns what earlier plans did: their tasks, and what shows that a node is in use.
func (m model) applied(t testing.TB) planner.Applied {
	t.Helper()
	done := slices.Clone(m.previous)
	for _, w := range m.tasks {
		if w.State == "Success" {
			done = append(done, w)
		}
	}
	s, err := m.site(t, done, false)
	if err != nil {
		t.Fatal(err)
	}
	applied, errs := planner.AppliedAfter(s)
	if len(errs.Errors()) > 0 {
		return nil // the plan has them as well
	}
	for _, w := range done {
		failed := w.State != "" && w.State != "Success" ||
			slices.ContainsFunc(m.undeterminable, func(top string) bool { return within(w.Item, top) })
		for _, node := range w.on() {
			if failed {
				applied[node][resource.MakeID(w.resource())] = ""
			}
		}
	}
	if node, _ := nodeOf(m.leftLocked); node != "" {
		if applied[node] == nil {
			applied[node] = make(map[resource.ID]string)
		}
		applied[node][task.LeftLocked] = ""
	}
	return applied
}

// desired returns the tasks that are wanted: those that are returned, and those that are remembered whose items stay,
// as nobody replaces them.
func (m model) desired() []taskOf {
	out := slices.Clone(m.tasks)
	replaced := make(map[string]bool)
	for _, w := range m.tasks {
		for _, pair := range w.Replaces {
			_, title := taskOf{Type: pair[0], Key: pair[1]}.resource()
			replaced[title] = true
		}
	}
	for _, w := range m.previous {
		_, title := w.resource()
		again := slices.ContainsFunc(m.tasks, func(other taskOf) bool {
			_, its := other.resource()
			return other.ID == w.ID || its == title && slices.Equal(other.on(), w.on())
		})
		if !again && !m.isRemoved(w.Item) && !replaced[title] {
			out = append(out, w)
		}
	}
	return slices.DeleteFunc(out, func(w taskOf) bool {
		return len(w.on()) > 0 && !slices.ContainsFunc(w.on(), func(node string) bool { return !slices.Contains(m.departed(), node) })
	})
}

// departed returns the nodes that are removed.
func (m model) departed() []string {
	var out []string
	for _, i := range m.items {
		if node, element := nodeOf(i.Path); node != "" && element == "" && m.isRemoved(i.Path) {
			out = append(out, node)
		}
	}
	return slices.Sorted(slices.Values(out))
}

// planned is a plan for a model, with the names that the vectors give to its tasks.
type planned struct {
	model model
	site  site.Site
	plan  *planner.Plan
	errs  invalid.Errors
	err   error // of the documents
}

// plan makes the plan for a model. Where everything is to be done, nothing is applied.
func (m model) plan(t testing.TB, applied planner.Applied) planned {
	t.Helper()
	p := planned{model: m}
	if p.site, p.err = m.site(t, m.desired(), true); p.err == nil {
		if p.errs = site.ValidatePlaces(p.site.Nodes); len(p.errs) == 0 {
			p.plan, p.errs = planner.Make(p.site, applied, nil)
		}
	}
	return p
}

// ids names a task as the vectors do: by its service; a remote task of several nodes, and what is removed, with the
// node.
func (p planned) id(of task.Task) string {
	switch {
	case of.Action == task.Forget:
		return "cleanup:" + of.Node
	case of.Action == task.Unlock:
		return "unlock:" + of.Node
	case of.Action == task.Remove:
		for _, w := range p.model.previous {
			if resource.MakeID(w.resource()) == of.Resource.ID() && slices.Contains(w.on(), of.Node) {
				return "drop:" + w.Item + "@" + of.Node
			}
		}
	case of.Kind == task.Remote:
		for _, w := range p.model.tasks {
			if w.ID == of.Service && len(w.Nodes) > 1 {
				return w.ID + "@" + of.Node
			}
		}
	}
	return of.Service
}

// want writes expected names of tasks as id does: a task on several nodes once for each. The cleanup of a node stands
// for that of all items below it; that of other items is no work.
func (p planned) want(ids []string) []string {
	out := []string{}
	for _, id := range ids {
		name, nodes, several := strings.Cut(id, "@")
		item, cleanup := strings.CutPrefix(id, "cleanup:")
		node, _ := nodeOf(item)
		switch {
		case cleanup && slices.Contains(p.model.departed(), node):
			out = append(out, "cleanup:"+node)
		case cleanup:
		case several:
			for node := range strings.SplitSeq(nodes, "+") {
				out = append(out, name+"@"+node)
			}
		default:
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// dropped returns the resources that are removed for an item, as type and key.
func (p planned) dropped(id string) [][]string {
	out := [][]string{}
	for _, phase := range p.plan.Phases {
		for _, of := range phase.Tasks {
			if of.Action == task.Remove && p.id(of) == id {
				typ, key, _ := strings.Cut(of.Resource.Title[1:], ".")
				out = append(out, []string{typ, key})
			}
		}
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// groups returns the task group of each task.
func (p planned) groups() map[string]string {
	out := make(map[string]string)
	for _, phase := range p.plan.Phases {
		for _, of := range phase.Tasks {
			out[p.id(of)] = string(phase.TaskGroup)
		}
	}
	return out
}

// after returns, for each config task, those that come before it on its node, as a plan has it that does everything.
func (p planned) after(t testing.TB) map[string][]string {
	t.Helper()
	plan, errs := planner.Make(p.site, nil, nil)
	if plan == nil {
		t.Fatal(errs)
	}
	type on struct {
		node string
		id   resource.ID
	}
	tasks := make(map[on]task.Task)
	for _, phase := range plan.Phases {
		for _, of := range phase.Tasks {
			tasks[on{of.Node, of.Resource.ID()}] = of
		}
	}
	out := make(map[string][]string)
	for at, of := range tasks {
		if of.Kind != task.Config {
			continue
		}
		seen := map[resource.ID]bool{}
		for queue := slices.Clone(of.Requires); len(queue) > 0; queue = queue[1:] {
			if next, ok := tasks[on{at.node, queue[0]}]; ok && !seen[queue[0]] {
				seen[queue[0]] = true
				queue = append(queue, next.Requires...)
			}
		}
		var list []string
		for id := range maps.Keys(seen) {
			if required := tasks[on{at.node, id}]; required.Kind == task.Config {
				list = append(list, p.id(required))
			}
		}
		out[p.id(of)] = sortedIDs(list)
	}
	return out
}
