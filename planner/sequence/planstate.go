package sequence

// PlanState is how far a plan has come (litp.md 110).
type PlanState string

// The states of a plan. Successful, Stopped and Invalid are final.
const (
	PlanReady      PlanState = "initial"
	PlanRunning    PlanState = "running"
	PlanStopping   PlanState = "stopping"
	PlanSuccessful PlanState = "successful"
	PlanFailed     PlanState = "failed"
	PlanStopped    PlanState = "stopped"
	PlanInvalid    PlanState = "invalid"
)

// PlanEvent is what happens to a plan.
type PlanEvent string

// The events of a plan.
const (
	RunPlan        PlanEvent = "run" // from PlanFailed it is a resume
	StopPlan       PlanEvent = "stop"
	EndPlan        PlanEvent = "end"          // the last phase that ran is over
	InvalidatePlan PlanEvent = "mark_invalid" // the model changed
)

type planMove struct {
	from  PlanState
	event PlanEvent
}

// planMoves says where a plan goes: done when all its tasks succeeded, else otherwise.
var planMoves = map[planMove]struct{ otherwise, done PlanState }{
	{PlanReady, RunPlan}:         {PlanRunning, PlanRunning},
	{PlanFailed, RunPlan}:        {PlanRunning, PlanRunning},
	{PlanRunning, StopPlan}:      {PlanStopping, PlanStopping},
	{PlanRunning, EndPlan}:       {PlanFailed, PlanSuccessful},
	{PlanStopping, EndPlan}:      {PlanStopped, PlanSuccessful},
	{PlanReady, InvalidatePlan}:  {PlanInvalid, PlanInvalid},
	{PlanFailed, InvalidatePlan}: {PlanInvalid, PlanInvalid},
}

// Next is the state of a plan after an event; done tells whether all its tasks succeeded, which only matters at its end. It reports false
// when a plan in this state cannot do that.
func (s PlanState) Next(event PlanEvent, done bool) (PlanState, bool) {
	move, ok := planMoves[planMove{s, event}]
	if done {
		return move.done, ok
	}
	return move.otherwise, ok
}
