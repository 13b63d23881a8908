package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/sequence"
)

// replayLeftLocked asks for each case whether a node that an earlier plan left locked is unlocked.
func replayLeftLocked(t testing.TB, f *file, v *vector) {
	litpInputs(t, v, "given", "cases")
	in := sequenceInput(t, f, v)
	cluster, _ := clusterOf(in.Model, in.LeftLocked[0])
	for i, c := range strictly[[]struct {
		Policies  []yaml.Node
		Lock      bool
		Why, Note string
	}](t, v.keys["cases"]) {
		if got := cluster.Unlocks(policyList(t, c.Policies)); got != c.Lock {
			t.Errorf("case %d: got %t, want %t", i, got, c.Lock)
		}
	}
}

// together is what a vector gives with what a case of it adds about the model, which is taken out of the case; more tells whether that is more than
// the name of a model.
func together(t testing.TB, given yaml.Node, parts map[string]yaml.Node) (all yaml.Node, more bool) {
	t.Helper()
	merged := maps.Clone(mapping(t, given))
	if merged == nil {
		merged = make(map[string]yaml.Node)
	}
	for _, key := range []string{"items", "types", "all_applied", "states", "remove", "undeterminable"} {
		if node, ok := parts[key]; ok {
			merged[key] = node
			delete(parts, key)
		}
	}
	more = len(merged) > 1 || len(merged) == 1 && merged["model"].Kind == 0
	all = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		node := merged[key]
		all.Content = append(all.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &node)
	}
	return all, more
}

func policyList(t testing.TB, nodes []yaml.Node) []sequence.Policy {
	t.Helper()
	list := yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range nodes {
		list.Content = append(list.Content, &nodes[i])
	}
	return policies(t, list)
}

func clusterOf(m sequence.Model, node string) (sequence.Cluster, bool) {
	for _, c := range m.Clusters() {
		if slices.Contains(c.Nodes, node) {
			return c, true
		}
	}
	return sequence.Cluster{}, false
}

// replayLockDecision asks for each case whether a node is locked. A case says what differs from a node in use in a cluster of two nodes with an
// HA manager, or from what the vector gives where that is more than the name of a model.
func replayLockDecision(t testing.TB, f *file, v *vector) {
	litpInputs(t, v, "given", "cases")
	for i, node := range decode[[]yaml.Node](t, v.keys["cases"]) {
		parts := mapping(t, node)
		c := sequence.Cluster{Path: "/sites/s1/clusters/c1", HA: true, Nodes: []string{"n1", "n2"}}
		isNew, hasCluster := false, true
		if given, more := together(t, v.keys["given"], parts); more {
			path := string(expand(t, f, "@n1"))
			if n := parts["node"]; strings.HasPrefix(n.Value, "@") || strings.HasPrefix(n.Value, "/") {
				path = string(expand(t, f, n.Value))
				delete(parts, "node")
			}
			m := treeModel{loadItems(t, f, given)}
			about, _ := m.Item(path)
			isNew = about.New
			c, hasCluster = clusterOf(m, path)
		}
		for _, key := range slices.Sorted(maps.Keys(parts)) {
			value := parts[key]
			initial := value.Value == "Initial" || value.Value == "initial" || value.Value == "true"
			switch key {
			case "policies", "policy", "lock_policies", "lock", "why", "title", "note":
			case "ha", "ha_manager":
				c.HA = value.Tag != "!!null" && value.Value != "false" && value.Value != ""
			case "node_state", "node", "node_initial":
				isNew = initial
			case "cluster_state", "cluster_initial":
				c.New = initial
			case "cluster":
				hasCluster = value.Tag != "!!null"
				c.New = initial
			case "nodes", "node_count", "cluster_nodes", "cluster_size":
				c.Nodes = make([]string, decode[int](t, value))
			default:
				t.Errorf("case %d has the part %q, which no code looks at", i, key)
			}
		}
		list := append(decode[[]yaml.Node](t, parts["policies"]), decode[[]yaml.Node](t, parts["lock_policies"])...)
		if policy, ok := parts["policy"]; ok && policy.Tag != "!!null" {
			list = append(list, policy)
		}
		if got, want := hasCluster && c.Locks(isNew, policyList(t, list)), decode[bool](t, parts["lock"]); got != want {
			t.Errorf("case %d: got %t, want %t", i, got, want)
		}
	}
}

// policies reads a list of names, or of names with the clusters that they leave out.
func policies(t testing.TB, node yaml.Node) []sequence.Policy {
	t.Helper()
	var out []sequence.Policy
	for _, p := range decode[[]yaml.Node](t, node) {
		if p.Kind == yaml.ScalarNode {
			out = append(out, sequence.Policy{Action: sequence.LockAction(p.Value)})
			continue
		}
		for action, clusters := range decode[map[string][]string](t, p) {
			out = append(out, sequence.Policy{Action: sequence.LockAction(action), Except: clusters})
		}
	}
	return out
}
