package run

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// wide returns the program of groups of equal size whose nodes all have the same number of sessions.
func wide(b *testing.B, nodes, size, sessions, parallelism int, rolling *site.Rolling) Program {
	b.Helper()
	s := site.Site{Name: "wide"}
	for i := range nodes {
		s.Nodes = append(s.Nodes, site.Node{Name: fmt.Sprintf("n%05d", i), Rack: fmt.Sprint(i / size)})
	}
	for i := 0; i*size < nodes; i++ {
		s.Groups = append(s.Groups, site.Group{Name: fmt.Sprint("g", i), Rolling: rolling, DeployTimeout: 1000 * time.Hour,
			Selectors: site.Selectors{{RackNames: []string{fmt.Sprint(i)}}}})
	}
	p := planFor(s, nil)
	for _, g := range p.Groups {
		for i := range sessions {
			ph := planner.Phase{TaskGroup: task.Node, Group: g.Name, Tasks: make([]task.Task, len(g.Owned))}
			for j, n := range g.Owned {
				ph.Tasks[j] = task.Task{Node: n, Kind: task.Config, Action: task.Create}
				if i == 0 {
					ph.TaskGroup, ph.Tasks[j].Action = task.Prepare, task.PrepareNode
				}
			}
			p.Phases = append(p.Phases, ph)
		}
	}
	program, err := Compile(s, p, Settings{Parallelism: parallelism, ParallelGroups: 4})
	if err != nil {
		b.Fatal(err)
	}
	return program
}

// drive plays a program in which everything succeeds, and returns the number of events.
func drive(b *testing.B, p Program) int {
	b.Helper()
	m := New(p)
	var running []Command
	var at time.Time
	commands := m.Handle(Event{Kind: Begin}, at)
	for events := 1; ; events++ {
		for _, c := range commands {
			switch c.Kind {
			case Finish:
				if c.Report.Status != StatusSucceeded {
					b.Fatal(c.Report.Status)
				}
				return events
			case Start:
				running = append(running, c)
			}
		}
		c := running[0]
		running = running[1:]
		at = at.Add(time.Millisecond)
		r := Result{Outcome: Succeeded, Sent: true}
		if c.Window {
			r.Lock = map[bool]Lock{true: IsLocked, false: IsUnlocked}[c.Keep]
		}
		commands = m.Handle(Event{Kind: Ended, ID: c.ID, Result: r}, at)
	}
}

// BenchmarkHandle shows what an event costs as sites grow; half of the nodes are locked at once in the rolling ones.
func BenchmarkHandle(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		for _, rolling := range []bool{false, true} {
			b.Run(fmt.Sprintf("nodes=%d/rolling=%v", n, rolling), func(b *testing.B) {
				var r *site.Rolling
				if rolling {
					r = &site.Rolling{MaxParallel: n / 2, Lock: "drain", Unlock: "undrain"}
				}
				p, events := wide(b, n, n, 5, n/2, r), 0
				for b.Loop() {
					events += drive(b, p)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
			})
		}
	}
}

// BenchmarkTenThousandNodes plays 10,000 nodes with 20 sessions each, program included; its bounds are 10 s and 1 GB.
func BenchmarkTenThousandNodes(b *testing.B) {
	for b.Loop() {
		start := time.Now()
		if events := drive(b, wide(b, 10000, 1000, 20, 100, nil)); events != 200001 {
			b.Fatalf("%d events", events)
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		b.ReportMetric(float64(memory.Sys)/1e6, "MB")
		if took := time.Since(start); took > 10*time.Second || memory.Sys > 1e9 {
			b.Fatalf("it took %v and %d MB", took, memory.Sys/1e6)
		}
	}
}
