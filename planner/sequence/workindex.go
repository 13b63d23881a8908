package sequence

import "slices"

// workIndex finds tasks by what requirements say, for checks between groups.
type workIndex struct {
	byID       map[string]*Work
	works      []Work
	byPath     []*Work              // sorted by item path; made when first needed
	last       map[string]*Work     // by item: see lastOn
	byResource map[Resource][]*Work // config tasks, at most two of each group
}

func newWorkIndex(works []Work) *workIndex {
	x := &workIndex{works: works, byID: make(map[string]*Work, len(works)), last: make(map[string]*Work), byResource: make(map[Resource][]*Work)}
	for i := range works {
		w := &works[i]
		x.byID[w.ID] = w
		if !w.config() {
			continue
		}
		same := 0
		for _, other := range x.byResource[w.Resource] {
			if other.Group == w.Group {
				same++
			}
		}
		if same < 2 {
			x.byResource[w.Resource] = append(x.byResource[w.Resource], w)
		}
	}
	return x
}

// parts returns a task, or the parts of one that was split.
func (x *workIndex) parts(id string, parts map[string][]string) []*Work {
	if w := x.byID[id]; w != nil {
		return []*Work{w}
	}
	var out []*Work
	for _, part := range parts[id] {
		if w := x.byID[part]; w != nil {
			out = append(out, w)
		}
	}
	return out
}

// lastOn returns a task of the last group among those on an item and below it; nil for no tasks.
func (x *workIndex) lastOn(item string) *Work {
	if w, ok := x.last[item]; ok {
		return w
	}
	if x.byPath == nil {
		for i := range x.works {
			x.byPath = append(x.byPath, &x.works[i])
		}
		slices.SortStableFunc(x.byPath, func(a, b *Work) int { return comparePaths(a.Item, b.Item) })
	}
	var last *Work
	from, to := pathRange(item, len(x.byPath), func(i int) string { return x.byPath[i].Item })
	for _, w := range x.byPath[from:to] {
		if last == nil || groupPlace[last.Group] < groupPlace[w.Group] {
			last = w
		}
	}
	x.last[item] = last
	return last
}

// of returns config tasks of a resource: all groups that have one are there, each with two if it has more than one.
func (x *workIndex) of(r Resource) []*Work { return x.byResource[r] }
