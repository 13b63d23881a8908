package sequence

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// modelCache asks the model about each item once.
type modelCache struct {
	Model
	items     map[string]*cachedItem
	clusters  []Cluster
	clusterOf map[string]string // path of a node -> path of its cluster
}

type cachedItem struct {
	Item
	exists   bool
	requires []string
	asked    bool
}

// newModelCache makes a cache for about so many items.
func newModelCache(m Model, items int) *modelCache {
	c := &modelCache{Model: m, items: make(map[string]*cachedItem, items), clusters: m.Clusters(), clusterOf: make(map[string]string)}
	for _, cluster := range c.clusters {
		for _, node := range cluster.Nodes {
			c.clusterOf[node] = cluster.Path
		}
	}
	return c
}

func (c *modelCache) item(path string) *cachedItem {
	if it, ok := c.items[path]; ok {
		return it
	}
	it := &cachedItem{}
	if path != "" {
		it.Item, it.exists = c.Item(path)
	}
	c.items[path] = it
	return it
}

// required returns the paths that an item requires, sorted, each once.
func (c *modelCache) required(path string) []string {
	it := c.item(path)
	if !it.asked {
		it.asked = true
		it.requires = c.Requires(path)
		if !ascending(it.requires) {
			it.requires = slices.Clone(it.requires)
			slices.Sort(it.requires)
			it.requires = slices.Compact(it.requires)
		}
	}
	return it.requires
}

// ascending reports whether texts are sorted, each once.
func ascending(texts []string) bool {
	for i := 1; i < len(texts); i++ {
		if texts[i-1] >= texts[i] {
			return false
		}
	}
	return true
}

// taskNode is the node a task runs on, for ordering (litp.md 58); empty for none.
func (c *modelCache) taskNode(w *Work) string {
	switch w.Kind {
	case task.Config:
		return w.Node
	case task.Remote:
		if len(w.Nodes) > 0 {
			return w.Nodes[0]
		}
		return ""
	default:
		return c.item(w.Item).Node
	}
}

// taskCluster is the cluster that a task belongs to: that of its node, or without a node that of its item (litp.md 103).
func (c *modelCache) taskCluster(w *Work) string {
	if w.Kind == Cleanup {
		return "" // of the core, on the management server
	}
	if node := c.taskNode(w); node != "" {
		return c.clusterOf[node]
	}
	return c.item(w.Item).Cluster
}

// belowSites reports whether an item lies where the sites are.
func (c *modelCache) belowSites(path string) bool {
	return slices.ContainsFunc(c.clusters, func(cluster Cluster) bool {
		sites := strings.TrimSuffix(cluster.Site, "/"+pathID(cluster.Site))
		return cluster.Site == "" || within(path, sites)
	})
}

// removes reports whether a task takes things away (litp.md 60).
func (c *modelCache) removes(w *Work, rules *Rules) bool {
	return w.Removes || c.item(w.Item).Removed || rules.TransientRemoves && w.config() && w.Transient
}

// determinable reports whether what is applied of all items of a task is known.
func (c *modelCache) determinable(w *Work) bool {
	if it := c.item(w.Item); it.exists && it.Uncertain {
		return false
	}
	for _, path := range w.Also {
		if c.item(path).Uncertain {
			return false
		}
	}
	return true
}
