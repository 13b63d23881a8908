package lifecycle

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// PoolUser is a live service with the attribute sets whose values are in use: candidate, active and rollback (lsm.md
// 12). The caller leaves out a set that is about to be replaced; its values become free.
type PoolUser struct {
	Name   string
	Entity *catalog.Entity
	Sets   []map[string]any
}

// PoolUsage knows which services use which values of pools, and allocates values of attributes with the modifier r
// from them (lsm.md 12): whole numbers, addresses and networks. A value is in use while any attribute set of any live
// service has it. The cost depends on how many values are in use, not on the size of the pool. A PoolUsage serves one
// plan and is not safe for concurrent use.
type PoolUsage struct {
	names  []string         // of services by number; numbers start at 1
	number map[string]int32 // of a service by name
	scopes map[string]*scope
	pools  map[*catalog.Pool]*pool
}

// scope is the usage of one pool.
type scope struct {
	used    ranges
	owners  map[netip.Prefix][2]int32 // the first two services that use a block; 0: nobody
	lengths map[int]bool              // the prefix lengths of these blocks
}

// NewPoolUsage records the values in all sets of the services. Values of another kind than their pool's are ignored.
func NewPoolUsage(live []PoolUser) *PoolUsage {
	u := &PoolUsage{names: []string{""}, number: make(map[string]int32, len(live)), scopes: make(map[string]*scope),
		pools: make(map[*catalog.Pool]*pool)}
	blocks := make(map[*scope][]span)
	for _, s := range live {
		who := u.numberOf(s.Name)
		for _, set := range s.Sets {
			u.visit(s.Entity.Structure, path{}, nil, set, func(v value) {
				if b, ok := v.pool.read(v.object[v.attribute.Name]); ok {
					v.scope.add(b, who)
					blocks[v.scope] = append(blocks[v.scope], spanOf(b))
				}
			})
		}
	}
	for s, list := range blocks {
		s.used = union(list)
	}
	return u
}

func (u *PoolUsage) numberOf(service string) int32 {
	who, ok := u.number[service]
	if !ok {
		who = int32(len(u.names))
		u.number[service] = who
		u.names = append(u.names, service)
	}
	return who
}

// pool prepares the pool of an allocation. It returns nil if there is none, or if catalog.Resolve refuses it.
// Definitions with the same name may differ between services while a catalog changes.
func (u *PoolUsage) pool(a *catalog.Allocation) *pool {
	if a == nil || a.Own == nil {
		return nil
	}
	p, ok := u.pools[a.Own]
	if !ok {
		p, _ = newPool(*a.Own) // nil with an error
		u.pools[a.Own] = p
	}
	return p
}

func (u *PoolUsage) scope(pool string) *scope {
	s, ok := u.scopes[pool]
	if !ok {
		s = &scope{owners: make(map[netip.Prefix][2]int32), lengths: make(map[int]bool)}
		u.scopes[pool] = s
	}
	return s
}

// add records that a service uses a block.
func (s *scope) add(b netip.Prefix, who int32) {
	switch o := s.owners[b]; {
	case o[0] == 0:
		s.owners[b] = [2]int32{who, 0}
		s.lengths[b.Bits()] = true
	case o[1] == 0 && o[0] != who:
		s.owners[b] = [2]int32{o[0], who}
	}
}

// conflict returns another service that uses the block, a part of it, or a block around it; 0 if there is none.
func (s *scope) conflict(b netip.Prefix, who int32) int32 {
	var found int32
	look := func(other netip.Prefix) {
		for _, o := range s.owners[other] {
			if o != 0 && o != who && (found == 0 || o < found) {
				found = o
			}
		}
	}
	smaller := false
	for length := range s.lengths {
		smaller = smaller || length > b.Bits()
		if length <= b.Bits() {
			look(netip.PrefixFrom(b.Addr(), length).Masked())
		}
	}
	if smaller { // only while the pool changes
		for other := range s.owners {
			if other.Bits() > b.Bits() && b.Overlaps(other) {
				look(other)
			}
		}
	}
	return found
}

// path is the exact path of a value, and the seed that derived values come from, which has keys in place of indices.
type path struct{ at, seed string }

func (p path) to(name string) path {
	separator := "."
	if p.at == "" {
		separator = "/"
	}
	return path{invalid.PathTo(p.at, name), p.seed + separator + name}
}

// value is a value that slipway allocates.
type value struct {
	path
	attribute catalog.Attribute
	pool      *pool
	scope     *scope
	object    map[string]any // has the value
	prior     map[string]any // the same object before the update; nil for a new one
}

// visit calls do for every allocated attribute of an object and of its children.
func (u *PoolUsage) visit(s catalog.Structure, at path, prior, object map[string]any, do func(value)) {
	for _, a := range s.Attributes {
		if p := u.pool(a.Allocate); p != nil {
			do(value{at.to(a.Name), a, p, u.scope(a.Allocate.Pool), object, prior})
		}
	}
	for _, e := range s.Embedded {
		below := at.to(e.Name)
		switch v := object[e.Name].(type) {
		case map[string]any:
			before, _ := prior[e.Name].(map[string]any)
			u.visit(e.Structure, below, before, v, do)
		case []any:
			old, _ := prior[e.Name].([]any)
			same := slices.Repeat([]int{-1}, len(v))
			if len(old) > 0 {
				same, _ = MatchChildren(e, old, v)
			}
			for i, element := range v {
				child, ok := element.(map[string]any)
				if !ok {
					continue
				}
				var before map[string]any
				if same[i] >= 0 {
					before, _ = old[same[i]].(map[string]any)
				}
				key := make([]any, len(e.Key))
				for j, name := range e.Key {
					key[j] = child[name]
				}
				u.visit(e.Structure, path{invalid.PathAt(below.at, i), below.seed + resource.Canonical(key)},
					before, child, do)
			}
		}
	}
}

// Allocate returns the candidate of a service with a value for each allocated attribute. The candidate is complete,
// after CarryAllocated and catalog.Structure.Check; prior is the attributes before the update, nil for a new
// service. Neither is changed. A value is allocated again if an attribute in the `per` of its allocation differs from
// prior.
//
// Allocate keeps values that the candidate has and checks them first: a value that another service has (pool_conflict)
// or that the pool no longer has (out_of_pool) is an error that names service and pool, and is never replaced. So is a
// pool without a free value (pool_exhausted). Values that could be allocated are returned also with errors (lsm.md 12,
// V069) and are in use from then on.
func (u *PoolUsage) Allocate(service string, e *catalog.Entity, prior, candidate map[string]any) (map[string]any,
	[]invalid.Error) {
	a := &allocation{usage: u, service: service, who: u.numberOf(service), own: make(map[ownValue]string)}
	out, _ := resource.Clone(candidate).(map[string]any)
	var missing []value
	u.visit(e.Structure, path{seed: service}, prior, out, func(v value) {
		if !a.keep(v) {
			missing = append(missing, v)
		}
	})
	for _, v := range missing {
		a.choose(v)
	}
	return out, a.errs
}

// allocation is the allocation for one service.
type allocation struct {
	usage   *PoolUsage
	service string
	who     int32
	own     map[ownValue]string // paths of the service's own values
	errs    []invalid.Error
}

type ownValue struct {
	pool  string
	block netip.Prefix
}

func (a *allocation) report(v value, code invalid.Code, format string, args ...any) {
	a.errs = append(a.errs, invalid.Error{Attribute: v.at, Code: code, Message: fmt.Sprintf(format, args...)})
}

// keep checks an existing value. It returns false if a value must be allocated.
func (a *allocation) keep(v value) bool {
	existing := v.object[v.attribute.Name]
	if existing == nil || v.outdated(existing) {
		return false
	}
	shown, name := "has a value", v.attribute.Allocate.Pool
	if !v.attribute.Sensitive {
		shown = fmt.Sprintf("is %v", existing)
	}
	b, ok := v.pool.read(existing)
	if !ok || !v.pool.has(b) {
		a.report(v, catalog.OutOfPool,
			"%s for the service %q, which the pool %q does not have any more; a value is never changed in silence: widen the pool, or replace the service",
			shown, a.service, name)
	} else if other := v.scope.conflict(b, a.who); other != 0 {
		a.report(v, catalog.PoolConflict,
			"%s for the service %q, and the service %q has it too; the pool %q gives a value once: replace one of the services",
			shown, a.service, a.usage.names[other], name)
	} else if first, twice := a.own[ownValue{name, b}]; twice {
		a.report(v, catalog.PoolConflict, "%s, as %s is; the pool %q gives a value once: replace one of them", shown,
			first, name)
	} else {
		a.use(v, b)
	}
	return true
}

// outdated reports whether a carried value was allocated for other values of its `per` attributes.
func (v value) outdated(existing any) bool {
	if v.prior == nil || resource.Canonical(v.prior[v.attribute.Name]) != resource.Canonical(existing) {
		return false
	}
	return slices.ContainsFunc(v.attribute.Allocate.Per, func(name string) bool {
		return resource.Canonical(v.prior[name]) != resource.Canonical(v.object[name])
	})
}

// use records a block as used by the service.
func (a *allocation) use(v value, b netip.Prefix) {
	a.own[ownValue{v.attribute.Allocate.Pool, b}] = v.at
	v.scope.add(b, a.who)
	v.scope.used.add(spanOf(b))
}

// choose allocates a value.
func (a *allocation) choose(v value) {
	delete(v.object, v.attribute.Name)
	if v.attribute.HasDefault {
		v.object[v.attribute.Name] = v.attribute.Default // applies if the value is missing
	}
	within, b, ok := v.pool.pick(v.seed, v.scope.used)
	if !ok {
		a.report(v, catalog.PoolExhausted,
			"the pool %q is exhausted: it has %[2]s values, and all %[2]s are in use; widen it, or delete services (what a service had before its last update stays in use for a rollback)",
			v.attribute.Allocate.Pool, v.pool.size())
		return
	}
	v.object[v.attribute.Name] = v.pool.write(within, b, v.attribute.Type.Interface())
	a.use(v, b)
}
