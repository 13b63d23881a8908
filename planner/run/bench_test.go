package run

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// wide returns the program of groups of equal size whose nodes all have the same number of sessions.
func wide(b testing.TB, nodes, size, sessions, parallelism int, rolling *site.Rolling) Program {
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

// drive plays a program in which everything succeeds, and returns the number of events. each, if any, sees the machine
// after every event.
func drive(b testing.TB, p Program, each func(*Machine)) int {
	b.Helper()
	m := New(p)
	var running []Command
	var at time.Time
	commands := m.Handle(Event{Kind: Begin}, at)
	for events := 1; ; events++ {
		if each != nil {
			each(m)
		}
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

// BenchmarkHandle shows what an event costs as sites grow from 1,000 to 100,000 sessions, in processor time of the
// machine, its program not included.
func BenchmarkHandle(b *testing.B) {
	rolling := func(r site.Rolling) *site.Rolling { r.Lock, r.Unlock = "drain", "undrain"; return &r }
	for _, shape := range []struct {
		name        string
		size        func(nodes int) int // of a group
		parallelism int
		rolling     *site.Rolling
	}{
		{"one group", func(nodes int) int { return nodes }, 100, nil},
		{"groups of 20", func(int) int { return 20 }, 100, nil},
		{"batches", func(nodes int) int { return nodes }, 100, rolling(site.Rolling{MaxParallel: 100,
			Batches:     []string{"1", "10%", "20%", "30%", "40%", "50%", "60%", "70%", "80%", "90%"},
			HealthCheck: &site.HealthCheck{Command: "works"}, Soak: time.Hour})},
		{"rolling locks", func(nodes int) int { return nodes }, 1000, rolling(site.Rolling{MaxParallel: 1000})},
	} {
		for _, sessions := range []int{1000, 10000, 100000} {
			b.Run(fmt.Sprintf("%s/sessions=%d", shape.name, sessions), func(b *testing.B) {
				nodes, events := sessions/5, 0
				p := wide(b, nodes, shape.size(nodes), 5, shape.parallelism, shape.rolling)
				runtime.GC()
				start := processorTime(b)
				for b.Loop() {
					events += drive(b, p, nil)
				}
				b.ReportMetric(float64((processorTime(b)-start).Nanoseconds())/float64(events), "cpu-ns/event")
			})
		}
	}
}

// processorTime returns what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkTenThousandNodes plays 10,000 nodes with 20 sessions each, program included; its bounds are 10 s and 1 GB.
func BenchmarkTenThousandNodes(b *testing.B) {
	for b.Loop() {
		start := time.Now()
		if events := drive(b, wide(b, 10000, 1000, 20, 100, nil), nil); events != 200001 {
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
