package conformance

import (
	"testing"
)

// litpStages is the table of what replays the vectors of litp.yaml, by the part of the planner that they are about.
var litpStages = map[string]func(t testing.TB, f *file, v *vector){
	"build":          replayBuild,
	"plan":           replayBuild,
	"groups":         replayTaskGroups,
	"topsort":        replayLevels,
	"may_depend":     replayMayDepend,
	"lock_decision":  replayLockDecision,
	"left_locked":    replayLeftLocked,
	"tree":           replayTree,
	"ready":          replayReady,
	"plan_state":     replayPlanState,
	"snapshot":       replaySnapshot,
	"model_requires": replayItemRequires,
	"state":          replayItemState,
	"validate":       replayItemValidate,
}

func replayLITP(t testing.TB, f *file, v *vector) {
	stage := decode[string](t, v.keys["stage"])
	replay, ok := litpStages[stage]
	if !ok {
		t.Fatalf("no code handles vectors of the stage %q", stage)
	}
	replay(t, f, v)
}

// litpInputs fails the test when the vector has parts that no code looks at.
func litpInputs(t testing.TB, v *vector, more ...string) {
	t.Helper()
	v.inputs(t, append([]string{"source", "source_kind", "stage", "quirk", "domain_rule"}, more...)...)
}
