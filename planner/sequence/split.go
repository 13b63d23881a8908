package sequence

// splitMixed separates callbacks from config tasks (litp.md 99). The callbacks of a mixed phase stay. Its config tasks
// join the next phase if that has only config tasks of the same class and none of its tasks requires one of them.
// Otherwise they get a phase of their own.
func (a *phaseLayout) splitMixed() {
	seen := make([]int32, len(a.phase))
	out := make([][]int32, 0, len(a.phases))
	for p := 0; p < len(a.phases); p++ {
		callbacks, configs := a.splitKinds(a.phases[p])
		if len(callbacks) == 0 || len(configs) == 0 {
			out = append(out, a.phases[p])
			continue
		}
		out = append(out, callbacks)
		if p+1 < len(a.phases) && a.joins(configs, a.phases[p+1]) && !a.reaches(a.phases[p+1], int32(p), seen) {
			a.phases[p+1] = append(a.phases[p+1], configs...)
			continue
		}
		out = append(out, configs)
	}
	a.phases = out
	for p, phase := range out {
		for _, v := range phase {
			a.phase[v] = int32(p)
		}
	}
	a.raiseGates()
}

// splitKinds keeps the order of the tasks.
func (a *phaseLayout) splitKinds(phase []int32) (callbacks, configs []int32) {
	for _, v := range phase {
		if a.tasks[v].Callback {
			callbacks = append(callbacks, v)
		} else {
			configs = append(configs, v)
		}
	}
	return callbacks, configs
}

// joins reports whether config tasks may join a phase: it must have only config tasks of their class. A phase has only
// one class.
func (a *phaseLayout) joins(configs, phase []int32) bool {
	for _, v := range phase {
		if a.tasks[v].Callback || a.tasks[v].Class != a.tasks[configs[0]].Class {
			return false
		}
	}
	return true
}

// reaches reports whether a task of the phase after p requires a config task of p. The path between them is in these
// two phases. Each task is visited once as part of either phase, so all calls together visit each requirement at most
// twice.
func (a *phaseLayout) reaches(behind []int32, p int32, seen []int32) bool {
	mark := p + 1
	stack := make([]int32, 0, len(behind))
	stack = append(stack, behind...)
	for _, v := range behind {
		seen[v] = mark
	}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, r := range a.requires.From(at) {
			if seen[r] == mark || a.phase[r] < p {
				continue
			}
			if !a.gate(r) && a.phase[r] == p && !a.tasks[r].Callback {
				return true
			}
			seen[r] = mark
			stack = append(stack, r)
		}
	}
	return false
}
