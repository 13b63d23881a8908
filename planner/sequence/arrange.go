package sequence

import "slices"

// arranged gives the phases their last form: without the tasks that need not run and without phases that are empty then
// (litp.md 100), each in the order in which the tasks were handed in.
func (a *arrangement) arranged() [][]int {
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
