// Package allocation allocates values of attributes with the modifier r from pools (lsm.md 12): whole numbers,
// addresses and networks. A value is in use while any attribute set of any live service has it. The cost depends on how
// many values are in use, not on the size of the pool. The package is pure.
package allocation

import (
	"fmt"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// Request requests the values of one service.
type Request struct {
	Service Service // its sets were given to NewUsage, or do not count
	// Prior is the attributes before the update, nil for a new service. A value is allocated again if an attribute in
	// the `per` of its allocation differs from Prior.
	Prior map[string]any
	// Candidate is the complete attributes of the service, after lifecycle.CarryAllocated and catalog.Structure.Check.
	// It is not changed.
	Candidate map[string]any
}

// Allocated is a value that was allocated.
type Allocated struct {
	Path      string // of the attribute, without numbers: `files.uid`
	At        string // its exact path in the candidate: `files[2].uid`
	Pool      string
	Value     any
	Sensitive bool // the value must not be shown
}

// Allocate returns the candidate with a value for each allocated attribute, and the newly allocated values, in the
// order of the definition. It keeps values that the candidate has and checks them first: a value that another service
// has (pool_conflict) or that the pool no longer has (out_of_pool) is an error that names service and pool, and is
// never replaced. So is a pool without a free value (pool_exhausted).
//
// Values that could be allocated are returned also with errors (lsm.md 12, V069) and are in use from then on.
func (b *Usage) Allocate(q Request) (map[string]any, []Allocated, []invalid.Error) {
	r := &run{book: b, service: q.Service, who: b.number(q.Service), mine: make(map[claim]string)}
	out := copied(q.Candidate)
	r.collect(q.Service.Entity.Structure, place{seed: q.Service.Name}, q.Prior, out)
	var open []slot
	for _, s := range r.slots {
		if !r.keep(s) {
			open = append(open, s)
		}
	}
	for _, s := range open {
		r.choose(s)
	}
	return out, r.given, r.errs
}

// run is the allocation for one service.
type run struct {
	book    *Usage
	service Service
	who     int32
	slots   []slot
	mine    map[claim]string // paths of the service's own values
	given   []Allocated
	errs    []invalid.Error
}

type claim struct {
	pool  string
	block block
}

// slot is a value that the service needs.
type slot struct {
	place
	attribute catalog.Attribute
	pool      *pool
	scope     *scope
	object    map[string]any // has the value
	prior     map[string]any // the same object before the update; nil for a new one
}

// place is the path of a value; seed has keys in place of indices.
type place struct{ path, at, seed string }

func (p place) to(name string) place {
	if p.path == "" {
		return place{name, name, p.seed + "/" + name}
	}
	return place{p.path + "." + name, p.at + "." + name, p.seed + "." + name}
}

func (r *run) collect(s catalog.Structure, at place, prior, object map[string]any) {
	for _, a := range s.Attributes {
		if p := r.book.pool(a.Allocate); p != nil {
			r.slots = append(r.slots, slot{at.to(a.Name), a, p, r.book.scope(a.Allocate.Pool), object, prior})
		}
	}
	for _, e := range s.Embedded {
		below := at.to(e.Name)
		switch v := object[e.Name].(type) {
		case map[string]any:
			before, _ := prior[e.Name].(map[string]any)
			r.collect(e.Structure, below, before, v)
		case []any:
			old, _ := prior[e.Name].([]any)
			same, _ := lifecycle.MatchChildren(e, old, v)
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
				r.collect(e.Structure, place{below.path, below.at + "[" + strconv.Itoa(i) + "]", below.seed +
					catalog.Canonical(key)}, before, child)
			}
		}
	}
}

func (r *run) report(s slot, code invalid.Code, format string, args ...any) {
	r.errs = append(r.errs, invalid.Error{Attribute: s.at, Code: code,
		Message: fmt.Sprintf(format, args...)})
}

// keep checks an existing value. It returns false if a value must be allocated.
func (r *run) keep(s slot) bool {
	value := s.object[s.attribute.Name]
	if value == nil || s.outdated(value) {
		return false
	}
	shown, name := "has a value", s.attribute.Allocate.Pool
	if !s.attribute.Sensitive {
		shown = fmt.Sprintf("is %v", value)
	}
	at, ok := s.pool.read(value)
	if !ok || !s.pool.has(at) {
		r.report(s, catalog.OutOfPool,
			"%s for the service %q, which the pool %q does not have any more; a value is never changed in silence: widen the pool, or replace the service",
			shown, r.service.Name, name)
		return true
	}
	if other, found := s.scope.conflict(at, r.who); found {
		r.report(s, catalog.PoolConflict,
			"%s for the service %q, and the service %q has it too; the pool %q gives a value once: replace one of the services",
			shown, r.service.Name, r.book.names[other], name)
		return true
	}
	if first, twice := r.mine[claim{name, at}]; twice {
		r.report(s, catalog.PoolConflict, "%s, as %s is; the pool %q gives a value once: replace one of them", shown,
			first, name)
		return true
	}
	r.take(s, at)
	return true
}

// outdated reports whether a carried value was allocated for other values of its `per` attributes.
func (s slot) outdated(value any) bool {
	if s.prior == nil || catalog.Canonical(s.prior[s.attribute.Name]) != catalog.Canonical(value) {
		return false
	}
	for _, name := range s.attribute.Allocate.Per {
		if catalog.Canonical(s.prior[name]) != catalog.Canonical(s.object[name]) {
			return true
		}
	}
	return false
}

func (r *run) take(s slot, at block) {
	r.mine[claim{s.attribute.Allocate.Pool, at}] = s.at
	s.scope.add(at, r.who)
	s.scope.used[at.family].add(at.span())
}

func (r *run) choose(s slot) {
	delete(s.object, s.attribute.Name)
	if s.attribute.HasDefault {
		s.object[s.attribute.Name] = s.attribute.Default // applies if the value is missing
	}
	l, at, ok := s.pool.pick(s.seed, &s.scope.used)
	if !ok {
		r.report(s, catalog.PoolExhausted, "%s", &Exhausted{Pool: s.attribute.Allocate.Pool,
			Size: s.pool.size().String()})
		return
	}
	value := s.pool.write(l, at, s.attribute.Type.Interface())
	s.object[s.attribute.Name] = value
	r.take(s, at)
	r.given = append(r.given, Allocated{Path: s.path, At: s.at, Pool: s.attribute.Allocate.Pool, Value: value,
		Sensitive: s.attribute.Sensitive})
}

// Exhausted is the error of a pool without a free value.
type Exhausted struct {
	Pool string
	Size string // number of values in decimal; networks have more than an int can hold
}

// Error names the pool, its size and the remedy.
func (e *Exhausted) Error() string {
	return fmt.Sprintf(
		"the pool %q is exhausted: it has %[2]s values, and all %[2]s are in use; widen it, or delete services (what a service had before its last update stays in use for a rollback)",
		e.Pool, e.Size)
}

// copied copies objects and lists to any depth.
func copied(tree map[string]any) map[string]any {
	out := make(map[string]any, len(tree))
	for k, v := range tree {
		out[k] = copyOf(v)
	}
	return out
}

func copyOf(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return copied(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copyOf(e)
		}
		return out
	}
	return value
}
