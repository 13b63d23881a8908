package plugin

import "container/heap"

// queue gives back the lowest of its numbers first.
type queue []int

func (q *queue) push(n int) { heap.Push((*numbers)(q), n) }

func (q *queue) pop() int {
	lowest := (*q)[0]
	heap.Pop((*numbers)(q))
	return lowest
}

// numbers is what package heap wants of a queue.
type numbers []int

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }

// Push adds a number, of which alone it is given.
func (n *numbers) Push(x any) {
	if number, ok := x.(int); ok {
		*n = append(*n, number)
	}
}

// Pop takes the last number away.
func (n *numbers) Pop() any {
	last := (*n)[len(*n)-1]
	*n = (*n)[:len(*n)-1]
	return last
}
