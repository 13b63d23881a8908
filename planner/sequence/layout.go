package sequence

import "slices"

// result returns the phases without the tasks that need not run, and without the phases that this leaves empty (litp.md
// 100). The tasks of a phase are in the order of the input.
func (a *phaseLayout) result() [][]int {
	var out [][]int
	for _, phase := range a.phases {
		slices.Sort(phase)
		var run []int
		for _, v := range phase {
			if !a.tasks[v].Skip {
				run = append(run, int(v))
			}
		}
		if len(run) > 0 {
			out = append(out, run)
		}
	}
	return out
}
