package sequence

// addFirst enters the selector requirements (litp.md D2).
func (b *builder) addFirst(s *scopeBuild) {
	for _, rule := range b.Rules.First {
		byNode := make(map[string][]int32) // what comes first, by node of the item
		for i, w := range s.works {
			if it := b.model.item(w.Item); it.Node != "" && !it.Removed && it.isA(rule.Type) {
				byNode[it.Node] = append(byNode[it.Node], int32(i))
			}
		}
		gates := make(map[Side]int)
		for i, w := range s.works {
			it := b.model.item(w.Item)
			if len(byNode[it.Node]) == 0 || !it.isA(rule.Then) || it.isA(rule.Type) || s.sides[i].Removes {
				continue
			}
			gate, ok := gates[s.sides[i]]
			if !ok {
				gate = s.Gate()
				gates[s.sides[i]] = gate
				for _, first := range byNode[it.Node] {
					if MayDepend(s.sides[i], s.sides[first]) == "" {
						s.Require(gate, int(first))
					}
				}
			}
			s.Require(i, gate)
		}
	}
}
