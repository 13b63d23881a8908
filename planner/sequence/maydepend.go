package sequence

// Side is what one end of a requirement is: where the task runs, where its item lies, and whether it takes things away.
type Side struct {
	Node       string // config: its node; remote: the first of its nodes; callback: that of its item; empty for none
	ItemNode   string // the node or management server of its item; empty for none
	Management bool   // the task is in the management group
	Removes    bool
}

// Reason is why a requirement cannot be kept; empty when it can.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	Removal  Reason = "one of them takes things away and the other does not" // it is ignored (litp.md 58 a)
	TaskNode Reason = "they run on different nodes"
	ItemNode Reason = "their items lie on different nodes"
)

// MayDepend tells whether a task may require another (litp.md 58). It is symmetric.
func MayDepend(a, b Side) Reason {
	if a.Removes != b.Removes {
		return Removal
	}
	if a.Node != b.Node && (a.Node != "" && b.Node != "" || !a.Management || !b.Management) {
		return TaskNode
	}
	if a.ItemNode != "" && b.ItemNode != "" && a.ItemNode != b.ItemNode {
		return ItemNode
	}
	return ""
}
