package conformance

import "testing"

// kinds is the table of all kinds of vectors and what replays them. A vector says its kind itself, or it is that of its list,
// `<file>:<list>`, for example `fuel:ordering`.
var kinds = map[string]func(t *testing.T, f *file, v *vector){
	"run":        replayRun,
	"membership": replayMembership,
	"validate":   replayValidate,
	"criteria":   replayCriteria,
	"transition": replayTransition,
	"label":      replayLabel,
	"default":    replayDefault,
	"order":      replayOrder,
}
