package sequence

// heap gives the least vertex first, by rank. Ranks are distinct.
type heap struct {
	rank  []int32 // by vertex; nil ranks a vertex by its number
	items []int32
}

func (h *heap) less(i, j int) bool {
	if h.rank == nil {
		return h.items[i] < h.items[j]
	}
	return h.rank[h.items[i]] < h.rank[h.items[j]]
}

func (h *heap) push(v int32) {
	h.items = append(h.items, v)
	for i := len(h.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

// pop takes the least vertex of a heap that is not empty.
func (h *heap) pop() int32 {
	top, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if h.less(child, least) {
				least = child
			}
		}
		if least == i {
			return top
		}
		h.items[i], h.items[least] = h.items[least], h.items[i]
		i = least
	}
}
