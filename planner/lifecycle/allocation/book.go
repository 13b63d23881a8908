package allocation

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
)

// Service is a service that lives, with the attribute sets that count: candidate, active and rollback (lsm.md 12). A
// set that is about to be replaced, such as the candidate of an update that is planned again, is left out by the
// caller: what it holds is free then.
type Service struct {
	ID     string
	Name   string // for people
	Entity *catalog.Entity
	Sets   []map[string]any
}

// Book knows which values are in use, by which services. It is made for one plan and is not safe for concurrent use.
type Usage struct {
	names  []string
	index  map[string]int32 // of a service by id
	scopes map[string]*scope
	pools  map[*catalog.Pool]*pool
}

// scope is what is in use of one pool.
type scope struct {
	used   [families]ranges
	owners map[block]owners
	// around has, for each size of blocks in use or asked for, the owners of smaller blocks by the block around them.
	around map[block]owners
	sizes  []int
}

// owners are the first two services that have a block; two are enough to find one that is another.
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

// NewBook writes down what services have in all their sets. Values that are none of their pool's kind are left out.
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

// pool prepares the pool of an allocation; nil when there is none, or one that catalog.Resolve refuses. Definitions of
// one name may differ between services while a catalog changes.
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

// sized makes the scope ready for blocks of a size.
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

// own writes down that a service has a block.
func (s *scope) add(at block, who int32) {
	s.indexSize(at.size)
	addOwner(s.owners, at, who)
	for _, size := range s.sizes {
		if size > at.size {
			addOwner(s.around, block{at.family, size, at.start.start(size)}, who)
		}
	}
}

// rival returns another service that has a block, a part of it, or one around it.
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
