package sequence

import (
	"slices"
)

// addModel enters what the model requires (litp.md 91, 92): a task requires every task whose item lies on or below a path that its own
// item requires, if it may; tasks that take things away the other way round. What a task names wins over the opposite requirement of the
// model.
func (b *builder) addModel(s *scopeBuild) {
	m := &modelOrder{builder: b, s: s, sections: make(map[string]int32), sets: make(map[string]int32), buckets: make(map[string][]int32)}
	m.all = sortedByPath(len(s.works), func(t int32) string { return s.paths[t] })
	for _, t := range m.all {
		node := s.sides[t].Node
		m.buckets[node] = append(m.buckets[node], t)
	}
	groups := make(map[modelKey][]int32)
	var keys []modelKey
	for i := range s.works {
		key := modelKey{m.section(s.paths[i]), s.sides[i], b.unordered(s.works[i])}
		if len(m.required[key.section]) == 0 {
			continue
		}
		if _, ok := groups[key]; !ok {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], int32(i))
	}
	for _, key := range keys {
		required := m.candidates(key)
		switch {
		case len(required) == 0:
		case key.side.Removes:
			m.link(required, groups[key])
		default:
			m.link(groups[key], required)
		}
	}
}

// modelKey is what tasks have in common that the model orders in the same way.
type modelKey struct {
	section   int32 // tasks of one section require the same paths
	side      Side
	unordered string // the resource type, when tasks of this type are not ordered among themselves
}

func (b *builder) unordered(w *Work) string {
	if w.config() && slices.Contains(b.Rules.Unordered, w.Resource.Type) {
		return w.Resource.Type
	}
	return ""
}

type modelOrder struct {
	*builder
	s        *scopeBuild
	sections map[string]int32 // by item path
	sets     map[string]int32 // by the paths of a section, each with a zero byte behind it
	set      []byte           // room for one of these
	required [][]string       // by section
	all      []int32          // all tasks sorted by path
	buckets  map[string][]int32
	named    adjacency // what tasks name; and the same turned round. Made when first needed.
	back     adjacency
	seen     []int32
	search   int32
}

// section numbers the sets of paths that items require.
func (m *modelOrder) section(path string) int32 {
	if n, ok := m.sections[path]; ok {
		return n
	}
	required := m.model.required(path)
	m.set = m.set[:0]
	for _, p := range required {
		m.set = append(append(m.set, p...), 0)
	}
	n, ok := m.sets[string(m.set)]
	if !ok {
		n = int32(len(m.required))
		m.sets[string(m.set)] = n
		m.required = append(m.required, required)
	}
	m.sections[path] = n
	return n
}

// candidates returns the tasks that tasks of a key require.
func (m *modelOrder) candidates(key modelKey) []int32 {
	lists := [][]int32{m.buckets[key.side.Node]}
	if key.side.Management {
		if key.side.Node == "" {
			lists = [][]int32{m.all}
		} else {
			lists = append(lists, m.buckets[""])
		}
	}
	var out []int32
	for _, path := range m.required[key.section] {
		for _, list := range lists {
			from, to := pathRange(path, len(list), func(i int) string { return m.s.paths[list[i]] })
			for _, t := range list[from:to] {
				if MayDepend(key.side, m.s.sides[t]) == "" && (key.unordered == "" || m.unordered(m.s.works[t]) != key.unordered) {
					out = append(out, t)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// link makes each task of from require each of to, except where the latter names the former, directly or through others. Where it
// can it does so through a gate.
func (m *modelOrder) link(from, to []int32) {
	opposed := m.reached(from, to)
	var free []int32
	for _, f := range from {
		if opposed[f] || m.s.tasks[f].Class > 0 {
			m.linkOne(f, to, opposed[f])
			continue
		}
		free = append(free, f)
	}
	if len(free) < 2 || len(to) < 2 {
		for _, f := range free {
			m.linkOne(f, to, false)
		}
		return
	}
	gate := m.s.Gate()
	for _, t := range to {
		m.s.Require(gate, int(t))
	}
	for _, f := range free {
		m.s.Require(int(f), gate)
	}
}

func (m *modelOrder) linkOne(f int32, to []int32, opposed bool) {
	if opposed {
		m.mark(m.back, []int32{f})
	}
	for _, t := range to {
		if !opposed || m.seen[t] != m.search {
			m.require(m.s, int(f), int(t))
		}
	}
}

// reached returns those of from that some of to names, directly or through others.
func (m *modelOrder) reached(from, to []int32) map[int32]bool {
	if m.seen == nil {
		m.named = m.s.explicitGraph()
		m.back = m.named.reversed()
		m.seen = make([]int32, m.named.vertices())
	}
	if len(m.named.to) == 0 {
		return nil
	}
	m.mark(m.named, to)
	var out map[int32]bool
	for _, f := range from {
		if m.seen[f] == m.search {
			if out == nil {
				out = make(map[int32]bool)
			}
			out[f] = true
		}
	}
	return out
}

// mark marks what the starts lead to, the starts themselves only if they are led to.
func (m *modelOrder) mark(graph adjacency, starts []int32) {
	m.search++
	var stack []int32
	follow := func(v int32) {
		for _, t := range graph.from(v) {
			if m.seen[t] != m.search {
				m.seen[t] = m.search
				stack = append(stack, t)
			}
		}
	}
	for _, v := range starts {
		follow(v)
	}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		follow(v)
	}
}
