package sequence

// passThrough lets a requirement that cannot be kept pass its own requirements on: a task requires what it may of all that lies behind
// (litp.md 94). Only tasks that have such a requirement before them are looked at.
func (b *builder) passThrough(s *scopeBuild) {
	dirty := s.dirty()
	if dirty == nil {
		return
	}
	seen := make([]int32, len(s.explicit))
	for i := range s.works {
		if !dirty[i] {
			continue
		}
		mark := int32(i) + 1
		seen[i] = mark
		var stack []int32
		push := func(targets []int32) {
			for _, t := range targets {
				if seen[t] != mark {
					seen[t] = mark
					stack = append(stack, t)
				}
			}
		}
		push(s.lost[i])
		push(s.explicit[i])
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if int(at) >= len(s.works) { // a gate
				push(s.explicit[at])
				continue
			}
			if MayDepend(s.sides[i], s.sides[at]) == "" {
				b.require(s, i, int(at))
				if !dirty[at] || s.sides[at] == s.sides[i] {
					continue // it has the rest
				}
			}
			push(s.lost[at])
			push(s.explicit[at])
		}
	}
}

// dirty marks the tasks that have a requirement which is not kept, or require one that has; nil when there is none.
func (s *scopeBuild) dirty() []bool {
	var dirty []bool
	var queue []int32
	for i, lost := range s.lost {
		if len(lost) > 0 {
			if dirty == nil {
				dirty = make([]bool, len(s.explicit))
			}
			dirty[i] = true
			queue = append(queue, int32(i))
		}
	}
	if dirty == nil {
		return nil
	}
	back := s.explicitGraph().reversed()
	for next := 0; next < len(queue); next++ {
		for _, d := range back.from(queue[next]) {
			if !dirty[d] {
				dirty[d] = true
				queue = append(queue, d)
			}
		}
	}
	return dirty
}

// explicitGraph is what tasks name, whether it is kept or not, with the gates that stand for items.
func (s *scopeBuild) explicitGraph() adjacency {
	count := 0
	for _, lists := range [][][]int32{s.explicit, s.lost} {
		for _, targets := range lists {
			count += len(targets)
		}
	}
	edges := make([]edge, 0, count)
	for _, lists := range [][][]int32{s.explicit, s.lost} {
		for i, targets := range lists {
			for _, t := range targets {
				edges = append(edges, edge{int32(i), t})
			}
		}
	}
	return newAdjacency(len(s.explicit), edges)
}
