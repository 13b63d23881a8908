package journal

import "encoding/json"

// Outline is what a run will do, as far as it is known before anything starts: the Output of a RunStarted. Each pass of
// a run has its own.
type Outline struct {
	Groups   []OutlineGroup `json:"groups"`                    // in the order in which the run works on them
	Parallel int            `json:"parallel_groups,omitempty"` // how many at once; 0: one
}

// OutlineGroup is a deployment group of an Outline.
type OutlineGroup struct {
	Name      string   `json:"name"`
	DependsOn []string `json:"depends_on,omitempty"`
	After     []string `json:"after,omitempty"` // groups that must be complete before it, besides DependsOn
	Critical  bool     `json:"critical,omitempty"`
	Percent   *int     `json:"percent_successful_nodes,omitempty"`
	Minimum   *int     `json:"minimum_successful_nodes,omitempty"`
	Maximum   *int     `json:"maximum_failed_nodes,omitempty"`
	Nodes     int      `json:"nodes"`               // on which it does something
	Unchanged int      `json:"unchanged,omitempty"` // its nodes that are already as they are to be
	Batches   []int    `json:"batches,omitempty"`   // how many nodes each of them has; empty: one for all
	Last      []string `json:"last,omitempty"`      // the last node of each batch, by name; empty: an older slipway recorded it
	// SoakMillis is how long each batch soaks, in milliseconds.
	SoakMillis int64 `json:"soak_millis,omitempty"`
}

// OutlineOf returns the outline in a RunStarted; it is empty where an older slipway recorded none.
func OutlineOf(e Event) (o Outline) {
	if json.Unmarshal([]byte(e.Output), &o) != nil {
		return Outline{}
	}
	return o
}
