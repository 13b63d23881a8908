package allocation

import (
	"math/big"
	"math/bits"
	"net/netip"
)

// number is a whole number of 128 bits: a position in a family of values.
type number struct{ high, low uint64 }

// family is a kind of values with positions of its own.
type family uint8

const (
	integers family = iota
	ipv4
	ipv6
	families
)

const signBit = 1 << 63

// ofInteger maps whole numbers to positions in their order, negative ones first.
func ofInteger(v int64) number { return number{0, uint64(v) ^ signBit} }

func (n number) integer() int64 { return int64(n.low ^ signBit) }

func ofAddress(a netip.Addr) (family, number) {
	if a.Is4() {
		b := a.As4()
		return ipv4, number{0, uint64(b[0])<<24 | uint64(b[1])<<16 | uint64(b[2])<<8 | uint64(b[3])}
	}
	var n number
	for i, b := range a.As16() {
		if i < 8 {
			n.high = n.high<<8 | uint64(b)
		} else {
			n.low = n.low<<8 | uint64(b)
		}
	}
	return ipv6, n
}

func (n number) address(f family) netip.Addr {
	if f == ipv4 {
		return netip.AddrFrom4([4]byte{byte(n.low >> 24), byte(n.low >> 16), byte(n.low >> 8), byte(n.low)})
	}
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(n.high>>(56-8*i)), byte(n.low>>(56-8*i))
	}
	return netip.AddrFrom16(b)
}

func (n number) less(other number) bool {
	return n.high < other.high || n.high == other.high && n.low < other.low
}

// next is the number after n; false after the largest.
func (n number) next() (number, bool) {
	low, carry := bits.Add64(n.low, 1, 0)
	high, carry := bits.Add64(n.high, 0, carry)
	return number{high, low}, carry == 0
}

// mask has the lowest bits set, of 128 at most.
func mask(size int) number {
	if size >= 64 {
		return number{1<<(size-64) - 1, ^uint64(0)}
	}
	return number{0, 1<<size - 1}
}

// start is the first number of the block of 2^size numbers that n is in, end the last one.
func (n number) start(size int) number {
	m := mask(size)
	return number{n.high &^ m.high, n.low &^ m.low}
}

func (n number) end(size int) number {
	m := mask(size)
	return number{n.high | m.high, n.low | m.low}
}

// big is the number as one without bounds.
func (n number) big() *big.Int {
	out := new(big.Int).SetUint64(n.high)
	return out.Lsh(out, 64).Or(out, new(big.Int).SetUint64(n.low))
}

// ofBig is for numbers of 128 bits at most.
func ofBig(v *big.Int) number {
	low := new(big.Int).And(v, new(big.Int).SetUint64(^uint64(0)))
	return number{new(big.Int).Rsh(v, 64).Uint64(), low.Uint64()}
}

// blocks counts the blocks of 2^size numbers from the one of first to the one of last.
func blocks(first, last number, size int) *big.Int {
	n := last.end(size).big()
	n.Sub(n, first.start(size).big())
	return n.Rsh(n, uint(size)).Add(n, big.NewInt(1))
}
