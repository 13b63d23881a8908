package journal

import "time"

// Kind says what an event reports.
type Kind string

// The kinds of events of a run, in the order in which they appear.
const (
	RunStarted    Kind = "run_started"
	PhaseStarted  Kind = "phase_started"
	TaskStarted   Kind = "task_started"  // recorded before the task starts
	TaskFinished  Kind = "task_finished" // recorded as soon as its outcome is known
	NodeFinished  Kind = "node_finished" // a node reached its last stage of the run
	PhaseFinished Kind = "phase_finished"
	GroupFinished Kind = "group_finished"
	RunFinished   Kind = "run_finished"
	Note          Kind = "note" // something a person should know: a forgotten node, a failed unlock
)

// TextChanged is the message of a task that changed a text. The output of its event is then a unified diff.
const TextChanged = "content"

// Event is one thing that happened in a run. It contains no secret.
type Event struct {
	Time     time.Time `json:"time"`
	Kind     Kind      `json:"kind"`
	Group    string    `json:"group,omitempty"` // deployment group
	Phase    int       `json:"phase,omitempty"` // number of the phase in the plan, from 1; 0 outside
	Node     string    `json:"node,omitempty"`
	Resource string    `json:"resource,omitempty"` // type[title]
	// the service that the task belongs to; empty in journals of schema 1
	Service string `json:"service,omitempty"`
	Action  string `json:"action,omitempty"`  // task.Action
	Status  string `json:"status,omitempty"`  // converge.Status of a task, stage of a node or group, status of a run
	Message string `json:"message,omitempty"` // bounded: 1 KiB
	// of the commands of the task, or a diff (TextChanged); bounded: converge.OutputLimit
	Output string `json:"output,omitempty"`
	Millis int64  `json:"millis,omitempty"`
}
