package lifecycle

// Progress counts the tasks of a service. Deployed, Failed and Waiting sum to Total. Tasks that a run did not touch
// because they were applied before are deployed; those that wait were skipped, or could not be reached (lsm.md 9).
type Progress struct {
	Total, Deployed, Failed, Waiting int
}

// Outcome is what the tasks came to together: one that failed makes the service fail, else one that is waited for keeps
// it where it is. A service without tasks is deployed.
func (p Progress) Outcome() Outcome {
	switch {
	case p.Failed > 0:
		return Failed
	case p.Waiting > 0:
		return Waiting
	}
	return Succeeded
}
