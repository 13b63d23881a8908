package sequence

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Cleanup is the kind of a task that does nothing and lets an item go; only the core makes it (litp.md 48).
const Cleanup task.Kind = "cleanup"

// Work is a task as its place in the plan sees it: who it is, what it acts on, what it requires (litp.md 45 to 57). What it really does
// is behind Digest.
type Work struct {
	ID        string // unique among the tasks of a plan; a remembered task that is returned again keeps it
	Kind      task.Kind
	Source    string        // the plugin or service that returned it
	Item      string        // path of the item it acts on
	Also      []string      // paths of further items (litp.md 50)
	Node      string        // path of the node on which a config task runs
	Nodes     []string      // paths of the nodes on which a remote task runs
	Resource  Resource      // of a config task, unique on its node
	Action    string        // what a callback or remote task does
	Digest    string        // over all arguments
	Future    bool          // an argument is read when the phase starts, so that the task equals no other (litp.md 54)
	Transient bool          // a config task that is not remembered once it is applied
	Removes   bool          // takes things away, even if its item stays (litp.md 60)
	Tag       string        // asks for a task group; empty for the group that fits the task (litp.md 65)
	Group     task.Group    // fixed from the start; empty for the rules to decide
	Requires  []Requirement // in the order written
	Replaces  []Resource    // resources of the same node that this task supersedes (litp.md 61)
}

// Resource is type and title of a configuration resource.
type Resource struct{ Type, Title string }

// resourceOn is what identifies a config task (litp.md 52).
type resourceOn struct {
	node     string
	resource Resource
}

func (w *Work) where() resourceOn { return resourceOn{w.Node, w.Resource} }

func (w *Work) config() bool { return w.Kind == task.Config }

// pathID is the last segment of a path.
func pathID(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// within reports whether a path is another or lies below it. Whole segments count (litp.md Q4).
func within(path, top string) bool {
	return strings.HasPrefix(path, top) && (len(path) == len(top) || path[len(top)] == '/' || strings.HasSuffix(top, "/"))
}

// lockID and its siblings name the tasks that the core makes.
func lockID(node string) string   { return "lock:" + pathID(node) }
func unlockID(node string) string { return "unlock:" + pathID(node) }

func cleanupOf(item string) Work {
	return Work{ID: "cleanup:" + item, Kind: Cleanup, Item: item, Group: task.Cleanup}
}

func partOf(w Work, nodes ...string) Work {
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = pathID(n)
	}
	w.ID += "@" + strings.Join(ids, "+")
	w.Nodes = slices.Clone(nodes)
	return w
}
