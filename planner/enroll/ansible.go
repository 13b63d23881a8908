package enroll

import (
	"cmp"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// inventory is what all Ansible inventories say together.
type inventory struct {
	*reader
	groups map[string]*group
	hosts  map[string]*host
	order  []*host
	visits int
	full   bool // visits are above maxVisits
}

// group is a group of Ansible.
type group struct {
	name     string
	at       position
	defined  bool // by more than a section with its variables
	vars     map[string]variable
	beside   map[string]variable // of group_vars, which count over vars
	children []*group
	parents  []*group
	hosts    bool // some host is in it, or in a group below it
	depth    int
}

// host is a host of Ansible.
type host struct {
	name   string
	at     position
	vars   map[string]variable
	beside map[string]variable // of host_vars, which count over vars
	groups []*group
}

// variable is one with its position. object and of are what has it: a host or a group.
type variable struct {
	name       string
	value      *yaml.Node
	at         position
	object, of string
}

func newInventory(r *reader) *inventory {
	return &inventory{reader: r, groups: make(map[string]*group), hosts: make(map[string]*host)}
}

// group returns a group, which it makes at its first mention.
func (v *inventory) group(name string, at position) *group {
	g, ok := v.groups[name]
	if !ok {
		g = &group{name: name, at: at, vars: make(map[string]variable), beside: make(map[string]variable)}
		g.defined = name == "all" || name == "ungrouped"
		v.groups[name] = g
	}
	return g
}

func (v *inventory) child(parent, child *group) {
	if parent.name != "all" && !slices.Contains(parent.children, child) {
		parent.children = append(parent.children, child)
		child.parents = append(child.parents, parent)
	}
}

// exhausted reports, once, that too much would be read.
func (v *inventory) exhausted(at position) {
	if !v.full {
		v.report(at, "", "", "", "ranges and aliases stand for more than %d hosts and mappings; enrol them in parts", maxVisits)
	}
	v.full = true
}

// addHosts adds the hosts that a name stands for, which may have ranges and a port, to a group.
func (v *inventory) addHosts(g *group, pattern string, at position, vars []variable) {
	if name, port, ok := cutPort(pattern); ok {
		vars = append([]variable{{name: "ansible_port", value: literal(port), at: at}}, vars...)
		pattern = name
	}
	if v.full {
		return
	}
	names, err := expand(pattern)
	if err != nil {
		v.report(at, "host", pattern, "", "%v", err)
		return
	}
	if v.visits += len(names); v.visits > maxVisits {
		v.exhausted(at)
		return
	}
	for _, name := range names {
		h, ok := v.hosts[name]
		if !ok {
			h = &host{name: name, at: at, vars: make(map[string]variable), beside: make(map[string]variable)}
			v.hosts[name] = h
			if v.order = append(v.order, h); len(v.order) > maxNodes {
				v.report(at, "", "", "", "there are more hosts than %d; enrol them in parts", maxNodes)
				return
			}
		}
		if g.defined = true; !slices.Contains(h.groups, g) {
			h.groups = append(h.groups, g)
		}
		for _, value := range vars {
			value.object, value.of = "host", name
			h.vars[value.name] = value
		}
	}
}

var withPort = regexp.MustCompile(`^([^:\[\]]*(?:\[[^\]]*\][^:\[\]]*)*):(\d+)$`)

// cutPort takes the port from a name with one, web1:2222.
func cutPort(name string) (host, port string, ok bool) {
	if m := withPort.FindStringSubmatch(name); m != nil {
		return m[1], m[2], true
	}
	return name, "", false
}

// tree reads an inventory in YAML, or in JSON as scripts print it: groups with hosts, children and vars, hosts and
// children being a mapping or a list of names.
func (v *inventory) tree(file string, documents []*yaml.Node) {
	for _, d := range documents {
		v.members(file, d, "a mapping of groups", func(key, value *yaml.Node) {
			if key.Value == "_meta" {
				v.members(file, member(value, "hostvars"), "a mapping of hosts", func(key, value *yaml.Node) {
					v.treeHost(file, nil, key, value)
				})
				return
			}
			v.treeGroup(file, nil, key, value, 0)
		})
	}
}

// members calls each for all members of a mapping. A merge key (`<<`) is an error.
func (v *inventory) members(file string, n *yaml.Node, want string, each func(key, value *yaml.Node)) {
	n = follow(n)
	switch v.visits++; {
	case n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return
	case n.Kind != yaml.MappingNode:
		v.report(at(file, n), "", "", "", "must be %s", want)
		return
	case v.visits > maxVisits:
		v.exhausted(at(file, n))
		return
	}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], follow(n.Content[i+1])
		switch first, twice := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			v.report(at(file, key), "", "", "", "a key must be text")
			continue
		case key.ShortTag() == "!!merge":
			v.report(at(file, key), "", "", "", "`<<` is not read here; write the keys themselves")
			continue
		case twice:
			v.report(at(file, key), "", "", "", "key %q is there twice, first at line %d; keep one", key.Value, first)
			continue
		}
		seen[key.Value] = key.Line
		each(key, value)
	}
}

func (v *inventory) treeGroup(file string, parent *group, key, value *yaml.Node, depth int) {
	g := v.group(key.Value, at(file, key))
	g.defined = true
	if parent != nil {
		v.child(parent, g)
	}
	if depth > maxDepth {
		v.report(at(file, key), "group", g.name, "", "groups are nested more than %d levels deep", maxDepth)
		return
	}
	if value.Kind == yaml.SequenceNode { // of a script, hosts only
		v.names(file, value, func(n *yaml.Node) { v.treeHost(file, g, n, nil) })
		return
	}
	v.members(file, value, "a mapping with hosts, children and vars", func(key, value *yaml.Node) {
		switch list := value.Kind == yaml.SequenceNode; {
		case key.Value == "hosts" && list:
			v.names(file, value, func(n *yaml.Node) { v.treeHost(file, g, n, nil) })
		case key.Value == "hosts":
			v.members(file, value, "a mapping of hosts, or a list of their names", func(key, value *yaml.Node) {
				v.treeHost(file, g, key, value)
			})
		case key.Value == "children" && list:
			v.names(file, value, func(n *yaml.Node) { // of groups without hosts, ansible-inventory prints only this
				child := v.group(n.Value, at(file, n))
				child.defined = true
				v.child(g, child)
			})
		case key.Value == "children":
			v.members(file, value, "a mapping of groups, or a list of their names", func(key, value *yaml.Node) {
				v.treeGroup(file, g, key, value, depth+1)
			})
		case key.Value == "vars":
			v.variables(file, value, g.vars, "group", g.name)
		default:
			v.warn(at(file, key), "group", g.name, key.Value, "", "is no key of a group of Ansible, which has hosts, children and vars; it is left out")
		}
	})
}

func (v *inventory) names(file string, list *yaml.Node, each func(*yaml.Node)) {
	for _, n := range list.Content {
		if n = follow(n); text(n) == "" {
			v.report(at(file, n), "", "", "", "must be a name")
			continue
		}
		each(n)
	}
}

// treeHost reads a host. Without a group it only has variables.
func (v *inventory) treeHost(file string, g *group, key, value *yaml.Node) {
	vars := make(map[string]variable)
	v.variables(file, value, vars, "", "")
	if g == nil {
		g = v.group("ungrouped", at(file, key))
	}
	v.addHosts(g, key.Value, at(file, key), byName(vars))
}

// variables reads variables of a group or a host.
func (v *inventory) variables(file string, n *yaml.Node, into map[string]variable, object, of string) {
	v.members(file, n, "a mapping of variables", func(key, value *yaml.Node) {
		into[key.Value] = variable{name: key.Value, value: value, at: at(file, key), object: object, of: of}
	})
}

// beside reads a file of group_vars or host_vars.
func (v *inventory) beside(f Variables) {
	where := position{file: f.Name}
	object, into := "host", map[string]variable(nil)
	if h := v.hosts[f.Of]; h != nil && !f.Group {
		into = h.beside
	}
	if f.Group {
		object = "group"
		if g := v.groups[f.Of]; g != nil || f.Of == "all" {
			into = v.group(f.Of, where).beside
		}
	}
	switch body := strings.TrimSpace(string(f.Data)); {
	case into == nil:
		v.warn(where, "", "", "", "", "the inventory has no "+object+" "+strconv.Quote(f.Of)+"; the file is left out")
	case isVault(body):
		v.warn(where, object, f.Of, "", "", "is encrypted with Ansible Vault; its variables are not written")
	case body == "":
	case len(body) > maxSize:
		v.report(where, "", "", "", "has %d bytes; %d is the most", len(body), maxSize)
	default:
		kind, documents := v.documents(f.Source)
		if kind != ofTree && kind != "" && body != "---" {
			v.report(where, "", "", "", "must be a mapping of variables")
		}
		for _, d := range documents {
			v.variables(f.Name, d, into, object, f.Of)
		}
	}
}

// check reports groups that are only mentioned.
func (v *inventory) check() {
	for _, g := range sorted(maps.Values(v.groups)) {
		if !g.defined {
			v.report(g.at, "group", g.name, "", "there is no such group; write it as a section [%s] or below children", g.name)
		}
	}
}

// enroll makes the nodes.
func (v *inventory) enroll() {
	for _, g := range sorted(maps.Values(v.groups)) {
		if cycle := v.depthOf(g, nil); cycle {
			v.report(g.at, "group", g.name, "", "is a child of itself; take it out of the children of one of the groups")
			return
		}
	}
	for _, h := range v.order {
		v.node(h)
	}
	for _, g := range sorted(maps.Values(v.groups)) {
		if !g.hosts && g.name != "all" && g.name != "ungrouped" {
			v.warn(g.at, "group", g.name, "", "", "has no hosts, so it and its variables are left out")
		}
	}
}

// sorted sorts groups as Ansible merges their variables: by depth, ansible_group_priority and name.
func sorted(groups iter.Seq[*group]) []*group {
	return slices.SortedFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.priority(), b.priority()), strings.Compare(a.name, b.name))
	})
}

func byName(vars map[string]variable) []variable {
	return slices.SortedFunc(maps.Values(vars), func(a, b variable) int { return strings.Compare(a.name, b.name) })
}

// priority is ansible_group_priority, 1 where it is not given.
func (g *group) priority() int {
	if n, err := strconv.Atoi(text(g.vars["ansible_group_priority"].value)); err == nil {
		return n
	}
	return 1
}

// depthOf sets the depth of a group, the longest way from "all", and reports whether it is a child of itself.
func (v *inventory) depthOf(g *group, below []*group) (cycle bool) {
	if slices.Contains(below, g) {
		return true
	}
	if g.depth > 0 || g.name == "all" {
		return false
	}
	depth := 1
	for _, p := range g.parents {
		if v.depthOf(p, append(below, g)) {
			return true
		}
		depth = max(depth, p.depth+1)
	}
	g.depth = depth
	return false
}

// ancestors returns the groups that a host is in, in the order in which their variables count.
func (v *inventory) ancestors(h *host) []*group {
	seen := make(map[*group]bool)
	var walk func(g *group)
	walk = func(g *group) {
		if !seen[g] {
			seen[g], g.hosts = true, true
			for _, p := range g.parents {
				walk(p)
			}
		}
	}
	if all := v.groups["all"]; all != nil {
		walk(all)
	}
	for _, g := range h.groups {
		walk(g)
	}
	return sorted(maps.Keys(seen))
}

// node makes the node of a host: groups become tags, variables of the connection its connection, others labels.
func (v *inventory) node(h *host) {
	groups := v.ancestors(h)
	n := site.Node{Name: h.name, Address: h.name}
	vars := make(map[string]variable)
	for _, g := range groups {
		maps.Copy(vars, g.vars)
		if g.name != "all" && g.name != "ungrouped" {
			addTags(&n, g.name)
		}
	}
	for _, g := range groups {
		maps.Copy(vars, g.beside)
	}
	maps.Copy(vars, h.vars)
	maps.Copy(vars, h.beside)
	u := &use{reader: v.reader, node: &n, vars: vars}
	for _, value := range byName(vars) {
		u.take(value)
	}
	slices.Sort(n.Tags)
	if n.Connection.Transport == "local" {
		n.Address = ""
	}
	v.add(n, h.at)
}
