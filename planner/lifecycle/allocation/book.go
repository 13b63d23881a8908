package allocation

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// Service is a live service with the attribute sets whose values are in use: candidate, active and rollback (lsm.md
// 12). The caller leaves out a set that is about to be replaced; its values become free.
type Service struct {
	ID     string
	Name   string // for people
	Entity *catalog.Entity
	Sets   []map[string]any
}

// Usage knows which services use which values. It serves one plan and is not safe for concurrent use.
type Usage struct {
	names  []string
	index  map[string]int32 // of a service by id
	scopes map[string]*scope
	pools  map[*catalog.Pool]*pool
}

// scope is the usage of one pool.
type scope struct {
	used   [families]ranges
	owners map[block]owners
	// around has, for each block size in use or requested, the owners of smaller blocks by the larger block around
	// them.
	around map[block]owners
	sizes  []int
}

// owners are the first two services that use a block; two are enough to find another than a given one.
type owners struct{ first, second int32 }

const nobody = -1

func (o owners) with(who int32) owners {
	switch {
	case o.first == nobody:
		o.first = who
	case o.first != who && o.second == nobody:
		o.second = who
	}
	return o
}

// other returns an owner that is not the given service.
func (o owners) other(who int32) (int32, bool) {
	for _, one := range []int32{o.first, o.second} {
		if one != nobody && one != who {
			return one, true
		}
	}
	return 0, false
}

// NewUsage records the values in all sets of the services. Values of another kind than their pool's are ignored.
func NewUsage(live []Service) *Usage {
	b := &Usage{index: make(map[string]int32, len(live)), scopes: make(map[string]*scope),
		pools: make(map[*catalog.Pool]*pool)}
	spans := make(map[string]*[families][]span)
	for _, s := range live {
		who := b.number(s)
		for _, set := range s.Sets {
			values(s.Entity.Structure, set, func(a catalog.Attribute, value any) {
				p := b.pool(a.Allocate)
				if p == nil {
					return
				}
				found, ok := p.read(value)
				if !ok {
					return
				}
				name := a.Allocate.Pool
				if spans[name] == nil {
					spans[name] = new([families][]span)
				}
				b.scope(name).add(found, who)
				list := &spans[name][found.family]
				*list = append(*list, found.span())
			})
		}
	}
	for name, list := range spans {
		for f := range list {
			b.scopes[name].used[f] = of(list[f])
		}
	}
	return b
}

func (b *Usage) number(s Service) int32 {
	who, ok := b.index[s.ID]
	if !ok {
		who = int32(len(b.names))
		b.index[s.ID] = who
		b.names = append(b.names, s.Name)
	}
	return who
}

func (b *Usage) scope(name string) *scope {
	s, ok := b.scopes[name]
	if !ok {
		s = &scope{owners: make(map[block]owners), around: make(map[block]owners)}
		b.scopes[name] = s
	}
	return s
}

// pool prepares the pool of an allocation. It returns nil if there is none, or if catalog.Resolve refuses it.
// Definitions with the same name may differ between services while a catalog changes.
func (b *Usage) pool(a *catalog.Allocation) *pool {
	if a == nil || a.Own == nil {
		return nil
	}
	p, ok := b.pools[a.Own]
	if !ok {
		p, _ = newPool(*a.Own) // nil with an error
		b.pools[a.Own] = p
	}
	return p
}

// values visits every value that is allocated in a set.
func values(s catalog.Structure, set map[string]any, visit func(catalog.Attribute, any)) {
	if len(set) == 0 {
		return
	}
	for _, a := range s.Attributes {
		if value := set[a.Name]; a.Allocate != nil && value != nil {
			visit(a, value)
		}
	}
	for _, e := range s.Embedded {
		switch v := set[e.Name].(type) {
		case map[string]any:
			values(e.Structure, v, visit)
		case []any:
			for _, element := range v {
				if child, ok := element.(map[string]any); ok {
					values(e.Structure, child, visit)
				}
			}
		}
	}
}

func addOwner(m map[block]owners, at block, who int32) {
	o, ok := m[at]
	if !ok {
		o = owners{nobody, nobody}
	}
	m[at] = o.with(who)
}

// indexSize prepares the scope for blocks of a size.
func (s *scope) indexSize(size int) {
	if slices.Contains(s.sizes, size) {
		return
	}
	s.sizes = append(s.sizes, size)
	for at, o := range s.owners {
		if at.size >= size {
			continue
		}
		outer := block{at.family, size, at.start.start(size)}
		for _, who := range []int32{o.first, o.second} {
			if who != nobody {
				addOwner(s.around, outer, who)
			}
		}
	}
}

// add records that a service uses a block.
func (s *scope) add(at block, who int32) {
	s.indexSize(at.size)
	addOwner(s.owners, at, who)
	for _, size := range s.sizes {
		if size > at.size {
			addOwner(s.around, block{at.family, size, at.start.start(size)}, who)
		}
	}
}

// conflict returns another service that uses the block, a part of it, or a block around it.
func (s *scope) conflict(at block, who int32) (int32, bool) {
	s.indexSize(at.size)
	for _, m := range []map[block]owners{s.owners, s.around} {
		if o, ok := m[at]; ok {
			if other, found := o.other(who); found {
				return other, true
			}
		}
	}
	for _, size := range s.sizes {
		if size <= at.size {
			continue
		}
		if o, ok := s.owners[block{at.family, size, at.start.start(size)}]; ok {
			if other, found := o.other(who); found {
				return other, true
			}
		}
	}
	return 0, false
}
