// Package simulate computes the result of a run in which some nodes fail, from scripted outcomes. It is pure:
// [strategy.Machine] decides as in a run, and no node is touched.
package simulate

import (
	"fmt"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/strategy"
)

// Phase is one of the two calls that a run makes for a group.
type Phase string

// The phases, in the order of a run.
const (
	Prepare Phase = "prepare"
	Deploy  Phase = "deploy"
)

// Phases returns both, in order.
func Phases() []Phase { return []Phase{Prepare, Deploy} }

// Result is the outcome of one phase on one node.
type Result string

// The results. A node that has not finished when its group's time is up fails; those that have, count (airship.md
// D-14).
const (
	Success Result = "success"
	Failure Result = "failure"
	Timeout Result = "timeout"
)

// Results returns all of them.
func Results() []Result { return []Result{Success, Failure, Timeout} }

// Outcomes are the scripted results: phase -> node -> result. A missing result is a success.
type Outcomes map[Phase]map[string]Result

// Add sets one result; it replaces an earlier one for the same node and phase.
func (o Outcomes) Add(phase Phase, node string, result Result) {
	if o[phase] == nil {
		o[phase] = map[string]Result{}
	}
	o[phase][node] = result
}

// Status is how a run ends.
type Status string

// The statuses, named as those of a run.
const (
	Succeeded Status = "succeeded"
	Degraded  Status = "degraded" // something failed, but no critical group
	Failed    Status = "failed"   // a critical group failed
)

// Cause says why a step did not succeed.
type Cause string

// The causes of a failed step.
const (
	ByCriteria   Cause = "criteria"   // the success criteria were not met
	ByPrepare    Cause = "prepare"    // nothing is deployed of a group that could not be prepared
	ByDependency Cause = "dependency" // a group that this one depends on failed
)

// Step is one phase of one group.
type Step struct {
	Group      string               `json:"group"`
	Phase      Phase                `json:"phase"`
	Succeeded  bool                 `json:"succeeded"`
	Cause      Cause                `json:"cause,omitempty"`
	FailedBy   string               `json:"failed_by,omitempty"` // the group that failed, for the cause dependency
	Nodes      []string             `json:"nodes"`               // those worked on, sorted
	Failed     []string             `json:"failed"`              // those of them that failed, sorted
	TimedOut   []string             `json:"timed_out"`           // those of them that did not finish in time, sorted
	Shortfalls []strategy.Shortfall `json:"shortfalls,omitempty"`
}

// Run is the course of a simulated run.
type Run struct {
	Site   string          `json:"site"`
	Status Status          `json:"status"`
	Steps  []Step          `json:"steps"` // two for each group, in processing order
	Report strategy.Report `json:"report"`
}

// New simulates the first run on a site: every node of a group has changes. Groups that are nil are the default
// strategy. Invalid groups, and an outcome for a node that the site does not have, are a [invalid.Errors] error.
func New(s site.Site, outcomes Outcomes) (Run, error) {
	groups := s.Groups
	if groups == nil {
		groups = strategy.Default()
	}
	if errs := outcomes.validate(s.Nodes); len(errs) > 0 {
		return Run{}, errs
	}
	m, err := strategy.New(groups, s.Nodes, nil)
	if err != nil {
		return Run{}, err
	}
	steps := map[string][]Step{}
	for {
		group, ok := m.Next()
		if !ok {
			break
		}
		step := outcomes.step(group, Prepare, m.StartPrepare(group))
		step.Shortfalls, _ = m.FinishPrepare(group, step.succeeded())
		steps[group] = append(steps[group], step.judged())
		if len(step.Shortfalls) > 0 {
			continue
		}
		step = outcomes.step(group, Deploy, m.StartDeploy(group))
		step.Shortfalls = m.FinishDeploy(group, step.succeeded())
		steps[group] = append(steps[group], step.judged())
	}
	if err := m.Err(); err != nil {
		return Run{}, err
	}
	run := Run{Site: s.Name, Status: Succeeded, Steps: []Step{}, Report: m.Report()}
	for _, g := range run.Report.Groups {
		run.Steps = append(run.Steps, complete(g, steps[g.Name])...)
		if g.Stage == strategy.Failed {
			run.Status = Degraded
		}
	}
	if len(run.Report.In(strategy.Failed)) > 0 {
		run.Status = Degraded
	}
	if run.Report.CriticalFailed {
		run.Status = Failed
	}
	return run, nil
}

// validate reports outcomes for nodes that do not exist.
func (o Outcomes) validate(nodes []site.Node) invalid.Errors {
	var errs invalid.Errors
	known := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		known[n.Name] = true
	}
	for _, phase := range Phases() {
		for node := range o[phase] {
			if !known[node] {
				errs = append(errs, invalid.Error{Object: "node", Name: node, Attribute: string(phase),
					Code:    invalid.UnknownNode,
					Message: "an outcome is given for it, but there is no such node"})
			}
		}
	}
	errs.Sort()
	return errs
}

// step simulates a phase.
func (o Outcomes) step(group string, phase Phase, todo []string) Step {
	s := Step{Group: group, Phase: phase, Nodes: append([]string{}, todo...), Failed: []string{}, TimedOut: []string{}}
	for _, node := range todo {
		switch o[phase][node] {
		case Failure:
			s.Failed = append(s.Failed, node)
		case Timeout:
			s.TimedOut = append(s.TimedOut, node)
		}
	}
	return s
}

// succeeded returns the nodes that did what was asked.
func (s Step) succeeded() []string {
	return slices.DeleteFunc(slices.Clone(s.Nodes), func(node string) bool {
		_, failed := slices.BinarySearch(s.Failed, node)
		_, late := slices.BinarySearch(s.TimedOut, node)
		return failed || late
	})
}

func (s Step) judged() Step {
	if s.Succeeded = len(s.Shortfalls) == 0; !s.Succeeded {
		s.Cause = ByCriteria
	}
	return s
}

// complete adds the steps of a group that were never made.
func complete(g strategy.GroupReport, made []Step) []Step {
	for _, phase := range Phases()[len(made):] {
		step := Step{Group: g.Name, Phase: phase, Cause: ByPrepare, Nodes: []string{}, Failed: []string{},
			TimedOut: []string{}}
		if g.FailedBy != "" {
			step.Cause, step.FailedBy = ByDependency, g.FailedBy
		}
		made = append(made, step)
	}
	return made
}

// Result describes the result of the step in the words of seed 001 ("Example Processing").
func (s Step) Result() string {
	switch {
	case s.Succeeded:
		return "SUCCESS"
	case s.Cause == ByPrepare:
		return "FAILED, due to prepare failure"
	case s.Cause == ByDependency:
		return fmt.Sprintf("FAILED, due to dependency on %s", s.FailedBy)
	}
	return "FAILED"
}

// Finish describes the result of the run in the words of seed 001.
func (r Run) Finish() string {
	switch r.Status {
	case Failed:
		return "failed due to critical group failed"
	case Degraded:
		return "success with some nodes/groups failed"
	}
	return "success"
}
