package conformance

import "testing"

// kinds is the table of all kinds of vectors and what replays them. A vector says its kind itself, or it is that of its list,
// `<file>:<list>`, for example `fuel:ordering`. A mapping on the first level of a file that has a kind here is one vector as a whole.
var kinds = map[string]func(t testing.TB, f *file, v *vector){
	"run":        replayRun,
	"membership": replayMembership,
	"validate":   replayValidate,
	"criteria":   replayCriteria,
	"transition": replayTransition,
	"label":      replayLabel,
	"default":    replayDefault,
	"order":      replayOrder,

	"criteria_count": replayCounts,

	"fuel:stage_strings": replayStageStrings,
	"fuel:ordering":      replayOrdering,
	"fuel:override":      replayOverride,
	"fuel:layers":        replayLayers,
	"fuel:server_layers": replayServerLayers,
	"fuel:graph":         replayGraph,

	"litp:vectors": replayLITP,

	"lsm:vectors":               replayLSM,
	"lsm_lifecycles:lifecycles": replayLifecycles,
}
