package strategy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Report says what stage groups and nodes have reached. It may be called at any time, also of a walk that was given up.
type Report struct {
	Groups []GroupReport `json:"groups"` // in processing order
	// all four stages, in the order NOT_STARTED, PREPARED, DEPLOYED, FAILED (airship.md D-11)
	Nodes          []StageReport  `json:"nodes"`
	CriticalFailed bool           `json:"critical_failed"`
	BudgetSpent    bool           `json:"failure_budget_spent,omitempty"`
	Warnings       invalid.Errors `json:"warnings,omitempty"` // results that were ignored
}

// GroupReport is one group's part of a report.
type GroupReport struct {
	Name       string      `json:"name"`
	Stage      Stage       `json:"stage"`
	Critical   bool        `json:"critical"`
	Members    []string    `json:"members"`              // sorted
	Shortfalls []Shortfall `json:"shortfalls,omitempty"` // of the first phase whose criteria were not met
	FailedBy   string      `json:"failed_by,omitempty"`  // the parent whose failure failed this group
	// NotStarted are the nodes that were not worked on any more, or not to the end, because the group could no longer
	// meet its criteria, because one of its batches failed, or because of BudgetSpent or Paused, sorted.
	NotStarted []string `json:"not_started,omitempty"`
	// Restored are the nodes of a batch that failed that have again what they had before the run.
	Restored []string `json:"restored,omitempty"`
	// BudgetSpent says that the failure budget of the deployment, not the criteria, kept them from being started.
	BudgetSpent bool `json:"failure_budget_spent,omitempty"`
	// Paused says that they were left for another run, because the maintenance window of the group is closed.
	Paused bool `json:"paused,omitempty"`
}

// Reasons says why a group failed, or was not finished; nothing for one that was deployed.
func (g GroupReport) Reasons() []string {
	var out, missed []string
	batch := 0
	if g.FailedBy != "" {
		out = append(out, fmt.Sprintf("it depends on %s, which failed", g.FailedBy))
	}
	for _, s := range g.Shortfalls {
		out, missed = append(out, s.String()), append(missed, s.Criterion)
		if s.Batch > 0 {
			batch = s.Batch
		}
	}
	count := func(n int) string {
		if n == 1 {
			return "1 node"
		}
		return fmt.Sprintf("%d nodes", n)
	}
	if n := len(g.Restored); n > 0 {
		out = append(out, count(n)+" put back to what was there before this run")
	}
	if n := len(g.NotStarted); n > 0 {
		why := "started: the group could no longer meet " + strings.Join(missed, " and ")
		switch {
		case g.Paused:
			why = "started: the maintenance window is closed"
		case g.BudgetSpent:
			why = "started: the failure budget of the deployment is spent"
		case batch > 0:
			why = fmt.Sprintf("deployed: batch %d failed", batch)
		}
		out = append(out, fmt.Sprintf("%s not %s", count(n), why))
	}
	return out
}

// StageReport names the nodes in one stage, sorted. Nodes in no group are not reported.
type StageReport struct {
	Stage Stage    `json:"stage"`
	Nodes []string `json:"nodes"`
}

// Report returns the present state of all groups and nodes.
func (m *Machine) Report() Report {
	r := Report{Groups: make([]GroupReport, 0, len(m.groups)), CriticalFailed: m.CriticalFailed(),
		Warnings: slices.Clone(m.warnings)}
	for _, g := range m.groups {
		r.Groups = append(r.Groups, g.report())
	}
	byStage := make(map[Stage][]string, len(stages))
	for node, stage := range m.nodes {
		byStage[stage] = append(byStage[stage], node)
	}
	for _, stage := range stages {
		nodes := append([]string{}, byStage[stage]...)
		slices.Sort(nodes)
		r.Nodes = append(r.Nodes, StageReport{stage, nodes})
	}
	return r
}

// GroupReport returns the present state of a group, empty when there is no such group.
func (m *Machine) GroupReport(name string) GroupReport {
	if g := m.byName[name]; g != nil {
		return g.report()
	}
	return GroupReport{}
}

func (g *group) report() GroupReport {
	return GroupReport{Name: g.Name, Stage: g.stage, Critical: g.Critical, Members: slices.Clone(g.members),
		Shortfalls: slices.Clone(g.shortfalls), FailedBy: g.failedBy}
}

// Group returns a group's part of the report.
func (r Report) Group(name string) (GroupReport, bool) {
	for _, g := range r.Groups {
		if g.Name == name {
			return g, true
		}
	}
	return GroupReport{}, false
}

// In returns the nodes in a stage, sorted.
func (r Report) In(stage Stage) []string {
	for _, s := range r.Nodes {
		if s.Stage == stage {
			return s.Nodes
		}
	}
	return nil
}
