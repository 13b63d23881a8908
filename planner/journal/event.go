package journal

import "time"

// Kind is what an event tells.
type Kind string

// The kinds of events of a run, in the order in which they appear.
const (
	RunStarted    Kind = "run_started"
	PhaseStarted  Kind = "phase_started"
	TaskStarted   Kind = "task_started"  // recorded before the task begins
	TaskFinished  Kind = "task_finished" // recorded as soon as its outcome is known
	NodeFinished  Kind = "node_finished" // a node reached its last stage of the run
	PhaseFinished Kind = "phase_finished"
	GroupFinished Kind = "group_finished"
	RunFinished   Kind = "run_finished"
	Note          Kind = "note" // something a person should know: a node forgotten, an unlock that failed
)

// TextChanged is the message of a task that changed a text: the output of its event shows how, as a unified diff.
const TextChanged = "content"

// Event is one thing that happened in a run. It holds no secret.
type Event struct {
	Time     time.Time
	Kind     Kind
	Group    string // deployment group
	Phase    int    // number of the phase in the plan, from 1; 0 outside
	Node     string
	Resource string // type[title]
	Service  string // the service that brings the task; empty in what slipway recorded before it knew
	Action   string // task.Action
	Status   string // converge.Status of a task, stage of a node or group, status of a run
	Message  string // bounded: 1 KiB
	Output   string // what the task's commands printed, or see TextChanged; bounded: converge.OutputLimit
	Millis   int64
}
