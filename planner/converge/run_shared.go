package converge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// Shared is a thing on the node that has several names, each of which may have a resource of its own.
type Shared struct {
	Thing string            `json:"thing"`
	Sets  map[string]string `json:"sets"` // what the resource wants of it, by parameter, in one form for each value
}

// contradicted returns an error when a job wants something else of a thing than a resource that was applied, or comes
// in the catalog, before it and has another name of it. Otherwise each of them would change what the other one did for
// ever.
func (x *session) contradicted(j *job) error {
	sharer, ok := j.typ.(Sharer)
	if !ok {
		return nil
	}
	is, err := sharer.Shares(x.sys, j.Resource)
	if err != nil || is.Thing == "" {
		return err
	}
	inCatalog, after := map[key]bool{}, false
	for _, other := range x.jobs {
		inCatalog[x.key(other)] = true
		after = after || other == j
		if after || other.Type != j.Type || other.Remove || other.wrong != nil || other.Noop() {
			continue
		}
		shared, err := sharer.Shares(x.sys, other.Resource)
		if err != nil {
			continue // the other one reports it
		}
		if err := is.contradicts(shared, string(j.id), string(other.id)); err != nil {
			return err
		}
	}
	for _, e := range x.ledger.Entries {
		if e.Type != j.Type || inCatalog[e.key()] {
			continue
		}
		if err := is.contradicts(sharer.Shared(x.sys, e.Before), string(j.id), string(e.id)); err != nil {
			return err
		}
	}
	return nil
}

// contradicts returns an error when other wants something else of the same thing. id and otherID name the resources.
func (is Shared) contradicts(other Shared, id, otherID string) error {
	if is.Thing != other.Thing {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(is.Sets)) {
		if should, said := other.Sets[name]; said && should != is.Sets[name] {
			return fmt.Errorf("%s and %s are one file, with two names (hard links), and differ in %s: %s here and %s there; "+
				"give both the same %s, or make them two files", id, otherID, name, is.Sets[name], should, name)
		}
	}
	return nil
}

// Shares returns the attributes that r gives a file with several names. A resource that gives content makes it a file
// of its own when it changes anything.
func (fileType) Shares(s *System, r resource.Resource) (Shared, error) {
	kind, info, err := look(s, schema.FilePath(r))
	p := r.Parameters
	if err != nil || info.Inode == "" || wantedKind(r, kind) != kind || p.Has("content") || p.Has("source") {
		return Shared{}, err
	}
	shared := Shared{info.Inode, map[string]string{}}
	if p.Has("mode") {
		mode, err := wantedMode(p.String("mode"), kind, kind, info)
		if err != nil {
			return Shared{}, err
		}
		shared.Sets["mode"] = fmt.Sprintf("%04o", uint32(mode))
	}
	for name, lookup := range map[string]func(string) (int, bool, error){"owner": s.LookupUser, "group": s.LookupGroup} {
		if !p.Has(name) {
			continue
		}
		shared.Sets[name] = p.String(name)
		if id, known, err := lookup(p.String(name)); err != nil {
			return Shared{}, err
		} else if known {
			shared.Sets[name] = strconv.Itoa(id)
		}
	}
	return shared, nil
}

func (fileType) Shared(s *System, before json.RawMessage) Shared {
	b, err := parseFileBefore(before)
	if err != nil || b.Shared == nil {
		return Shared{}
	}
	if info, err := s.Lstat(b.Path); err != nil || info.Inode != b.Shared.Thing {
		return Shared{}
	}
	return *b.Shared
}

// share notes what Shares says.
func (b *fileBefore) share(t fileType, s *System, r resource.Resource) {
	b.Shared = nil
	if shared, err := t.Shares(s, r); err == nil && shared.Thing != "" { // Apply reports the error
		b.Shared = &shared
	}
}
