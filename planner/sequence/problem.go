package sequence

import (
	"fmt"
	"strings"
)

// Code classifies a problem; the names are those of the conformance vectors.
type Code string

// The codes of problems.
const (
	Cyclic         Code = "cyclic"          // tasks that wait for each other
	TaskValidation Code = "task_validation" // a task or requirement that is not allowed
	NonUniqueTask  Code = "non_unique_task" // two tasks for one resource of a node
	EmptyPlan      Code = "empty_plan"      // nothing to do
	View           Code = "view"            // the order of clusters or nodes
	NodeLock       Code = "node_lock"       // not exactly one pair of lock and unlock
)

// Problem is one reason why there is no schedule, or one warning that comes with it.
type Problem struct {
	Code    Code
	Tasks   []string // ids of the tasks it is about; those of a cycle in cycle order
	Message string   // names them too
}

func (p Problem) Error() string { return p.Message }

// Problems are all problems of one check.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Message
	}
	return strings.Join(lines, "\n")
}

func (ps *Problems) add(code Code, tasks []string, format string, args ...any) {
	*ps = append(*ps, Problem{code, tasks, fmt.Sprintf(format, args...)})
}

func cyclic(ids []string) Problem {
	quoted := make([]string, 0, len(ids)+1)
	for _, id := range append(ids[:len(ids):len(ids)], ids[0]) {
		quoted = append(quoted, fmt.Sprintf("%q", id))
	}
	return Problem{Cyclic, ids, fmt.Sprintf("tasks wait for each other: %s; remove one of these requirements", strings.Join(quoted, " requires "))}
}
