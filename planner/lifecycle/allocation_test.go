package lifecycle_test

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

const poolEntities = `
pools:
  ids: {integer: {from: 10, to: 13}}
  nets: {prefix: {networks: [10.0.0.0/29], length: 31}}
entities:
  tunnel:
    attributes:
      name: string
      site: {type: string, modifier: rw+, default: lon}
      id: {type: "int?", modifier: r, default: null, allocate: {pool: ids}}
  port:
    attributes:
      name: string
      id: {type: int, modifier: r, allocate: {pool: ids}}
  rack:
    attributes:
      name: string
      site: {type: string, modifier: rw+, default: lon}
      vlan: {type: int, modifier: r, allocate: {integer: {from: -1, to: 3, excluded: [0, "2-3"]}, per: [site]}}
      gateway: {type: ip_interface, modifier: r, allocate: {address: {networks: [192.0.2.0/30, "fd00::/126"], excluded: [192.0.2.1]}}}
      net: {type: ip_network, modifier: r, allocate: {pool: nets}}
    embedded:
      units:
        modifier: rw+
        key: [slot]
        attributes:
          slot: int
          kind: {type: string, modifier: rw+, default: a}
          id: {type: "int?", modifier: r, default: null, allocate: {integer: {from: 1, to: 9}, per: [kind]}}
          secret: {type: int, modifier: r, sensitive: true, allocate: {integer: {from: 1, to: 3}}}
          address: {type: ipv6_address, modifier: r, allocate: {address: {networks: ["fd00::/8"]}, pick: derived}}
`

func poolEntity(t testing.TB, name string) *catalog.Entity {
	t.Helper()
	c, err := document.ParseCatalog([]document.Source{{Name: "catalog.yaml", Data: []byte(poolEntities)}})
	if err != nil {
		t.Fatal(err)
	}
	e, ok := c.Catalog.Entity(name)
	if !ok {
		t.Fatalf("no entity %q", name)
	}
	// As it comes from Terraform's state.
	text, err := e.Definition()
	if err != nil {
		t.Fatal(err)
	}
	parsed, errs := catalog.ParseDefinition(text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return parsed
}

type set = map[string]any

func service(e *catalog.Entity, name string, sets ...set) lifecycle.PoolUser {
	return lifecycle.PoolUser{Name: name, Entity: e, Sets: sets}
}

// allocate also returns what was allocated, in the order of the definition.
func allocate(u *lifecycle.PoolUsage, e *catalog.Entity, name string, prior, candidate set) (set, []string,
	[]invalid.Error) {
	out, errs := u.Allocate(name, e, prior, candidate)
	return out, given(e.Structure, "", candidate, out), errs
}

func given(s catalog.Structure, at string, before, after set) []string {
	var out []string
	for _, a := range s.Attributes {
		if value := after[a.Name]; a.Allocate != nil && value != nil && value != before[a.Name] {
			out = append(out, fmt.Sprintf("%s%s=%v", at, a.Name, value))
		}
	}
	for _, e := range s.Embedded {
		old, _ := before[e.Name].([]any)
		now, _ := after[e.Name].([]any)
		for i := range now {
			out = append(out, given(e.Structure, fmt.Sprintf("%s%s[%d].", at, e.Name, i), old[i].(set), now[i].(set))...)
		}
	}
	return out
}

func shown(given []string) string { return strings.Join(given, " ") }

func TestSharedPool(t *testing.T) {
	tunnel, port := poolEntity(t, "tunnel"), poolEntity(t, "port")
	book := lifecycle.NewPoolUsage([]lifecycle.PoolUser{
		service(tunnel, "a", nil, set{"id": int64(10)}, set{"id": int64(11)}),
		service(port, "b", set{"id": int64(13)}),
	})
	out, given, errs := allocate(book, tunnel, "c", nil,
		set{"name": "c", "id": nil})
	if shown(given) != "id=12" || len(errs) > 0 || out["id"] != int64(12) {
		t.Fatal(out, given, errs)
	}
	candidate := set{"name": "d"}
	out, given, errs = allocate(book, port, "d", nil,
		candidate)
	if len(errs) != 1 || errs[0].Code != catalog.PoolExhausted || errs[0].Attribute != "id" ||
		len(given) > 0 || len(out) != 1 || len(candidate) != 1 {
		t.Fatal(out, given, errs)
	}
	if want := `the pool "ids" is exhausted: it has 4 values, and all 4 are in use`; !strings.Contains(
		errs[0].Message, want) {
		t.Error(errs[0].Message)
	}
}

func TestKept(t *testing.T) {
	tunnel := poolEntity(t, "tunnel")
	live := []lifecycle.PoolUser{
		service(tunnel, "a", nil, set{"id": int64(10)}),
		service(tunnel, "b", set{"id": int64(11)}, set{"id": int64(10)}),
		service(tunnel, "c", nil, set{"id": int64(12)}),
	}
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"c", int64(12), "12"},
		{"c", int64(13), "13"},
		{"a", int64(10),
			`id pool_conflict is 10 for the service "a", and the service "b" has it too; the pool "ids" gives a value once: replace one of the services`},
		{"c", int64(11),
			`id pool_conflict is 11 for the service "c", and the service "b" has it too; the pool "ids" gives a value once: replace one of the services`},
		{"c", int64(14),
			`id out_of_pool is 14 for the service "c", which the pool "ids" does not have any more; a value is never changed in silence: widen the pool, or replace the service`},
		{"c", "12",
			`id out_of_pool is 12 for the service "c", which the pool "ids" does not have any more; a value is never changed in silence: widen the pool, or replace the service`},
	} {
		out, given, errs := allocate(lifecycle.NewPoolUsage(live), tunnel, c.name, set{"id": c.value},
			set{"name": c.name, "id": c.value})
		got := fmt.Sprint(out["id"])
		if len(errs) == 1 {
			got = fmt.Sprint(errs[0].Attribute, " ", errs[0].Code, " ", errs[0].Message)
		}
		if got != c.want || out["id"] != c.value || len(given) > 0 || len(errs) > 1 {
			t.Errorf("%v:\n got %s\nwant %s", c, got, c.want)
		}
	}
}

func TestRack(t *testing.T) {
	rack := poolEntity(t, "rack")
	book := lifecycle.NewPoolUsage(nil)
	units := []any{set{"slot": int64(1), "kind": "a"}, set{"slot": int64(2), "kind": "a", "id": int64(1)}}
	first, given, errs := allocate(book, rack, "r1", nil,
		set{"name": "r1", "site": "lon", "units": units})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := shown(given)
	if want := "vlan=-1 gateway=192.0.2.2/30 net=10.0.0.0/31 units[0].id=2 units[0].secret=1 units[0].address=fd"; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	if complete, wrong := rack.Check(first); len(wrong) > 0 {
		t.Error(complete, wrong)
	}

	t.Run("once more is the same", func(t *testing.T) {
		again, given, errs := allocate(lifecycle.NewPoolUsage(nil), rack, "r1", nil,
			set{"name": "r1", "site": "lon", "units": units})
		if len(errs) > 0 || shown(given) != got || encode(t, again) != encode(t, first) {
			t.Error(given, errs)
		}
		again, given, errs = allocate(book, rack, "r1", first,
			first)
		if len(errs) > 0 || len(given) > 0 || encode(t, again) != encode(t, first) {
			t.Error(given, errs)
		}
	})
	t.Run("another key attribute", func(t *testing.T) {
		next := maps.Clone(first)
		next["site"] = "ams"
		out, given, errs := allocate(book, rack, "r1", first,
			next)
		if len(errs) > 0 || shown(given) != "vlan=1" || out["vlan"] != int64(1) || next["vlan"] != int64(-1) {
			t.Error(given, errs)
		}
		// The candidate that came of it is kept when the plan is made again from it.
		out, given, errs = allocate(book, rack, "r1", out,
			out)
		if len(errs) > 0 || len(given) > 0 || out["vlan"] != int64(1) {
			t.Error(given, errs)
		}
	})
	t.Run("another key attribute of a child", func(t *testing.T) {
		next := maps.Clone(first)
		maps.Copy(next, set{"units": []any{set{"slot": int64(2), "kind": "b", "id": int64(1), "secret": int64(2)},
			set{"slot": int64(1), "kind": "a", "id": int64(2), "secret": int64(1)}}})
		_, given, errs := allocate(lifecycle.NewPoolUsage([]lifecycle.PoolUser{service(rack, "r1", first)}), rack, "r1", first,
			next)
		if text := shown(given); len(errs) > 0 || !strings.HasPrefix(text, "units[0].id=3 units[0].address=fd") {
			t.Error(text, errs)
		}
	})
	t.Run("what is there before a failure stays", func(t *testing.T) {
		var children []any
		for i := range 5 {
			children = append(children, set{"slot": int64(i), "kind": "a"})
		}
		out, given, errs := allocate(lifecycle.NewPoolUsage(nil), rack, "r2", nil,
			set{"name": "r2", "site": "lon", "units": children})
		if len(errs) != 2 || errs[0].Attribute != "units[3].secret" ||
			len(given) != 3+5+3+5 || out["vlan"] != int64(-1) {
			t.Error(given, errs)
		}
	})
	t.Run("two children with one value", func(t *testing.T) {
		children := []any{set{"slot": int64(1), "id": int64(1)},
			set{"slot": int64(2), "id": int64(1), "secret": int64(9)}}
		_, _, errs := allocate(lifecycle.NewPoolUsage(nil), rack, "r2", nil,
			set{"units": children})
		if len(errs) != 2 || errs[0].Code != catalog.PoolConflict ||
			!strings.Contains(errs[0].Message, "as units[0].id is") ||
			errs[1].Code != catalog.OutOfPool || strings.Contains(errs[1].Message, "9") {
			t.Error(errs)
		}
	})
}

// A value is chosen that overlaps none in use, whatever the length of these was.
func TestOverlap(t *testing.T) {
	rack := poolEntity(t, "rack")
	live := []lifecycle.PoolUser{service(rack, "a", set{"net": "10.0.0.0/30"}),
		service(rack, "b", set{"net": "10.0.0.5/32"})}
	_, given, errs := allocate(lifecycle.NewPoolUsage(live), rack, "c", nil,
		set{"vlan": int64(1), "gateway": "fd00::1/126"})
	if len(errs) > 0 || shown(given) != "net=10.0.0.6/31" {
		t.Error(given, errs)
	}
	for value, rival := range map[string]string{"10.0.0.2/31": "a", "10.0.0.4/31": "b"} {
		_, _, errs = allocate(lifecycle.NewPoolUsage(live), rack, "c", nil,
			set{"vlan": int64(1), "gateway": "fd00::1/126", "net": value})
		if len(errs) != 1 || errs[0].Code != catalog.PoolConflict ||
			!strings.Contains(errs[0].Message, fmt.Sprintf("the service %q has it too", rival)) {
			t.Error(errs)
		}
	}
}

// It does not matter which lengths were in use first.
func TestOverlapOfSmaller(t *testing.T) {
	rack := poolEntity(t, "rack")
	book := lifecycle.NewPoolUsage([]lifecycle.PoolUser{service(rack, "a", set{"net": "10.0.0.0/31"}),
		service(rack, "b", set{"net": "10.0.0.3/32"})})
	_, _, errs := allocate(book, rack, "c", nil,
		set{"vlan": int64(1), "gateway": "fd00::1/126", "net": "10.0.0.2/31"})
	if len(errs) != 1 || !strings.Contains(errs[0].Message, `the service "b" has it too`) {
		t.Error(errs)
	}
}

func TestPick(t *testing.T) {
	integer := func(from, to int64, excluded ...string) catalog.Pool {
		return catalog.Pool{Name: "p", Integer: &catalog.IntegerPool{From: from, To: to, Excluded: excluded}}
	}
	address := func(whole bool, excluded []string, networks ...string) catalog.Pool {
		return catalog.Pool{Name: "p", Address: &catalog.AddressPool{Networks: networks, Excluded: excluded,
			Whole: whole}}
	}
	prefix := func(length int, excluded []string, networks ...string) catalog.Pool {
		return catalog.Pool{Name: "p", Prefix: &catalog.PrefixPool{Networks: networks, Length: length,
			Excluded: excluded}}
	}
	const most, least = 1<<63 - 1, -1 << 63
	for _, c := range []struct {
		name string
		pool catalog.Pool
		used []any
		want string
	}{
		{"first", integer(10, 20), []any{int64(10), int64(11), int64(12)}, "13"},
		{"gap", integer(10, 20), []any{int64(12), int64(10)}, "11"},
		{"both bounds", integer(10, 12), []any{int64(10), int64(11)}, "12"},
		{"none", integer(10, 12), []any{int64(10), int64(11), int64(12)}, "3"},
		{"outside is not in the way", integer(10, 12), []any{int64(9), int64(13), "x", nil, int64(10)}, "11"},
		{"negative", integer(-2, 2), []any{int64(-2), int64(-1), int64(0)}, "1"},
		{"excluded", integer(-5, 5, "-5--1", "0", "1-4"), nil, "5"},
		{"all excluded", integer(1, 3, "0-9"), nil, "0"},
		{"excluded at the edges", integer(1, 9, "0-1", "9-20"),
			[]any{int64(2), int64(3), int64(4), int64(5), int64(6), int64(7), int64(8)}, "7"},
		{"all numbers there are", integer(least, most), []any{int64(least)}, fmt.Sprint(int64(least + 1))},
		{"the last number there is", integer(most-1, most), []any{int64(most - 1)}, fmt.Sprint(int64(most))},
		{"after the last number", integer(most, most), []any{int64(most)}, "1"},
		{"addresses without the edges", address(false, nil, "10.0.0.0/30"), []any{"10.0.0.1"}, "10.0.0.2"},
		{"no more addresses", address(false, nil, "10.0.0.0/30"), []any{"10.0.0.1", "10.0.0.2"}, "2"},
		{"addresses with the edges", address(true, nil, "10.0.0.0/30"), nil, "10.0.0.0"},
		{"a point-to-point network has no edges", address(false, nil, "10.0.0.0/31"), []any{"10.0.0.0"}, "10.0.0.1"},
		{"one address", address(false, nil, "10.0.0.7/32"), nil, "10.0.0.7"},
		{"the next network", address(false, nil, "10.0.0.0/30", "10.9.0.0/24"), []any{"10.0.0.1/30", "10.0.0.2/24"},
			"10.9.0.1"},
		{"reserved addresses", address(false, []string{"10.0.0.1-10.0.0.9", "10.0.0.16/28", "10.0.0.10"},
			"10.0.0.0/24"), []any{"10.0.0.11"}, "10.0.0.12"},
		{"IPv6", address(false, nil, "fd00::/64"), []any{"fd00::1"}, "fd00::2"},
		{"the whole of IPv6", address(true, nil, "::/0"), nil, "::"},
		{"the last of IPv6", address(true, nil, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"),
			[]any{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"}, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"IPv4 and IPv6 do not meet", address(true, nil, "::/96", "0.0.0.0/0"), []any{"0.0.0.0"}, "::"},
		{"the last of IPv4", address(true, nil, "255.255.255.254/31"), []any{"255.255.255.254", "255.255.255.255"},
			"2"},
		{"prefixes", prefix(26, nil, "10.0.0.0/24"), []any{"10.0.0.0/26", "10.0.0.128/26"}, "10.0.0.64/26"},
		{"an excluded address takes its prefix", prefix(26, []string{"10.0.0.1", "10.0.0.3"}, "10.0.0.0/24"), nil,
			"10.0.0.64/26"},
		{"no more prefixes", prefix(25, []string{"10.0.0.1"}, "10.0.0.0/24"), []any{"10.0.0.128/25"}, "1"},
		{"prefixes of IPv6", prefix(64, nil, "fd00::/8"), []any{"fd00::/64", "fd00:0:0:1::/64"}, "fd00:0:0:2::/64"},
		{"a large one in use", prefix(64, nil, "fd00::/8"), []any{"fd00::/9"}, "fd80::/64"},
		{"a prefix as large as the network", prefix(8, nil, "10.0.0.0/8"), nil, "10.0.0.0/8"},
	} {
		got, err := lifecycle.Pick(c.pool, "", c.used)
		var none *lifecycle.Exhausted
		if errors.As(err, &none) {
			got, err = none.Size, nil
		}
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%s: got %v, %v, want %s", c.name, got, err, c.want)
		}
	}
	for _, p := range []catalog.Pool{{}, integer(2, 1), integer(1, 2, "x"), address(false, nil, "10.0.0.1/24"),
		address(false, []string{"x"}, "10.0.0.0/24"), prefix(8, nil, "10.0.0.0/9")} {
		if got, err := lifecycle.Pick(p, "", nil); err == nil {
			t.Errorf("%v: %v", p, got)
		}
	}
}

// A derived value depends on its seed alone, and is the next free one where two meet; all values are found.
func TestDerived(t *testing.T) {
	for _, definition := range []catalog.Pool{
		{Pick: catalog.Derived, Integer: &catalog.IntegerPool{From: 100, To: 149, Excluded: []string{"120-124"}}},
		{Pick: catalog.Derived, Prefix: &catalog.PrefixPool{Networks: []string{"10.0.0.0/28", "10.1.0.0/27"},
			Length: 30}},
		{Pick: catalog.Derived, Address: &catalog.AddressPool{Networks: []string{"10.0.0.0/29", "fd00::/125"}}},
	} {
		var used []any
		seen := make(map[any]bool)
		for {
			value, err := lifecycle.Pick(definition, fmt.Sprint(len(used)), used)
			var none *lifecycle.Exhausted
			if errors.As(err, &none) {
				if none.Size != fmt.Sprint(len(used)) {
					t.Errorf("%d given of %s", len(used), none.Size)
				}
				break
			}
			alone, _ := lifecycle.Pick(definition, fmt.Sprint(len(used)), nil)
			if seen[value] || err != nil || !seen[alone] && alone != value {
				t.Fatal(value, alone, err)
			}
			seen[value] = true
			used = append(used, value)
		}
	}
}

// What is chosen is the smallest number that is free, as a plain search finds it.
func FuzzPick(f *testing.F) {
	f.Add([]byte{1, 2, 3, 9}, uint8(0), uint8(9))
	f.Fuzz(func(t *testing.T, used []byte, from, size uint8) {
		definition := catalog.Pool{Integer: &catalog.IntegerPool{From: int64(from), To: int64(from) + int64(size)}}
		taken := make(map[int64]bool)
		var values []any
		for _, u := range used {
			taken[int64(u)] = true
			values = append(values, int64(u))
		}
		var want any
		for v := definition.Integer.From; v <= definition.Integer.To; v++ {
			if !taken[v] {
				want = v
				break
			}
		}
		if got, _ := lifecycle.Pick(definition, "", values); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func live(e *catalog.Entity, n int, value func(i int) any) []lifecycle.PoolUser {
	out := make([]lifecycle.PoolUser, n)
	for i := range out {
		out[i] = lifecycle.PoolUser{Name: fmt.Sprint(i), Entity: e,
			Sets: []set{nil, {"id": value(i)}, {"id": value(i)}}}
	}
	return out
}

// A hundred thousand values in use: the book, and then a new value from it.
func BenchmarkAllocate(b *testing.B) {
	for _, c := range []struct {
		name string
		kind catalog.Kind
		pool catalog.Pool
		used func(i int) any
	}{
		{"integer", catalog.Int, catalog.Pool{Integer: &catalog.IntegerPool{From: 0, To: 1 << 40}},
			func(i int) any { return int64(i) }},
		{"ipv4", catalog.String, catalog.Pool{Address: &catalog.AddressPool{Networks: []string{"10.0.0.0/8"}}},
			func(i int) any {
				return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}).String()
			}},
		{"ipv6, scattered", catalog.String, catalog.Pool{Prefix: &catalog.PrefixPool{Networks: []string{"fd00::/8"},
			Length: 64}, Pick: catalog.Derived}, func(i int) any {
			return netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, byte(i * 7), byte(i >> 8), byte(i >> 16), 1,
				byte(i)}), 64).String()
		}},
	} {
		e := poolEntity(b, "tunnel")
		e.Attributes[2].Type.Kind = c.kind
		e.Attributes[2].Allocate.Own = &c.pool
		const n = 100_000
		services := live(e, n, c.used)
		b.Run(c.name+"/book", func(b *testing.B) {
			for b.Loop() {
				lifecycle.NewPoolUsage(services)
			}
		})
		b.Run(c.name+"/value", func(b *testing.B) {
			book := lifecycle.NewPoolUsage(services)
			i := n
			for b.Loop() {
				i++
				if _, errs := book.Allocate(fmt.Sprint(i), e, nil, set{"name": "x"}); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}
