package lifecycle_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/document"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// object is a set of attributes.
type object = map[string]any

func limit(n int) *int { return &n }

// attribute is an attribute with the type and modifier given; one that may be null has null for a default.
func attribute(name, typ string, m catalog.Modifier) catalog.Attribute {
	return catalog.Attribute{Name: name, Type: catalog.Type{Name: typ}, Modifier: m,
		HasDefault: strings.HasSuffix(typ, "?")}
}

// plain is an entity with a name, a size, a note and a number that slipway allocates.
func plain(name, lifecycle string) catalog.Entity {
	return catalog.Entity{Name: name, Lifecycle: lifecycle, Identity: "name",
		Structure: catalog.Structure{Attributes: []catalog.Attribute{
			attribute("name", "string", catalog.Fixed), attribute("size", "int", catalog.Changing), attribute("note",
				"string?", catalog.Changing), attribute("vni", "int?", catalog.Allocated),
		}}}
}

// values are the attributes of a plain service.
func values(name string, size int64) object {
	return object{"name": name, "size": size, "note": nil, "vni": nil}
}

// network are entities that relate to each other: ports belong to a router, links end at routers.
func network(lifecycle string) []catalog.Entity {
	name := []catalog.Attribute{attribute("name", "string", catalog.Fixed)}
	return []catalog.Entity{
		{Name: "router", Lifecycle: lifecycle, Structure: catalog.Structure{Attributes: name}},
		{Name: "port", Lifecycle: lifecycle, Owner: &catalog.Owner{Entity: "router", Relation: "router"},
			Structure: catalog.Structure{Attributes: name,
				Relations: []catalog.Relation{{Name: "router", Entity: "router", Modifier: catalog.Fixed, Lower: 1,
					Upper: limit(1)}}}},
		{Name: "link", Lifecycle: lifecycle, Structure: catalog.Structure{Attributes: name,
			Relations: []catalog.Relation{{Name: "ends", Entity: "router", Modifier: catalog.Changing,
				Upper: limit(2)}},
			Embedded: []catalog.Embedded{{Name: "path", Modifier: catalog.Changing, Structure: catalog.Structure{
				Relations: []catalog.Relation{{Name: "via", Entity: "port", Modifier: catalog.Fixed,
					Upper: limit(1)}}}}}}},
	}
}

// rig is an inventory in a test, with what the last call did.
type rig struct {
	*testing.T
	*lifecycle.Inventory
	entities map[string]lifecycle.Entity
	closed   map[string]bool // gates of services that say nothing else
	last     lifecycle.Result
	err      error
}

// newRig makes an inventory of entities whose lifecycles are shipped ones; gates are those of all of them.
func newRig(t *testing.T, gates map[string]bool, entities ...catalog.Entity) *rig {
	t.Helper()
	r := &rig{T: t, Inventory: lifecycle.NewInventory(), entities: make(map[string]lifecycle.Entity), closed: gates}
	for _, e := range resolved(t, entities...) {
		l, ok := document.ShippedLifecycle(e.Lifecycle)
		if !ok {
			t.Fatalf("no lifecycle %q", e.Lifecycle)
		}
		r.AddEntity(e, l)
	}
	return r
}

// AddEntity adds an entity with a lifecycle of its own.
func (r *rig) AddEntity(e *catalog.Entity, l lifecycle.Lifecycle) {
	r.Helper()
	m, errs := lifecycle.New(l)
	if len(errs) > 0 {
		r.Fatal(errs[0])
	}
	r.entities[e.Name] = lifecycle.Entity{Entity: e, Machine: m}
}

// Load loads a service of one of the entities.
func (r *rig) Load(in lifecycle.Instance) error { return r.Inventory.Load(in, r.entities[in.Entity]) }

func resolved(t *testing.T, entities ...catalog.Entity) []*catalog.Entity {
	t.Helper()
	c, errs := catalog.Resolve(catalog.Definitions{Entities: entities})
	if errs != nil {
		t.Fatal(errs)
	}
	out := make([]*catalog.Entity, len(c.Entities))
	for i := range c.Entities {
		out[i] = &c.Entities[i]
	}
	return out
}

// call is a call on a service at the version that it has.
func (r *rig) call(id string) lifecycle.Call {
	in, _ := r.Instance(id)
	return lifecycle.Call{ID: id, Version: in.Version}
}

func (r *rig) did(result lifecycle.Result, err error) *rig { r.last, r.err = result, err; return r }

func (r *rig) create(id, entity string, attributes object) *rig {
	return r.did(r.Create(lifecycle.Create{ID: id, Entity: r.entities[entity], Attributes: attributes,
		Config: r.closed}))
}

func (r *rig) patch(id string, attributes object) *rig {
	in, _ := r.Instance(id)
	next := maps.Clone(in.Base())
	if next == nil {
		next = object{}
	}
	maps.Copy(next, attributes)
	return r.put(id, next)
}

func (r *rig) put(id string, attributes object) *rig {
	return r.did(r.Update(r.call(id), attributes, ""))
}

func (r *rig) delete(id string) *rig { return r.did(r.Delete(r.call(id))) }

func (r *rig) set(id, target string) *rig { return r.did(r.SetState(r.call(id), target)) }

func (r *rig) gates(id string, gates map[string]bool) *rig {
	all := maps.Clone(r.closed)
	if all == nil {
		all = make(map[string]bool)
	}
	maps.Copy(all, gates)
	return r.did(r.SetConfig(r.call(id), all))
}

func (r *rig) validated(id string, ok bool) *rig {
	return r.did(r.Validated(r.call(id), lifecycle.Validation{OK: ok}))
}

func (r *rig) deployed(id string, outcome lifecycle.Outcome) *rig {
	return r.did(r.Deployed(r.call(id), outcome, 0))
}

// up creates a service and brings it to rest, with every validation and deployment a success.
func (r *rig) up(id, entity string, attributes object) *rig {
	r.Helper()
	r.create(id, entity, attributes)
	for range 10 {
		r.ok()
		in, _ := r.Instance(id)
		if in.Pending != nil {
			r.validated(id, true)
		} else if in.State != "up" {
			r.deployed(id, lifecycle.Succeeded)
		}
	}
	return r.at(id, "up")
}

// ok fails the test when the last call was refused.
func (r *rig) ok() *rig {
	r.Helper()
	if r.err != nil {
		r.Fatal(r.err)
	}
	return r
}

// at checks the state, and the version where one is given, after a call that was not refused.
func (r *rig) at(id, state string, version ...int) *rig {
	r.Helper()
	r.ok()
	in, _ := r.Instance(id)
	if in.State != state || len(version) > 0 && in.Version != version[0] {
		r.Fatalf("%s is in %s, version %d; want %s %v", id, in.State, in.Version, state, version)
	}
	return r
}

// sets checks the three sets.
func (r *rig) sets(id string, candidate, active, rollback object) *rig {
	r.Helper()
	in, _ := r.Instance(id)
	if d := cmp.Diff(lifecycle.Sets{Candidate: candidate, Active: active, Rollback: rollback}, in.Sets); d != "" {
		r.Fatalf("sets of %s (-want +got):\n%s", id, d)
	}
	return r
}

// refused checks that the last call was refused, and why.
func (r *rig) refused(kind invalid.Code, path string) *rig {
	r.Helper()
	var errs invalid.Errors
	if !errors.As(r.err, &errs) || errs[0].Code != kind || errs[0].Attribute != path || errs[0].Message == "" {
		r.Fatalf("got %v, want %s %s", r.err, kind, path)
	}
	return r
}

// events checks the events of the last call, without their types' common end.
func (r *rig) events(want ...string) *rig {
	r.Helper()
	var got []string
	for _, e := range r.last.Events {
		mark := ""
		if e.Error {
			mark = "!"
		}
		got = append(got, fmt.Sprintf("%d %s %s%s", e.Version, strings.TrimSuffix(string(e.Type), "_TRANSITION"),
			e.Step, mark))
	}
	if d := cmp.Diff(want, got); d != "" {
		r.Fatalf("events (-want +got):\n%s", d)
	}
	return r
}

// compiles checks the plans that the last call asked for.
func (r *rig) compiles(want ...string) *rig {
	r.Helper()
	var got []string
	for _, e := range r.last.Events {
		if e.Step == lifecycle.Compiling {
			got = append(got, fmt.Sprintf("%s %d", e.Service, e.Version+1))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		r.Fatalf("compiles (-want +got):\n%s", d)
	}
	return r
}
