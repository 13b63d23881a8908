package allocation

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"net/netip"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// pool is a pool prepared for searching: lanes of blocks, without excluded values.
type pool struct {
	definition catalog.Pool
	lanes      []lane
	excluded   [families]ranges
}

// lane is a range of one family, cut into blocks of 2^size numbers, each of which is one value.
type lane struct {
	family family
	span   span
	size   int
	length int // of the network that the lane is, in bits
}

// block is one value of a pool: 2^size numbers from start on.
type block struct {
	family family
	size   int
	start  number
}

func (b block) span() span { return span{b.start, b.start.end(b.size)} }

// newPool prepares a pool of a resolved entity. It returns the errors that catalog.Resolve reports.
func newPool(definition catalog.Pool) (*pool, error) {
	p := &pool{definition: definition}
	spans := [families][]span{}
	switch {
	case definition.Integer != nil:
		i := definition.Integer
		reserved, err := i.Reserved()
		if err != nil {
			return nil, err
		}
		for _, r := range reserved {
			spans[integers] = append(spans[integers], span{ofInteger(r[0]), ofInteger(r[1])})
		}
		if i.From > i.To {
			return nil, fmt.Errorf("it goes from %d to %d", i.From, i.To)
		}
		p.lanes = []lane{{family: integers, span: span{ofInteger(i.From), ofInteger(i.To)}}}
	case definition.Address != nil:
		if err := p.networks(&spans, definition.Address.Networks, definition.Address.Reserved, -1); err != nil {
			return nil, err
		}
	case definition.Prefix != nil:
		if err := p.networks(&spans, definition.Prefix.Networks, definition.Prefix.Reserved,
			definition.Prefix.Length); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("it has no values")
	}
	for f, list := range spans {
		p.excluded[f] = of(list)
	}
	return p, nil
}

// networks adds a lane for each network; length is the prefix length of the values, -1 for addresses.
func (p *pool) networks(spans *[families][]span, texts []string, reserved func() ([][2]netip.Addr, error),
	length int) error {
	ranges, err := reserved()
	if err != nil {
		return err
	}
	for _, r := range ranges {
		f, first := ofAddress(r[0])
		_, last := ofAddress(r[1])
		spans[f] = append(spans[f], span{first, last})
	}
	networks, err := catalog.Networks(texts)
	if err != nil {
		return err
	}
	for _, n := range networks {
		f, first := ofAddress(n.Addr())
		_, last := ofAddress(catalog.Last(n))
		size := 0
		if length >= 0 {
			if size = n.Addr().BitLen() - length; size < 0 || length < n.Bits() {
				return fmt.Errorf("a length of %d does not fit %s", length, n)
			}
		}
		p.lanes = append(p.lanes, lane{f, span{first, last}, size, n.Bits()})
	}
	return nil
}

// read returns the block of a value. It returns false for a value of another kind, whatever the bounds of the pool.
func (p *pool) read(value any) (block, bool) {
	if p.definition.Integer != nil {
		v, ok := value.(int64)
		return block{family: integers, start: ofInteger(v)}, ok
	}
	text, _ := value.(string)
	n, err := netip.ParsePrefix(text)
	if err != nil {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return block{}, false
		}
		n = netip.PrefixFrom(a, a.BitLen())
	}
	f, start := ofAddress(n.Addr())
	if p.definition.Address != nil {
		return block{family: f, start: start}, true
	}
	size := n.Addr().BitLen() - n.Bits()
	return block{f, size, start.start(size)}, true
}

// write returns the value of a block of a lane.
func (p *pool) write(l lane, b block, withLength bool) any {
	if l.family == integers {
		return b.start.integer()
	}
	a := b.start.address(l.family)
	switch {
	case p.definition.Prefix != nil:
		return netip.PrefixFrom(a, p.definition.Prefix.Length).String()
	case withLength:
		return netip.PrefixFrom(a, l.length).String()
	}
	return a.String()
}

// has reports whether a block is one of the pool's.
func (p *pool) has(b block) bool {
	for _, l := range p.lanes {
		s := b.span()
		if l.family != b.family || l.size != b.size || s.first.less(l.span.first) || l.span.last.less(s.last) {
			continue
		}
		_, out := p.excluded[b.family].overlap(s)
		return !out
	}
	return false
}

// free returns the first free block of a lane from a position on.
func (p *pool) free(l lane, from number, used *[families]ranges) (block, bool) {
	at := from
	for {
		s := span{at, at.end(l.size)}
		if l.span.last.less(s.last) {
			return block{}, false
		}
		hit, taken := used[l.family].overlap(s)
		if !taken {
			hit, taken = p.excluded[l.family].overlap(s)
		}
		if !taken {
			return block{l.family, l.size, at}, true
		}
		end := hit.last.end(l.size)
		next, ok := end.next()
		if !ok {
			return block{}, false
		}
		at = next
	}
}

// pick returns a free value. The seed determines the first position that a derived allocation tries.
func (p *pool) pick(seed string, used *[families]ranges) (lane, block, bool) {
	start := -1
	if p.definition.Pick == catalog.Derived {
		var at number
		start, at = p.derive(seed)
		if b, ok := p.free(p.lanes[start], at, used); ok {
			return p.lanes[start], b, true
		}
	}
	// Search from the derived position to the end, then from the beginning.
	for i := range p.lanes {
		l := p.lanes[(start+1+i)%len(p.lanes)]
		if b, ok := p.free(l, l.span.first, used); ok {
			return l, b, true
		}
	}
	return lane{}, block{}, false
}

// derive returns the position of a seed.
func (p *pool) derive(seed string) (int, number) {
	sum := sha256.Sum256([]byte(seed))
	at := new(big.Int).SetBytes(sum[:])
	total := new(big.Int)
	for _, l := range p.lanes {
		total.Add(total, blocks(l.span.first, l.span.last, l.size))
	}
	at.Mod(at, total)
	for i, l := range p.lanes {
		n := blocks(l.span.first, l.span.last, l.size)
		if at.Cmp(n) < 0 {
			at.Lsh(at, uint(l.size))
			return i, ofBig(at.Add(at, l.span.first.big()))
		}
		at.Sub(at, n)
	}
	return 0, p.lanes[0].span.first
}

// size counts the values of the pool, without excluded ones.
func (p *pool) size() *big.Int {
	total := new(big.Int)
	for _, l := range p.lanes {
		total.Add(total, blocks(l.span.first, l.span.last, l.size))
		at, open := l.span.first, true
		for open { // each block with an excluded number counts once
			hit, ok := p.excluded[l.family].overlap(span{at, l.span.last})
			if !ok {
				break
			}
			first, last := hit.first, hit.last
			if first.less(at) {
				first = at
			}
			if l.span.last.less(last) {
				last = l.span.last
			}
			total.Sub(total, blocks(first, last, l.size))
			at, open = last.end(l.size).next()
			open = open && !l.span.last.less(at)
		}
	}
	return total
}
