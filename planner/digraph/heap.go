package digraph

// heap gives the lowest vertex first.
type heap []int32

func (h *heap) push(v int32) {
	*h = append(*h, v)
	for i := len(*h) - 1; i > 0; {
		parent := (i - 1) / 2
		if (*h)[i] >= (*h)[parent] {
			return
		}
		(*h)[i], (*h)[parent] = (*h)[parent], (*h)[i]
		i = parent
	}
}

// pop takes the lowest vertex of a heap that is not empty.
func (h *heap) pop() int32 {
	items := *h
	top, last := items[0], len(items)-1
	items[0] = items[last]
	items = items[:last]
	*h = items
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if items[child] < items[least] {
				least = child
			}
		}
		if least == i {
			return top
		}
		items[i], items[least] = items[least], items[i]
		i = least
	}
}
