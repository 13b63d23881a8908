package planner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Relocate returns what is applied, and what has drifted, by the names that nodes have now. before are the nodes for
// which applied and drift were recorded. All nodes carry the connections that count for them. What is applied belongs
// to a machine ([site.Node.Place]), not to a name:
//
//   - A machine with a new name keeps what is applied. Without this, its old name would count as a node that left, and
//     the run would first apply the new name's resources and then undo them.
//   - A name that now means another machine has left its old machine. The old machine departs under a name of its own,
//     listed in left, and a warning says so. If the new address belonged to no node, everything is applied again there.
//     The run then finds out whether it is the same machine at another address, which stays. An address at which no run
//     or refresh ever reached the node, as reached reports, leaves no machine behind: it was a typo.
//
// Machines that left keep their names. The arguments are not changed.
func Relocate(before, now []site.Node, applied Applied, drift Drift, reached func(node string) bool) (there Applied,
	drifted Drift, left []Left, errs invalid.Errors) {
	if len(applied) == 0 {
		return applied, drift, nil, nil
	}
	machineOf, nameOf := machines(before)
	nowAt, taken := machines(now)
	there, drifted = make(Applied, len(applied)), make(Drift, len(drift))
	keep := func(name, from string) {
		there[name] = applied[from]
		if len(drift[from]) > 0 {
			drifted[name] = drift[from]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nowAt)) {
		is := nowAt[name]
		was, known := machineOf[name]
		moved := known && was != is
		from := name
		if old, occupied := nameOf[is]; occupied && (moved || !known) {
			from = old
		}
		switch resources := applied[from]; {
		case len(resources) == 0:
		case moved && from == name:
			there[name] = Applied{name: resources}.Unfinished()[name]
		default:
			keep(name, from)
		}
		if _, handedOn := taken[was]; !moved || handedOn || len(applied[name]) == 0 || !reached(name) {
			continue
		}
		l := Left{Node: name, Name: leftName(name, applied, machineOf, nowAt), Unsure: from == name}
		left = append(left, l)
		keep(l.Name, name)
		p := invalid.Error{Object: "node", Name: name, Attribute: "address", Code: invalid.NodeMoved, Warning: true,
			Message: fmt.Sprintf("was %s and is %s now: the machine at the old address leaves the site, as %q, "+
				"unless it is the same machine under another address", was, is, l.Name)}
		if from != name {
			p.Message = fmt.Sprintf("was %s and is %s now, where the node %q was: "+
				"the machine at the old address leaves the site, as %q", was, is, from, l.Name)
		}
		errs = append(errs, p)
	}
	for name := range applied {
		_, stays := nowAt[name]
		machine, known := machineOf[name]
		if _, renamed := taken[machine]; !stays && (!known || !renamed && reached(name)) {
			keep(name, name)
		}
	}
	errs.Sort()
	return there, drifted, left, errs
}

// Unread reports whether nobody knows what is applied on a node, and something may be ([task.UnknownLedger]).
func (a Applied) Unread(node string) bool {
	_, unread := a[node][task.UnknownLedger]
	return unread
}

// Known reports whether a ledger said what is applied on a node. What [Relocate] expects at a new address, and what a
// trigger has checked again, no ledger has said.
func (a Applied) Known(node string) bool {
	for id, digest := range a[node] {
		if digest != "" && id != task.Unchecked || id == task.LeftLocked {
			return true
		}
	}
	return false
}

// Left is a machine that left the site while its name now means another machine.
type Left struct {
	Node string // its name in the prior state, which is another machine's now
	Name string // under which it departs
	// Unsure: its node's new address belonged to no node, so it may be the same machine.
	Unsure bool
}

// Unsure returns the machines that left and may be machines of the site, as the run finds out: name -> node. earlier
// are those that an earlier run could not decide and that are still to be torn down, as long as apart does not report
// that their nodes are other machines.
func Unsure(left []Left, earlier map[string]string, now []site.Node, apart func(old, node string) bool,
) map[string]string {
	out := make(map[string]string, len(left))
	for _, l := range left {
		if l.Unsure {
			out[l.Name] = l.Node
		}
	}
	for name, node := range earlier {
		if !apart(name, node) && slices.ContainsFunc(now, func(n site.Node) bool { return n.Name == node }) {
			out[name] = node
		}
	}
	return out
}

// leftName returns an unused name for the machine that was called name.
func leftName(name string, applied Applied, before, now map[string]string) string {
	const longest = 240 // of the 253 bytes that a node's name may have
	base := name[:min(len(name), longest)] + ".old"
	for i := 1; ; i++ {
		free := base
		if i > 1 {
			free += strconv.Itoa(i)
		}
		_, was := before[free]
		_, is := now[free]
		if _, has := applied[free]; !was && !is && !has {
			return free
		}
	}
}

// machines returns the machine of each node and the node of each machine; of several nodes, the first one.
func machines(nodes []site.Node) (of, at map[string]string) {
	of, at = make(map[string]string, len(nodes)), make(map[string]string, len(nodes))
	for _, n := range nodes {
		machine := n.Place()
		of[n.Name] = machine
		if _, taken := at[machine]; !taken {
			at[machine] = n.Name
		}
	}
	return of, at
}
