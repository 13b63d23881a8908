package template

import (
	"math/big"
	"net/netip"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// networkFunction makes a function of a network and of numbers that gives a text.
func networkFunction(work func(p netip.Prefix, args []cty.Value) (string, error), numbers ...string) function.Function {
	return newFunction(cty.String, func(args []cty.Value) (cty.Value, error) {
		p, err := prefix(args[0])
		if err != nil {
			return cty.NilVal, err
		}
		text, err := work(p, args)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(text), nil
	}, append(parameters(cty.String, "prefix"), parameters(cty.Number, numbers...)...)...)
}

var (
	cidrHostFunction = networkFunction(func(p netip.Prefix, args []cty.Value) (string, error) {
		n, accuracy := args[1].AsBigFloat().Int(nil)
		if n == nil || accuracy != big.Exact {
			return "", function.NewArgErrorf(1, "must be a whole number")
		}
		hosts := new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-p.Bits()))
		if n.Sign() < 0 { // from the end of the network
			n = n.Add(n, hosts)
		}
		if n.Sign() < 0 || n.Cmp(hosts) >= 0 {
			return "", function.NewArgErrorf(1, "is no host of the network %s", p)
		}
		return catalog.Offset(p.Addr(), n).String(), nil
	}, "hostnum")

	cidrNetmaskFunction = networkFunction(func(p netip.Prefix, _ []cty.Value) (string, error) {
		if !p.Addr().Is4() {
			return "", function.NewArgErrorf(0, "is an IPv6 network; only IPv4 has netmasks")
		}
		ones := netip.AddrFrom4([4]byte{255, 255, 255, 255})
		return netip.PrefixFrom(ones, p.Bits()).Masked().Addr().String(), nil
	})

	cidrSubnetFunction = networkFunction(func(p netip.Prefix, args []cty.Value) (string, error) {
		bits, err := newBits(1, args[1], p)
		if err != nil {
			return "", err
		}
		n, accuracy := args[2].AsBigFloat().Int(nil)
		if n == nil || accuracy != big.Exact || n.Sign() < 0 || n.BitLen() > bits {
			return "", function.NewArgErrorf(2, "must be a whole number of at most %d bits", bits)
		}
		length := p.Bits() + bits
		n.Lsh(n, uint(p.Addr().BitLen()-length))
		return netip.PrefixFrom(catalog.Offset(p.Addr(), n), length).String(), nil
	}, "newbits", "netnum")
)

var cidrSubnetsFunction = function.New(&function.Spec{
	Params:   []function.Parameter{{Name: "prefix", Type: cty.String}},
	VarParam: &function.Parameter{Name: "newbits", Type: cty.Number},
	Type:     function.StaticReturnType(cty.List(cty.String)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		p, err := prefix(args[0])
		if err != nil {
			return cty.NilVal, err
		}
		next := p.Addr()
		var out []cty.Value
		for i, a := range args[1:] {
			bits, err := newBits(i+1, a, p)
			if err != nil {
				return cty.NilVal, err
			}
			n := netip.PrefixFrom(next, p.Bits()+bits)
			if next.IsValid() && n.Masked().Addr() != next { // a network begins at a multiple of its size
				n = netip.PrefixFrom(catalog.Last(n).Next(), n.Bits())
			}
			if !p.Contains(n.Addr()) {
				return cty.NilVal, function.NewArgErrorf(i+1, "leaves no room in the network %s", p)
			}
			out = append(out, cty.StringVal(n.String()))
			next = catalog.Last(n).Next()
		}
		if out == nil {
			return cty.ListValEmpty(cty.String), nil
		}
		return cty.ListVal(out), nil
	},
})

// prefix reads a network; host bits are dropped.
func prefix(v cty.Value) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(v.AsString())
	if err != nil {
		return p, function.NewArgErrorf(0, "is not a network such as 10.0.0.0/16")
	}
	return p.Masked(), nil
}

func newBits(argument int, v cty.Value, p netip.Prefix) (int, error) {
	n, accuracy := v.AsBigFloat().Int64()
	if room := p.Addr().BitLen() - p.Bits(); accuracy != big.Exact || n < 0 || n > int64(room) {
		return 0, function.NewArgErrorf(argument, "must be a whole number from 0 to %d", room)
	}
	return int(n), nil
}
