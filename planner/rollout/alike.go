package rollout

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// namesAlike bounds how many of several nodes are named.
const namesAlike = 5

// Alike is a reason with the nodes that it applies to.
type Alike struct {
	Nodes  []string
	Reason string
}

// ownAddress finds the address and port of a node where an error of its connection begins with it, or with a few words
// before it. What commands print begins with their resource.
var ownAddress = regexp.MustCompile(`^((?:[a-z]+[,:]? )*)(?:\[[^][ ]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}\b`)

// SaidAlike groups nodes by their reason, without their own names and addresses in it, in the order of the first node
// of each group. The reason of a single node stays unchanged.
func SaidAlike(nodes []string, reason func(node string) string) []Alike {
	var out []Alike
	index := make(map[string]int)
	for _, node := range nodes {
		said := strings.ReplaceAll(reason(node), fmt.Sprintf("node %q: ", node), "")
		said = ownAddress.ReplaceAllString(said, "${1}the node")
		i, known := index[said]
		if !known {
			i = len(out)
			index[said] = i
			out = append(out, Alike{Reason: said})
		}
		out[i].Nodes = append(out[i].Nodes, node)
	}
	for i, a := range out {
		if len(a.Nodes) == 1 {
			out[i].Reason = reason(a.Nodes[0])
		}
	}
	return out
}

// warnedAlike returns warnings in their order, those that begin with a node once for all nodes that have them in
// common.
func warnedAlike(warnings []string) []string {
	var out []Alike
	index := make(map[string]int)
	for _, w := range warnings {
		node, reason := warnedNode(w)
		i, known := index[reason]
		if node == "" || !known {
			i = len(out)
			out = append(out, Alike{Reason: reason})
		}
		if node != "" {
			index[reason] = i
			out[i].Nodes = append(out[i].Nodes, node)
		}
	}
	lines := make([]string, len(out))
	for i, a := range out {
		lines[i] = a.Reason
		if len(a.Nodes) == 1 {
			lines[i] = fmt.Sprintf("node %q: %s", a.Nodes[0], a.Reason)
		} else if len(a.Nodes) > 1 {
			slices.Sort(a.Nodes)
			lines[i] = a.Who() + ": " + a.Reason
		}
	}
	return lines
}

// warnedNode splits a warning that begins with a node; the node of another one is empty.
func warnedNode(warning string) (node, reason string) {
	after, found := strings.CutPrefix(warning, "node ")
	quoted, err := strconv.QuotedPrefix(after)
	if !found || err != nil || !strings.HasPrefix(after[len(quoted):], ": ") {
		return "", warning
	}
	node, _ = strconv.Unquote(quoted) // it is quoted
	return node, after[len(quoted)+len(": "):]
}

// Who names the nodes: `web1`, or `100 nodes (web1, web2, web3, web4, web5 and 95 more)`.
func (a Alike) Who() string {
	n := len(a.Nodes)
	if n == 1 {
		return a.Nodes[0]
	}
	more := ""
	if n > namesAlike {
		more = fmt.Sprintf(" and %d more", n-namesAlike)
	}
	return fmt.Sprintf("%d nodes (%s%s)", n, strings.Join(a.Nodes[:min(n, namesAlike)], ", "), more)
}
