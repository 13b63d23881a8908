package sequence

// Model tells what the order of tasks needs to know about the items they act on. Items are known by their paths, absolute
// and slash-separated. The answers must not change while a schedule is made.
type Model interface {
	// Item tells about one item; ok is false when there is none.
	Item(path string) (item Item, ok bool)
	// Requires returns the paths which the item at a path requires by the structure it hangs in, together with all that those require
	// among their siblings (litp.md 90). The paths may have no item. The order does not matter.
	Requires(path string) []string
	// Removed returns the paths of all items that are marked for removal, collections and descendants too, in path order.
	// Items that a schedule has no say in (snapshots) are not among them.
	Removed() []string
	// Clusters returns all clusters, in path order.
	Clusters() []Cluster
}

// Item is what the order of tasks needs to know about an item.
type Item struct {
	Node       string   // path of the node or management server that the item is, or lies on; empty for neither
	Management bool     // Node is the management server
	Cluster    string   // path of the cluster that the item is, or lies in; empty for none
	Types      []string // its type and all that this type extends
	New        bool     // never applied (state Initial)
	Removed    bool     // marked for removal
	Uncertain  bool     // what is applied of it is not known (litp.md 36)
}

// Cluster is a set of nodes whose phases form a block of their own.
type Cluster struct {
	Path         string
	Site         string   // path of what the cluster lies in; ids of clusters are unique there
	DependsOn    []string // ids of clusters of the same site that come first
	HA           bool     // something moves the work off a node that is locked
	New          bool     // never applied
	Nodes        []string // paths, in path order
	NodeOrder    []string // ids of all nodes in the order of their lock windows; empty for path order (litp.md 82)
	BadNodeOrder string   // what is wrong with the way the node order is written, when it is no list of strings
}
