package planner

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Protection limits what one plan may tear down or remove (design.md 10).
type Protection struct {
	// TornDown is how many nodes may be torn down: a number, or a share of the nodes on which anything is applied, such
	// as "10%". Empty is the default: one node, or 10 % of them where that is more.
	TornDown string
	// Removed is how many resources may be removed on nodes that are not torn down; nil: any number.
	Removed *int64

	// How users write it, for errors: Flag as an option of the companion, Given in a protect that is there already.
	Given, Flag bool
}

// Remedy says what to write so that a limit is n. What else protect has stays as it is.
func (p Protection) Remedy(limit string, n int) string {
	switch {
	case p.Flag:
		return fmt.Sprintf("add --%s %d", strings.ReplaceAll(limit, "_", "-"), n)
	case p.Given:
		return fmt.Sprintf("set %s = %d in protect", limit, n)
	}
	return fmt.Sprintf("write protect = { %s = %d }", limit, n)
}

// NumberOrShare is the form of [Protection.TornDown]: 3, or 10%.
var NumberOrShare = regexp.MustCompile(`^([0-9]{1,6}|([0-9]{1,2}|100)%)$`)

// defaultTornDown is the default share of the nodes that may be torn down, in percent. One node is always allowed.
const defaultTornDown = 10

// nodesListed is the most nodes that [Losses.ByNode] lists.
const nodesListed = 20

// Losses are what a plan tears down and removes.
type Losses struct {
	Nodes    int                      // on which anything is applied before the run; a machine counts once
	TornDown map[string][]resource.ID // node -> what is undone there, sorted: nodes that left the site, or every group
	Removed  map[string][]resource.ID // node -> what is removed there, sorted: nodes that stay
	Unsure   map[string]UnsureLoss    // machines that are torn down unless they are machines of the site
	Silent   []string                 // nodes that did not answer when they were last asked
	Unread   map[string]bool          // nodes of which nobody knows what is undone there
}

// UnsureLoss is what is undone on a machine unless it is a node at its new address.
type UnsureLoss struct {
	Node   string
	Undone []resource.ID // sorted
}

// Losses returns what the plan tears down and removes. applied is what the plan was made from, unsure as [Unsure]
// returns it. Actions of plugins, and resources that were only ever looked at, do not count: they are forgotten, not
// undone. Nor does what another title of the same object takes over.
func (p *Plan) Losses(applied Applied, unsure map[string]string) Losses {
	l := Destroyed(applied)
	l.TornDown, l.Removed, l.Unsure = map[string][]resource.ID{}, map[string][]resource.ID{}, map[string]UnsureLoss{}
	for _, phase := range p.Phases {
		for _, t := range phase.Tasks {
			node, isUnsure := unsure[t.Node]
			switch {
			case t.Action == task.Forget && isUnsure:
				l.Unsure[t.Node] = UnsureLoss{node, undoneOf(applied[t.Node])}
				l.Nodes-- // its node counts
			case t.Action == task.Forget:
				l.TornDown[t.Node] = undoneOf(applied[t.Node])
			case t.Action == task.Remove && !forgets(t) && !t.TakenOver:
				l.Removed[t.Node] = append(l.Removed[t.Node], t.Resource.ID())
			}
		}
	}
	for _, ids := range l.Removed {
		slices.Sort(ids)
	}
	return l
}

// Destroyed returns what the destruction of a whole site undoes. Nodes without anything are left out.
func Destroyed(applied Applied) Losses {
	l := Losses{TornDown: make(map[string][]resource.ID, len(applied)), Unread: map[string]bool{}}
	for node, resources := range applied {
		ids, unread := undoneOf(resources), applied.Unread(node)
		if node == Controller || len(ids) == 0 && !unread {
			continue
		}
		l.TornDown[node] = ids
		if unread {
			l.Unread[node] = true
		}
	}
	l.Nodes = len(l.TornDown)
	return l
}

func undoneOf(applied map[resource.ID]string) []resource.ID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(applied)), func(id resource.ID) bool {
		return task.IsMark(id) || isAction(split(id).Type) || watched(applied[id])
	})
}

// Empty reports whether nothing is torn down or removed.
func (l Losses) Empty() bool { return len(l.TornDown)+len(l.Removed)+len(l.Unsure) == 0 }

// String describes the losses in one line: `tears down 2 nodes: b, c; removes 14 resources on 3 nodes`.
func (l Losses) String() string {
	var parts []string
	if n := len(l.TornDown); n > 0 {
		parts = append(parts, fmt.Sprintf("tears down %s: %s", resource.Count(n, "node"),
			list(slices.Sorted(maps.Keys(l.TornDown)))))
	}
	if n := len(l.Unsure); n > 0 {
		parts = append(parts, fmt.Sprintf("may tear down %s: %s", resource.Count(n, "node"),
			list(slices.Sorted(maps.Keys(l.Unsure)))))
	}
	if len(l.Removed) > 0 {
		parts = append(parts, fmt.Sprintf("removes %s on %s", resource.Count(countResources(l.Removed), "resource"),
			onNodes(slices.Sorted(maps.Keys(l.Removed)))))
	}
	return strings.Join(parts, "; ")
}

// Undone describes in one line what the destruction of a site undoes: `undoes 14 resources on 3 nodes, and forgets 1
// node unless it answers: b`.
func (l Losses) Undone() string {
	answering, silent, unread := maps.Clone(l.TornDown), []string{}, []string{}
	for _, node := range slices.Sorted(maps.Keys(l.TornDown)) {
		switch {
		case slices.Contains(l.Silent, node):
			silent = append(silent, node)
		case l.Unread[node]:
			unread = append(unread, node)
		default:
			continue
		}
		delete(answering, node)
	}
	var parts []string
	if len(answering) > 0 || len(silent)+len(unread) == 0 {
		parts = append(parts, fmt.Sprintf("undoes %s on %s", resource.Count(countResources(answering), "resource"),
			onNodes(slices.Sorted(maps.Keys(answering)))))
	}
	if n := len(unread); n > 0 {
		parts = append(parts, fmt.Sprintf("undoes what is not known on %s: %s", resource.Count(n, "node"), list(unread)))
	}
	if n := len(silent); n > 0 {
		unless := "they answer"
		if n == 1 {
			unless = "it answers"
		}
		parts = append(parts, fmt.Sprintf("forgets %s unless %s: %s", resource.Count(n, "node"), unless, list(silent)))
	}
	return strings.Join(parts, ", and ")
}

// ByNode returns a line for each node that loses something, sorted: the first 20 nodes, and the first 8 resources of
// each, in the order of [Plan.Lines].
func (l Losses) ByNode() []string {
	var lines []string
	nodes := slices.Sorted(maps.Keys(l.TornDown))
	nodes = slices.AppendSeq(nodes, maps.Keys(l.Unsure))
	nodes = distinct(slices.AppendSeq(nodes, maps.Keys(l.Removed)))
	for _, node := range nodes[:min(len(nodes), nodesListed)] {
		verb, ids, unless := "removes", l.Removed[node], ""
		if gone, all := l.TornDown[node]; all {
			verb, ids = "undoes", gone
		}
		if verb == "undoes" && slices.Contains(l.Silent, node) {
			unless = " if it answers, else it stays there"
		}
		if u, is := l.Unsure[node]; is {
			verb, ids, unless = "undoes", u.Undone, fmt.Sprintf(" unless it is node %q at its new address", u.Node)
		}
		ids = slices.SortedFunc(slices.Values(ids), func(a, b resource.ID) int { return removedBefore(split(a), split(b)) })
		what := resource.Count(len(ids), "resource") + unless
		if l.Unread[node] && verb == "undoes" {
			what = strings.TrimSuffix("what its ledger says, which is not known,"+unless, ",")
		}
		line := fmt.Sprintf("%s: %s %s", cut(node), verb, what)
		if len(ids) > 0 {
			line += ": " + list(resource.Texts(ids))
		}
		lines = append(lines, line)
	}
	if more := len(nodes) - nodesListed; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more nodes", more))
	}
	return lines
}

// Check returns an error for each limit that the losses exceed.
func (p Protection) Check(l Losses) invalid.Errors {
	var errs invalid.Errors
	refuse := func(attribute, message string) {
		errs = append(errs, invalid.Error{Object: "deployment", Attribute: attribute, Code: invalid.Protected,
			Message: message})
	}
	if n := len(l.TornDown); n > p.TornDownOf(l.Nodes) {
		limit := "protect.max_torn_down_nodes is " + p.TornDown
		if p.TornDown == "" {
			limit = fmt.Sprintf(
				"without protect.max_torn_down_nodes, 1 node or %d %% of the nodes may be torn down at once",
				defaultTornDown)
		}
		refuse("protect.max_torn_down_nodes", fmt.Sprintf(
			"the plan tears down %d of %s: %s; %s. A node is torn down when it leaves nodes, or every group, and all are "+
				"when site has another name: check them and the selectors of the groups. When it is meant, %s for this "+
				"apply", n, resource.Count(l.Nodes, "node"), list(slices.Sorted(maps.Keys(l.TornDown))), limit,
			p.Remedy("max_torn_down_nodes", n)))
	}
	if n := countResources(l.Removed); p.Removed != nil && int64(n) > *p.Removed {
		refuse("protect.max_removed_resources", fmt.Sprintf(
			"the plan removes %s on %s: %s; protect.max_removed_resources is %d. When it is meant, %s for this apply",
			resource.Count(n, "resource"), onNodes(slices.Sorted(maps.Keys(l.Removed))), list(distinctResources(l.Removed)),
			*p.Removed, p.Remedy("max_removed_resources", n)))
	}
	return errs
}

// CheckReplacement returns an error when the replacement of a whole deployment undoes more than a limit allows that is
// written: nothing needs one. l is as [Destroyed] returns it.
func (p Protection) CheckReplacement(l Losses) invalid.Errors {
	n := len(l.TornDown)
	if p.TornDown != "" && n <= p.TornDownOf(l.Nodes) {
		return nil
	}
	return invalid.Errors{{Object: "deployment", Attribute: "protect.max_torn_down_nodes", Code: invalid.Protected,
		Message: fmt.Sprintf("Replacing the deployment %s, before it is made again:\n%s\n\nNothing needs that: a changed "+
			"value in triggers has everything checked again. Plan without -replace, and without replace_triggered_by. When "+
			"it is meant, %s for this apply", l.Undone(), strings.Join(l.ByNode(), "\n"),
			p.Remedy("max_torn_down_nodes", n))}}
}

// TornDownOf returns how many nodes of a site with so many nodes may be torn down at once.
func (p Protection) TornDownOf(nodes int) int {
	if p.TornDown == "" {
		return max(1, nodes*defaultTornDown/100)
	}
	share, percent := strings.CutSuffix(p.TornDown, "%")
	n, err := strconv.Atoi(share)
	switch {
	case err != nil || n < 0:
		return 0 // the schema refuses it
	case percent:
		return nodes * n / 100
	}
	return n
}

func countResources(byNode map[string][]resource.ID) (n int) {
	for _, ids := range byNode {
		n += len(ids)
	}
	return n
}

func distinctResources(byNode map[string][]resource.ID) []string {
	return distinct(resource.Texts(slices.Concat(slices.Collect(maps.Values(byNode))...)))
}
