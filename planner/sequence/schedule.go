package sequence

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// Input is everything from which a schedule is made.
type Input struct {
	Model      Model
	Rules      Rules
	Works      []Work                // what was returned, in the order returned
	Ordered    [][]string            // ordered lists: ids of tasks, each of which requires the one before it (litp.md 49)
	Others     []Work                // tasks that nobody returned; those that are required join the plan (litp.md 56)
	Remembered []Work                // config tasks that earlier plans applied, and callbacks that already ran
	Stale      []Work                // versions of tasks that survive only in what remembered ones require: nothing of them is planned (litp.md 126)
	Lost       []Work                // config tasks of earlier plans that were not applied: they say which resources an item left
	Policies   []Policy              // what the plan is asked to do about locks
	LeftLocked []string              // paths of nodes that an earlier plan left locked
	Locks      map[string][]LockPair // by path of the node: what each provider offers
}

// Schedule is the tasks of a plan in phases.
type Schedule struct {
	Phases   []Batch
	Unkept   []Unkept // requirements that the phases do not keep, in the order of the tasks
	Warnings Problems

	model  *modelCache
	scopes []*scopeBuild
	byID   map[string]scopeTask
}

// Batch is one phase.
type Batch struct {
	Group   task.Group // of its tasks
	Cluster string     // path of the cluster whose block the phase stands in; empty for none
	Works   []Work
}

// Unkept is a requirement that holds between no two tasks although the required ones are there (litp.md 58, Q1). Unless the reason is
// [Removal] it is an error for whoever wrote it.
type Unkept struct {
	Task        string      // id of the task that requires
	Requirement Requirement // as written
	Required    string      // id of the task, or of one of the tasks, that it means
	Reason      Reason
}

// Problem is the error, or for [Removal] the warning, that tells of it.
func (u Unkept) Problem() Problem {
	var ps Problems
	ps.add(TaskValidation, []string{u.Task, u.Required}, "task %q requires %s, which is task %q: %s; the requirement has no effect",
		u.Task, u.Requirement, u.Required, u.Reason)
	return ps[0]
}

type scopeTask struct {
	scope *scopeBuild
	index int
}

// After returns the ids of all config tasks that a task requires, directly or not, over callbacks and remembered tasks too, sorted (litp.md
// 96). It is what a node must have applied before.
func (s *Schedule) After(id string) []string {
	at, ok := s.byID[id]
	if !ok {
		return nil
	}
	var out []string
	for _, i := range at.scope.closure().required(at.index) {
		if w := at.scope.works[i]; w.config() {
			out = append(out, w.ID)
		}
	}
	slices.Sort(out)
	return out
}

// Tree tells which phases each phase must wait for, see [Tree].
func (s *Schedule) Tree() [][]int {
	phases := make([]TreePhase, len(s.Phases))
	for i, batch := range s.Phases {
		for j := range batch.Works {
			w := &batch.Works[j]
			cluster := s.model.taskCluster(w)
			if cluster == "" || batch.Group == task.PreCluster {
				phases[i].Common = true
			}
			if cluster != "" && !slices.Contains(phases[i].Clusters, cluster) {
				phases[i].Clusters = append(phases[i].Clusters, cluster)
			}
		}
	}
	dependsOn := make(map[string][]string)
	for _, c := range s.model.clusters {
		for _, other := range s.model.clusters {
			if other.Site == c.Site && slices.Contains(c.DependsOn, pathID(other.Path)) {
				dependsOn[c.Path] = append(dependsOn[c.Path], other.Path)
			}
		}
	}
	return Tree(phases, dependsOn)
}

// Make turns tasks into phases: it checks them, makes the tasks that remove items, decides which nodes are locked, gives every task its
// group and orders each scope (litp.md 86). With problems there is no schedule; all problems of one step come together.
func Make(in Input) (*Schedule, Problems) {
	p := newPipeline(in)
	for _, step := range []func(){
		p.flatten, p.checkResources, p.checkReplaces, p.dropOnRemovedNodes, p.addRemoval, p.decideLocks, p.splitRemote,
		p.group, p.checkRequirements, p.checkPlaces, p.checkLocks,
	} {
		if step(); len(p.problems) > 0 {
			return nil, p.problems
		}
	}
	s, problems := p.build()
	if s != nil && len(s.Phases) == 0 {
		problems.add(EmptyPlan, nil, "no tasks were generated: there is nothing to do")
		return nil, problems
	}
	return s, problems
}

// Build does the part of [Make] that groups and orders tasks, without the checks before it and without tasks of its own: nodes with a
// lock pair are locked where they have work (litp.md 5.2 to 5.6). Without work there are no phases.
func Build(in Input) (*Schedule, Problems) {
	p := newPipeline(in)
	for node := range in.Locks {
		p.locked[node] = true
	}
	for _, step := range []func(){p.flattenUnchecked, p.group, p.checkLocks} {
		if step(); len(p.problems) > 0 {
			return nil, p.problems
		}
	}
	return p.build()
}

// Groups returns the group of each task by its id (litp.md 65, 66, 68).
func Groups(in Input) map[string]task.Group {
	p := newPipeline(in)
	p.works = slices.Clone(in.Works)
	p.group()
	out := make(map[string]task.Group, len(p.works))
	for _, w := range p.works {
		out[w.ID] = w.Group
	}
	return out
}

// pipeline is a schedule in the making.
type pipeline struct {
	Input
	model    *modelCache
	works    []Work
	cleanups []Work
	parts    map[string][]string // ids of the parts of a remote task that was split
	memory   *memory
	locked   map[string]bool // paths of nodes that get a lock window if they have work
	problems Problems
	warnings Problems
}

func newPipeline(in Input) *pipeline {
	return &pipeline{Input: in, model: newModelCache(in.Model, len(in.Works)), parts: make(map[string][]string), locked: make(map[string]bool)}
}
