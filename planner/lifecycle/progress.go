package lifecycle

// TaskState is how far one of a service's tasks has come.
type TaskState string

// The states that count in a result; every other one, such as skipped, unavailable or deploying, is waited for (lsm.md 9).
const (
	TaskDeployed TaskState = "deployed"
	TaskFailed   TaskState = "failed"
)

// Progress counts the tasks of a service. Deployed, Failed and Waiting sum to Total.
type Progress struct {
	Total, Deployed, Failed, Waiting int
}

// Count counts tasks by their states. Tasks that a run did not touch because they were applied before are deployed.
func Count(states []TaskState) Progress {
	p := Progress{Total: len(states)}
	for _, s := range states {
		switch s {
		case TaskDeployed:
			p.Deployed++
		case TaskFailed:
			p.Failed++
		default:
			p.Waiting++
		}
	}
	return p
}

// Outcome is what the tasks came to together: one that failed makes the service fail, else one that is waited for keeps it where it is. A
// service without tasks is deployed.
func (p Progress) Outcome() Outcome {
	switch {
	case p.Failed > 0:
		return Failed
	case p.Waiting > 0:
		return Waiting
	}
	return Succeeded
}
