package conformance

import (
	"fmt"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/item"
	"github.com/slipway/terraform-provider-slipway/planner/sequence"
)

// treeModel shows a tree of items to the sequence.
type treeModel struct{ *item.Tree }

func (m treeModel) Item(path string) (sequence.Item, bool) {
	it := m.Get(item.Path(path))
	if it == nil {
		return sequence.Item{}, false
	}
	out := sequence.Item{
		Management: it.Management() != nil, New: it.State() == item.Initial, Removed: it.State() == item.ForRemoval,
		Uncertain: !it.Determinable(),
	}
	if host := it.Host(); host != nil {
		out.Node = string(host.Path())
	}
	if cluster := it.Cluster(); cluster != nil {
		out.Cluster = string(cluster.Path())
	}
	for _, id := range m.Types().Types() {
		if it.Is(id) {
			out.Types = append(out.Types, id)
		}
	}
	return out, true
}

func (m treeModel) Requires(path string) []string {
	var out []string
	for _, p := range m.Required(item.Path(path)) {
		out = append(out, string(p))
	}
	return out
}

func (m treeModel) Removed() []string {
	var out []string
	for it := range m.All() {
		if it.State() == item.ForRemoval && it.Nearest(item.RoleSnapshot) == nil {
			out = append(out, string(it.Path()))
		}
	}
	return out
}

func (m treeModel) Clusters() []sequence.Cluster {
	var out []sequence.Cluster
	for it := range m.Root().WithRole(item.RoleCluster) {
		c := sequence.Cluster{Path: string(it.Path()), New: it.State() == item.Initial, HA: it.Property("ha") != ""}
		if site := it.Site(); site != nil {
			c.Site = string(site.Path())
		}
		if list := it.Property("depends_on"); list != "" {
			for id := range strings.SplitSeq(list, ",") {
				c.DependsOn = append(c.DependsOn, strings.TrimSpace(id))
			}
		}
		for node := range it.WithRole(item.RoleNode) {
			c.Nodes = append(c.Nodes, string(node.Path()))
		}
		if view, ok := it.View("node_order_view"); ok {
			c.NodeOrder, c.BadNodeOrder = nodeOrder(view)
		}
		out = append(out, c)
	}
	return out
}

func nodeOrder(view any) (ids []string, bad string) {
	list, ok := view.([]any)
	if !ok && view != nil {
		return nil, fmt.Sprintf("%v is no list", view)
	}
	for _, v := range list {
		id, ok := v.(string)
		if !ok {
			return nil, fmt.Sprintf("%v is no text", v)
		}
		ids = append(ids, id)
	}
	return ids, ""
}
