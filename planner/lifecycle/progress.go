package lifecycle

// Progress counts the tasks of a service. Deployed, Failed and Waiting sum to Total. Tasks that were applied before
// count as deployed; waiting tasks were skipped, or their node was unreachable (lsm.md 9).
type Progress struct {
	Total, Deployed, Failed, Waiting int
}

// Outcome combines the tasks: any failed task makes it Failed, else any waiting task makes it Waiting. Without tasks it
// is Succeeded.
func (p Progress) Outcome() Outcome {
	switch {
	case p.Failed > 0:
		return Failed
	case p.Waiting > 0:
		return Waiting
	}
	return Succeeded
}
