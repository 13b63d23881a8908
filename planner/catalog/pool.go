package catalog

import (
	"cmp"
	"fmt"
	"math/big"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Allocation makes slipway choose the value of an attribute with the modifier r when a service is planned (lsm.md 12).
// No two services get the same value, in any of their attribute sets, from one pool.
type Allocation struct {
	// Pool is the name of a pool of the catalog, empty for a pool of its own. In a resolved entity it distinguishes pools
	// apart: that of a pool of its own is the entity and the path of the attribute, so that all descendants share it.
	Pool string `json:"pool,omitempty"`
	Own  *Pool  `json:"own,omitempty" key:"-"` // the pool of its own; in a resolved entity the pool, always
	// Per are attributes or relations beside this one: when one of them changes in an update, a new value is chosen
	// (lsm.md 3).
	Per []string `json:"per,omitempty"`
}

// Pool is what values are chosen from. Exactly one of Integer, Address and Prefix is set.
type Pool struct {
	Name        string       `json:"name,omitempty" key:"-"` // of a pool of the catalog
	Description string       `json:"description,omitempty"`
	Integer     *IntegerPool `json:"integer,omitempty"`
	Address     *AddressPool `json:"address,omitempty"`
	Prefix      *PrefixPool  `json:"prefix,omitempty"`
	Pick        Pick         `json:"pick,omitempty"`
}

// Pick is how a free value is chosen.
type Pick string

// The ways to choose.
const (
	First Pick = "first" // the first free value, the default (lsm.md 18, 12)
	// Derived is the value that the names of the service and of its children, and the path of the attribute, lead to,
	// or the next free one after it: it depends on other services only where two meet.
	Derived Pick = "derived"
)

// IntegerPool has whole numbers; both bounds are in it.
type IntegerPool struct {
	From     int64    `json:"from" key:",required"`
	To       int64    `json:"to" key:",required"`
	Excluded []string `json:"excluded,omitempty"` // `7` or `10-19`
}

// AddressPool has the addresses of networks, in their order. An attribute whose type is an address with its prefix gets
// the length of the network beside the address.
type AddressPool struct {
	Networks []string `json:"networks" key:",required"` // without host bits: `10.0.0.0/24`, `fd00::/64`
	Excluded []string `json:"excluded,omitempty"`       // `10.0.0.1`, `10.0.0.10-10.0.0.19` or `10.0.0.128/25`
	// Whole keeps the first and the last address of an IPv4 network, and the first of an IPv6 network, in the pool.
	// They are not: those of networks that have more than two addresses are for the network itself, for all of it, and
	// for any router.
	Whole bool `json:"whole,omitempty"`
}

// PrefixPool has the networks of one length inside others, in their order.
type PrefixPool struct {
	Networks []string `json:"networks" key:",required"`
	Length   int      `json:"length" key:",required"` // of the prefixes, in bits
	Excluded []string `json:"excluded,omitempty"`     // as for addresses; a prefix that holds one of them is not given
}

const (
	mostNetworks = 1000
	mostExcluded = 10_000
)

var integerRange = regexp.MustCompile(`^(-?[0-9]+)(?:-(-?[0-9]+))?$`)

// Reserved returns the numbers that are excluded, as first and last of each range. The error is nil in a resolved
// entity.
func (p IntegerPool) Reserved() ([][2]int64, error) {
	var out [][2]int64
	for _, text := range p.Excluded {
		parts := integerRange.FindStringSubmatch(text)
		if parts == nil {
			return nil, fmt.Errorf("%q is neither a number nor a range such as 10-19", text)
		}
		first, err := strconv.ParseInt(parts[1], 10, 64)
		last := first
		if err == nil && parts[2] != "" {
			last, err = strconv.ParseInt(parts[2], 10, 64)
		}
		if err != nil || last < first {
			return nil, fmt.Errorf("%q is no range: it must go from a number to a larger one, and fit 64 bits", text)
		}
		out = append(out, [2]int64{first, last})
	}
	return out, nil
}

// Reserved returns the addresses that are excluded, as first and last of each range, those at the edges of networks
// included. The error is nil in a resolved entity.
func (p AddressPool) Reserved() ([][2]netip.Addr, error) {
	out, err := reserved(p.Excluded)
	if err != nil || p.Whole {
		return out, err
	}
	networks, err := Networks(p.Networks)
	for _, n := range networks {
		if n.Addr().BitLen()-n.Bits() < 2 {
			continue
		}
		out = append(out, [2]netip.Addr{n.Addr(), n.Addr()})
		if n.Addr().Is4() {
			out = append(out, [2]netip.Addr{Last(n), Last(n)})
		}
	}
	return out, err
}

// Reserved returns the addresses that are excluded, as first and last of each range. The error is nil in a resolved
// entity.
func (p PrefixPool) Reserved() ([][2]netip.Addr, error) { return reserved(p.Excluded) }

func reserved(excluded []string) ([][2]netip.Addr, error) {
	var out [][2]netip.Addr
	for _, text := range excluded {
		if n, err := netip.ParsePrefix(text); err == nil {
			out = append(out, [2]netip.Addr{n.Masked().Addr(), Last(n)})
			continue
		}
		from, to, isRange := strings.Cut(text, "-")
		first, err := netip.ParseAddr(strings.TrimSpace(from))
		last := first
		if err == nil && isRange {
			last, err = netip.ParseAddr(strings.TrimSpace(to))
		}
		if err != nil || first.Zone() != "" || last.Zone() != "" {
			return nil, fmt.Errorf("%q is neither an address, nor a network, nor a range such as 10.0.0.10-10.0.0.19",
				text)
		}
		if first.BitLen() != last.BitLen() || last.Less(first) {
			return nil, fmt.Errorf("%q is no range: it must go from an address to a larger one of the same family",
				text)
		}
		out = append(out, [2]netip.Addr{first, last})
	}
	return out, nil
}

// Networks reads the networks of a pool. The error is nil in a resolved entity.
func Networks(texts []string) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		n, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is no network; give one such as 10.0.0.0/24", text)
		case n.Addr().Is4In6():
			return nil, fmt.Errorf("%q is an IPv4 network written as IPv6; write it as IPv4", text)
		case n.Masked() != n:
			return nil, fmt.Errorf("%q has host bits; write %s", text, n.Masked())
		}
		out = append(out, n)
	}
	return out, nil
}

// Last returns the last address of a network.
func Last(n netip.Prefix) netip.Addr {
	b := n.Addr().As16()
	from := n.Bits() + 128 - n.Addr().BitLen()
	for i := from / 8; i < 16; i++ {
		b[i] |= 0xff >> max(from-8*i, 0)
	}
	last := netip.AddrFrom16(b)
	if n.Addr().Is4() {
		return last.Unmap()
	}
	return last
}

// Offset returns the n-th address after a. It must be in the same family.
func Offset(a netip.Addr, n *big.Int) netip.Addr {
	sum := new(big.Int).Add(new(big.Int).SetBytes(a.AsSlice()), n)
	out, _ := netip.AddrFromSlice(sum.FillBytes(make([]byte, a.BitLen()/8)))
	return out
}

// Interface reports whether values of the type are addresses with the length of their network.
func (t Type) Interface() bool {
	return slices.ContainsFunc(t.Rules, func(r Rule) bool {
		format, _ := r.Argument.(string)
		return r.Name == "format" && strings.HasSuffix(format, "_interface")
	})
}

// samples returns the kind of the values of a pool, and the outermost ones, as an attribute of the type gets them.
func (p Pool) samples(t Type) (Kind, []any) {
	var out []any
	switch {
	case p.Integer != nil:
		return Int, []any{p.Integer.From, p.Integer.To}
	case p.Address != nil:
		networks, _ := Networks(p.Address.Networks) // their errors are already reported
		for _, n := range networks {
			for _, a := range []netip.Addr{n.Addr(), Last(n)} {
				if t.Interface() {
					out = append(out, netip.PrefixFrom(a, n.Bits()).String())
				} else {
					out = append(out, a.String())
				}
			}
		}
	case p.Prefix != nil:
		networks, _ := Networks(p.Prefix.Networks) // their errors are already reported
		for _, n := range networks {
			for _, a := range []netip.Addr{n.Addr(), Last(n)} {
				out = append(out, netip.PrefixFrom(a, p.Prefix.Length).Masked().String())
			}
		}
	}
	if len(out) == 0 {
		return "", nil
	}
	return String, out
}

// pool reports what is wrong with a pool.
func (m *errs) pool(path string, p Pool) {
	kinds := 0
	for _, given := range []bool{p.Integer != nil, p.Address != nil, p.Prefix != nil} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		m.add(path, BadValue, "has %d of integer, address and prefix; give exactly one", kinds)
	}
	if p.Pick != "" && p.Pick != First && p.Pick != Derived {
		m.add(invalid.PathTo(path, "pick"), BadValue, "%s", resource.NoSuch("way to pick", string(p.Pick), []Pick{First, Derived}))
	}
	if i := p.Integer; i != nil {
		at := invalid.PathTo(path, "integer")
		if i.From > i.To {
			m.add(at+".to", BadValue, "%d is less than from, which is %d", i.To, i.From)
		}
		m.excluded(at, i.Excluded, func() error { _, err := i.Reserved(); return err })
	}
	if a := p.Address; a != nil {
		at := invalid.PathTo(path, "address")
		m.networks(at, a.Networks)
		m.excluded(at, a.Excluded, func() error { _, err := reserved(a.Excluded); return err })
	}
	if x := p.Prefix; x != nil {
		at := invalid.PathTo(path, "prefix")
		m.excluded(at, x.Excluded, func() error { _, err := x.Reserved(); return err })
		for i, n := range m.networks(at, x.Networks) {
			if x.Length < n.Bits() || x.Length > n.Addr().BitLen() {
				m.add(at+".length", BadValue, "%d does not fit %s; give %d to %d", x.Length, x.Networks[i], n.Bits(),
					n.Addr().BitLen())
			}
		}
	}
}

func (m *errs) networks(path string, texts []string) []netip.Prefix {
	at := path + ".networks"
	if len(texts) == 0 || len(texts) > mostNetworks {
		m.add(at, BadValue, "there are %d; give 1 to %d", len(texts), mostNetworks)
		return nil
	}
	var out []netip.Prefix
	for i, text := range texts {
		n, err := Networks([]string{text})
		if err != nil {
			m.add(invalid.PathAt(at, i), BadValue, "%s", err)
			continue
		}
		for j, other := range out {
			if other.Overlaps(n[0]) {
				m.add(invalid.PathAt(at, i), Duplicate, "%s overlaps %s, element %d; leave one out", text, other, j)
				break
			}
		}
		out = append(out, n[0])
	}
	if len(out) < len(texts) {
		return nil
	}
	return out
}

func (m *errs) excluded(path string, texts []string, read func() error) {
	if len(texts) > mostExcluded {
		m.add(path+".excluded", BadValue, "there are %d; %d is the most", len(texts), mostExcluded)
	} else if err := read(); err != nil {
		m.add(path+".excluded", BadValue, "%s", err)
	}
}

// allocation reports what is wrong with how an attribute is allocated. beside is the structure that the attribute is
// in; keyed says whether its children can be distinguished.
func (m *errs) allocation(path string, a Attribute, beside Structure, keyed bool) {
	if a.Allocate == nil {
		return
	}
	at := path + ".allocate"
	if a.Modifier != Allocated {
		m.add(at, BadValue, "is for attributes that slipway sets; this one has the modifier %s: give it r",
			cmp.Or(a.Modifier, Fixed))
	}
	if a.HasDefault && a.Default != nil {
		m.add(path+".default", BadValue, "an attribute that is allocated has no default but null; leave it out")
	}
	for i, name := range a.Allocate.Per {
		names := slices.DeleteFunc(Structure{Attributes: beside.Attributes, Relations: beside.Relations}.Names(),
			func(n string) bool { return n == a.Name })
		other, isAttribute := beside.Attribute(name)
		switch {
		case !slices.Contains(names, name):
			m.add(invalid.PathAt(at+".per", i), UnknownAttribute, "%s",
				resource.NoSuch("attribute or relation beside this one", name, names))
		case isAttribute && other.Modifier == Allocated:
			m.add(invalid.PathAt(at+".per", i), BadValue, "%q is set by slipway itself; name attributes that users set", name)
		}
	}
	p := a.Allocate.Own
	if p == nil {
		return // an unknown pool is already reported
	}
	if p.Pick == Derived && !keyed {
		m.add(at, BadValue,
			"the pool derives values from names, and nothing distinguishes the children of this list: give the embedded entity a key, or pick first")
	}
	kind, samples := p.samples(a.Type)
	switch {
	case a.Type.Kind == "" || kind == "": // an unknown type, or a pool of no kind, is already reported
	case a.Type.List:
		m.add(at, BadValue, "gives one value, and %s is a list; leave [] out", a.Type.Name)
	case kind == Int && !slices.Contains(numeric, a.Type.Kind), kind == String && a.Type.Kind != String:
		m.add(at, BadValue, "gives values of the kind %s, and the type is %s", kind, a.Type.Name)
	default:
		for _, sample := range samples {
			if _, wrong := a.Type.check(at, sample, false); len(wrong) > 0 {
				m.add(at, BadValue, "does not fit the type %s: %s", a.Type.Name, wrong[0].Message)
				break
			}
		}
	}
}

// definePools checks the pools of a catalog.
func (r *resolver) definePools(pools []Pool) {
	r.pools = make(map[string]Pool, len(pools))
	for _, p := range pools {
		var m errs
		_, again := r.pools[p.Name]
		if again {
			m.add("", Duplicate, "there is another pool of this name; give each a name of its own, or leave one out")
		} else {
			m.name("", p.Name, identifier)
			m.pool("", p)
			r.pools[p.Name] = p
			r.poolNames = append(r.poolNames, p.Name)
		}
		for _, wrong := range m {
			r.errs = append(r.errs, inObject("pool", p.Name, again, wrong))
		}
	}
}

// allocationOf gives an allocation of an attribute of the entity that is being resolved its pool.
func (r *resolver) allocationOf(path, attribute string, a *Allocation, m *errs) *Allocation {
	if a == nil {
		return nil
	}
	out := *a
	at := invalid.PathTo(path, "attributes."+attribute+".allocate")
	switch {
	case a.Pool != "" && a.Own != nil:
		m.add(at, BadValue, "has a pool of its own and names %q; give one of them", a.Pool)
	case a.Own != nil:
		m.pool(at, *a.Own)
		name := r.path[len(r.path)-1]
		for i, step := range strings.Split(path, ".") {
			if i%2 == 1 { // embedded.files.embedded.parts
				name += "." + step
			}
		}
		out.Pool = name + "." + attribute
	case a.Pool == "":
		m.add(at, BadValue, "is without a pool; name one under pool, or give integer, address or prefix")
	default:
		p, ok := r.pools[a.Pool]
		if !ok {
			m.add(at+".pool", UnknownPool, "%s", resource.NoSuch("pool", a.Pool, r.poolNames))
			return &out
		}
		out.Own = &p
	}
	return &out
}
