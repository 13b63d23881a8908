package sequence

// place gives every task the earliest phase that its requirements allow (litp.md 97, 98). It returns false when there
// is a cycle.
//
// Phases are counted in slots. A slot has one phase for each priority class, in order, and then one for the tasks
// without a class. A task is in the first phase of its class that is not before the phase of anything it requires, and
// that is after it when one of the two is a callback. Empty phases are left out.
func (a *phaseLayout) place() bool {
	classes := int32(1)
	for _, t := range a.tasks {
		classes = max(classes, int32(t.Class)+1)
	}
	// latest is twice the last phase of what a vertex requires, plus one when that phase holds a callback it requires.
	latest := make([]int32, len(a.phase))
	for v := range latest {
		latest[v] = -1
	}
	waiting := make([]int32, len(a.phase))
	back := a.requires.Reversed()
	queue := make([]int32, 0, len(a.phase))
	for v := range int32(len(a.phase)) {
		if waiting[v] = int32(len(a.requires.From(v))); waiting[v] == 0 {
			queue = append(queue, v)
		}
	}
	last := int32(0)
	for next := 0; next < len(queue); next++ {
		v := queue[next]
		passes := latest[v]
		if !a.gate(v) {
			t := &a.tasks[v]
			passes = 2 * t.slot(latest[v], classes)
			a.phase[v] = passes / 2
			last = max(last, a.phase[v])
			if t.Callback {
				passes++
			}
		}
		for _, d := range back.From(v) {
			latest[d] = max(latest[d], passes)
			if waiting[d]--; waiting[d] == 0 {
				queue = append(queue, d)
			}
		}
	}
	if len(queue) < len(a.phase) {
		return false
	}
	a.fillPhases(int(last) + 1)
	return true
}

// slot returns the first phase for a task after what it requires; see [phaseLayout.place] for latest.
func (t *Place) slot(latest, classes int32) int32 {
	rank := classes - 1 // of no class
	if t.Class > 0 {
		rank = int32(t.Class) - 1
	}
	if latest < 0 {
		return rank
	}
	phase := latest / 2
	if t.Callback || latest%2 == 1 {
		phase++
	}
	return phase + (rank-phase%classes+classes)%classes
}

// fillPhases fills the phases from the phase of each task, in input order, and drops empty ones.
func (a *phaseLayout) fillPhases(n int) {
	sizes := make([]int32, n)
	for v := range a.tasks {
		sizes[a.phase[v]]++
	}
	number := make([]int32, n)
	for i, size := range sizes {
		if size > 0 {
			number[i] = int32(len(a.phases))
			a.phases = append(a.phases, make([]int32, 0, size))
		}
	}
	for v := range a.tasks {
		p := number[a.phase[v]]
		a.phase[v] = p
		a.phases[p] = append(a.phases[p], int32(v))
	}
	a.raiseGates()
}

// raiseGates gives every gate the last phase of what it requires. Gates require tasks, never gates that come later.
func (a *phaseLayout) raiseGates() {
	for v := len(a.tasks); v < len(a.phase); v++ {
		a.phase[v] = -1
		for _, r := range a.requires.From(int32(v)) {
			a.phase[v] = max(a.phase[v], a.phase[r])
		}
	}
}
