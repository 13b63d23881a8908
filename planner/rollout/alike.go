package rollout

import (
	"fmt"
	"strings"
)

// namesAlike bounds how many of several nodes are named.
const namesAlike = 5

// Alike is a reason with the nodes that it applies to.
type Alike struct {
	Nodes  []string
	Reason string
}

// SaidAlike groups nodes by their reason, without their own names in it, in the order of the first node of each group.
// The reason of a single node stays unchanged.
func SaidAlike(nodes []string, reason func(node string) string) []Alike {
	var out []Alike
	index := make(map[string]int)
	for _, node := range nodes {
		said := strings.ReplaceAll(reason(node), fmt.Sprintf("node %q: ", node), "")
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
