package converge

import (
	"fmt"
	"slices"
	"strings"
)

// leaveDirectory handles a directory that slipway made and that has names in it. While something of slipway's is in it,
// it is noted and goes later; else it stays, because others keep something in it, which the error says.
func (s *Session) leaveDirectory(dir string, names []string) error {
	if l := s.ledger; l != nil && l.below(dir, key{s.site, s.id}) {
		l.change(record{Left: dir})
		return nil
	}
	slices.Sort(names)
	more := ""
	if rest := len(names) - namesShown; rest > 0 {
		names, more = names[:namesShown], fmt.Sprintf(" and %d more", rest)
	}
	return gone{fmt.Sprintf("%s is not empty, so it stays: others have %s%s in it", dir, strings.Join(names, ", "), more)}
}

// namesShown bounds the names in the message about a directory that stays.
const namesShown = 5
