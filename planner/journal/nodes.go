package journal

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// NodeHistory is what a run did on a node.
type NodeHistory struct {
	Node    string     `json:"node"`            // empty for what belongs to no node: callbacks of whole services
	Group   string     `json:"group,omitempty"` // of its first task
	Stage   string     `json:"stage,omitempty"` // that it reached; empty while it is at work
	Message string     `json:"message,omitempty"`
	Changed int        `json:"changed"` // tasks that changed something
	Failed  int        `json:"failed"`  // tasks that failed
	Millis  int64      `json:"millis"`  // of all its tasks
	Tasks   []Recorded `json:"-"`       // that ended, in order
}

// page is how many events are read at once.
const page = 1000

// AllEvents returns all events of a run, oldest first, or all of some kinds; without kinds not those of the kind
// [Output]: what tasks printed at the end is with their ends.
func (s *Store) AllEvents(ctx context.Context, run string, kinds ...Kind) (all []Recorded, err error) {
	for e, err := range s.Each(ctx, run, 0, kinds...) {
		if err != nil {
			return nil, err
		}
		if e.Kind != Output {
			all = append(all, e)
		}
	}
	return all, nil
}

// Each returns the events of a run after a sequence number, oldest first, without having all of them at once; of some
// kinds only, where kinds are given. After an error there is no further event.
func (s *Store) Each(ctx context.Context, run string, after int64, kinds ...Kind) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		for more := true; more; {
			events, err := s.Events(ctx, run, after, page, kinds...)
			if err != nil {
				yield(Recorded{}, err)
				return
			}
			for _, e := range events {
				if after = e.Seq; !yield(e, nil) {
					return
				}
			}
			more = len(events) == page
		}
	}
}

// PlannedPhase returns the events that record what a phase of the plan will do: several where its nodes are too many
// for the output of one. nodes are the nodes of its tasks, in the order of the tasks.
func PlannedPhase(phase int, group, taskGroup string, nodes []string) (events []Event) {
	for from, to := 0, 0; from < len(nodes); from = to {
		for to = from; to < len(nodes) && nodes[to] == nodes[from]; {
			to++
		}
		line := fmt.Sprintf("%d %s\n", to-from, nodes[from])
		if len(events) == 0 || len(events[len(events)-1].Output)+len(line) > outputLimit {
			events = append(events, Event{Kind: Planned, Phase: phase, Group: group, Action: taskGroup})
		}
		events[len(events)-1].Output += line
	}
	return events
}

// ServiceTasks is the Action of a Planned event that has services in the place of nodes: how many tasks a pass of a run
// has for each.
const ServiceTasks = "services"

// PlannedServices returns the events that record how many tasks a pass of a run has for each service. services are
// those of its tasks, which it sorts.
func PlannedServices(services []string) []Event {
	slices.Sort(services)
	return PlannedPhase(0, "", ServiceTasks, services)
}

// PlannedTasks returns the nodes of an event of [PlannedPhase], or the services of one of [PlannedServices], each with
// how many tasks it has.
func (e Event) PlannedTasks() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for line := range strings.Lines(e.Output) {
			count, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if n, err := strconv.Atoi(count); err == nil && e.Kind == Planned && !yield(name, n) {
				return
			}
		}
	}
}

// NodesOf returns what a run did on each node, by name, from its events.
func NodesOf(events []Recorded) []*NodeHistory {
	nodes := Nodes{}
	for _, e := range events {
		nodes.Add(e)
	}
	return nodes.Sorted()
}

// Nodes are what a run did on each node, as far as its events were added.
type Nodes map[string]*NodeHistory

// Sorted returns the nodes by name.
func (nodes Nodes) Sorted() []*NodeHistory {
	return slices.SortedFunc(maps.Values(nodes), func(a, b *NodeHistory) int { return strings.Compare(a.Node, b.Node) })
}

// Add adds the next event of the run. It returns the node that the event is about, nil when it is about none.
func (nodes Nodes) Add(e Recorded) *NodeHistory {
	if e.Kind != TaskStarted && e.Kind != TaskFinished && e.Kind != NodeFinished {
		return nil
	}
	n := nodes[e.Node]
	if n == nil {
		n = &NodeHistory{Node: e.Node, Group: e.Group}
		nodes[e.Node] = n
	}
	switch e.Kind { //nolint:exhaustive // the others were passed over
	case NodeFinished:
		n.Stage, n.Message = e.Status, e.Message
	case TaskFinished:
		n.Tasks = append(n.Tasks, e)
		n.Millis += e.Millis
		switch e.Status {
		case "changed":
			n.Changed++
		case "failed":
			n.Failed++
		}
	}
	return n
}

// Time is how long the node's tasks took.
func (n *NodeHistory) Time() time.Duration { return time.Duration(n.Millis) * time.Millisecond }

// Title is the node's name, or what stands for it where there is none.
func (n *NodeHistory) Title() string {
	if n.Node == "" {
		return "(no node)"
	}
	return n.Node
}
