package lifecycle

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"sort"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// pool is a pool prepared for searching: ranges that are cut into blocks, without excluded values. A block, which is
// one value, is a network; a single address is a network of itself. Whole numbers have addresses too, see [ofInteger].
type pool struct {
	definition catalog.Pool
	parts      []part
	excluded   ranges
}

// part is a range of a pool.
type part struct {
	span
	block  int // prefix length of a block
	length int // of the network that the part is
}

// ofInteger returns the address of a whole number: those of the network 100::/64, which is for traffic to be discarded
// (RFC 6666), so that no pool of addresses has them. The order is that of the numbers.
func ofInteger(v int64) netip.Addr {
	return netip.AddrFrom16([16]byte(binary.BigEndian.AppendUint64([]byte{1, 7: 0}, uint64(v)^1<<63)))
}

func integer(a netip.Addr) int64 { return int64(binary.BigEndian.Uint64(a.AsSlice()[8:]) ^ 1<<63) }

// newPool prepares a pool of a resolved entity. It returns the errors that catalog.Resolve reports.
func newPool(definition catalog.Pool) (*pool, error) {
	p := &pool{definition: definition}
	switch {
	case definition.Integer != nil:
		i := definition.Integer
		reserved, err := i.Reserved()
		if err != nil {
			return nil, err
		}
		var excluded []span
		for _, r := range reserved {
			excluded = append(excluded, span{ofInteger(r[0]), ofInteger(r[1])})
		}
		if i.From > i.To {
			return nil, fmt.Errorf("it goes from %d to %d", i.From, i.To)
		}
		p.excluded = union(excluded)
		p.parts = []part{{span: span{ofInteger(i.From), ofInteger(i.To)}, block: 128}}
		return p, nil
	case definition.Address != nil:
		return p.networks(definition.Address.Networks, definition.Address.Reserved, -1)
	case definition.Prefix != nil:
		return p.networks(definition.Prefix.Networks, definition.Prefix.Reserved, definition.Prefix.Length)
	}
	return nil, errors.New("it has no values")
}

// networks adds a part for each network; length is the prefix length of the values, -1 for addresses.
func (p *pool) networks(texts []string, reserved func() ([][2]netip.Addr, error), length int) (*pool,
	error) {
	ranges, err := reserved()
	if err != nil {
		return nil, err
	}
	var excluded []span
	for _, r := range ranges {
		excluded = append(excluded, span{r[0], r[1]})
	}
	p.excluded = union(excluded)
	networks, err := catalog.Networks(texts)
	if err != nil {
		return nil, err
	}
	for _, n := range networks {
		block := n.Addr().BitLen()
		if length >= 0 {
			if block = length; length > n.Addr().BitLen() || length < n.Bits() {
				return nil, fmt.Errorf("a length of %d does not fit %s", length, n)
			}
		}
		p.parts = append(p.parts, part{spanOf(n), block, n.Bits()})
	}
	return p, nil
}

// read returns the block of a value. It returns false for a value of another kind, whatever the bounds of the pool.
func (p *pool) read(value any) (netip.Prefix, bool) {
	if p.definition.Integer != nil {
		v, ok := value.(int64)
		return netip.PrefixFrom(ofInteger(v), 128), ok
	}
	text, _ := value.(string)
	n, err := netip.ParsePrefix(text)
	if err != nil {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			return netip.Prefix{}, false
		}
		n = netip.PrefixFrom(a, a.BitLen())
	}
	if p.definition.Address != nil {
		return netip.PrefixFrom(n.Addr(), n.Addr().BitLen()), true
	}
	return n.Masked(), true
}

// write returns the value of a block.
func (p *pool) write(within part, b netip.Prefix, withLength bool) any {
	switch {
	case p.definition.Integer != nil:
		return integer(b.Addr())
	case p.definition.Prefix != nil:
		return b.String()
	case withLength:
		return netip.PrefixFrom(b.Addr(), within.length).String()
	}
	return b.Addr().String()
}

// has reports whether a block is one of the pool's.
func (p *pool) has(b netip.Prefix) bool {
	s := spanOf(b)
	_, excluded := p.excluded.overlap(s)
	return slices.ContainsFunc(p.parts, func(x part) bool {
		return x.block == b.Bits() && !s.first.Less(x.first) && !x.last.Less(s.last)
	}) && !excluded
}

// free returns the first free block of a part from a position on.
func (p *pool) free(within part, from netip.Addr, used ranges) (netip.Prefix, bool) {
	for at := from; at.IsValid(); {
		b := netip.PrefixFrom(at, within.block)
		s := spanOf(b)
		if within.last.Less(s.last) {
			break
		}
		hit, taken := used.overlap(s)
		if !taken {
			hit, taken = p.excluded.overlap(s)
		}
		if !taken {
			return b, true
		}
		at = next(hit.last, within.block)
	}
	return netip.Prefix{}, false
}

// next returns the start of the block after the one that an address is in. It is not valid after the last address.
func next(a netip.Addr, block int) netip.Addr { return catalog.Last(netip.PrefixFrom(a, block)).Next() }

// pick returns a free value, and the part that it is in. The seed determines the first position that a derived
// allocation tries.
func (p *pool) pick(seed string, used ranges) (part, netip.Prefix, bool) {
	start := -1
	if p.definition.Pick == catalog.Derived {
		var at netip.Addr
		start, at = p.derive(seed)
		if b, ok := p.free(p.parts[start], at, used); ok {
			return p.parts[start], b, true
		}
	}
	// Search from the derived position to the end, then from the beginning.
	for i := range p.parts {
		x := p.parts[(start+1+i)%len(p.parts)]
		if b, ok := p.free(x, x.first, used); ok {
			return x, b, true
		}
	}
	return part{}, netip.Prefix{}, false
}

// derive returns the position of a seed.
func (p *pool) derive(seed string) (int, netip.Addr) {
	sum := sha256.Sum256([]byte(seed))
	at := new(big.Int).SetBytes(sum[:])
	total := new(big.Int)
	for _, x := range p.parts {
		total.Add(total, x.blocks(x.block))
	}
	at.Mod(at, total)
	i := 0
	for ; at.Cmp(p.parts[i].blocks(p.parts[i].block)) >= 0; i++ {
		at.Sub(at, p.parts[i].blocks(p.parts[i].block))
	}
	x := p.parts[i]
	return i, catalog.Offset(x.first, at.Lsh(at, uint(x.first.BitLen()-x.block)))
}

// size counts the values of the pool, without excluded ones. Networks have more than an int can count.
func (p *pool) size() *big.Int {
	total := new(big.Int)
	for _, x := range p.parts {
		total.Add(total, x.blocks(x.block))
		for at := x.first; at.IsValid() && !x.last.Less(at); { // each block with an excluded number counts once
			hit, ok := p.excluded.overlap(span{at, x.last})
			if !ok {
				break
			}
			if hit.first.Less(at) {
				hit.first = at
			}
			if x.last.Less(hit.last) {
				hit.last = x.last
			}
			total.Sub(total, hit.blocks(x.block))
			at = next(hit.last, x.block)
		}
	}
	return total
}

// span is a range of addresses, including both ends.
type span struct{ first, last netip.Addr }

func spanOf(n netip.Prefix) span { return span{n.Addr(), catalog.Last(n)} }

// blocks counts the blocks of a prefix length that have an address of s.
func (s span) blocks(length int) *big.Int {
	size := uint(s.first.BitLen() - length)
	index := func(a netip.Addr) *big.Int { n := new(big.Int).SetBytes(a.AsSlice()); return n.Rsh(n, size) }
	n := index(s.last)
	return n.Sub(n, index(s.first)).Add(n, big.NewInt(1))
}

// ranges is a set of addresses as sorted ranges with gaps between them. Consecutive values form one range, so a pool
// that is filled in order remains small.
type ranges []span

// union returns the set of all spans.
func union(spans []span) ranges {
	slices.SortFunc(spans, func(a, b span) int { return a.first.Compare(b.first) })
	var out ranges
	for _, s := range spans {
		if n := len(out) - 1; n >= 0 && touches(out[n], s) {
			if out[n].last.Less(s.last) {
				out[n].last = s.last
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// touches reports whether b overlaps a or follows right after it. b must not start before a.
func touches(a, b span) bool { return !a.last.Less(b.first) || a.last.Next() == b.first }

// add puts a span into the set.
func (r *ranges) add(s span) {
	list := *r
	from := sort.Search(len(list), func(i int) bool { return !list[i].first.Less(s.first) })
	if from > 0 && touches(list[from-1], s) {
		from--
		s.first = list[from].first
	}
	to := from
	for to < len(list) && touches(s, list[to]) {
		if s.last.Less(list[to].last) {
			s.last = list[to].last
		}
		to++
	}
	*r = slices.Replace(list, from, to, s)
}

// overlap returns the first range that has an address of s.
func (r ranges) overlap(s span) (span, bool) {
	i := sort.Search(len(r), func(i int) bool { return !r[i].last.Less(s.first) })
	if i == len(r) || s.last.Less(r[i].first) {
		return span{}, false
	}
	return r[i], true
}
