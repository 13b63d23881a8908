package types

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// Shares returns the attributes that r gives a file with several names. A resource that gives content makes it a file
// of its own when it changes anything.
func (fileType) Shares(s *Session, r resource.Resource) (Shared, error) {
	kind, info, err := look(s, schema.FilePath(r))
	p := r.Parameters
	if err != nil || info.Inode == "" || wantedKind(r, kind) != kind || hasContent(r) {
		return Shared{}, err
	}
	shared := Shared{info.Inode, map[string]string{}}
	if p.Has("mode") {
		mode, err := wantedMode(p.String("mode"), kind, system.ChmodBits(info.Mode))
		if err != nil {
			return Shared{}, err
		}
		shared.Sets["mode"] = fmt.Sprintf("%04o", uint32(mode))
	}
	for _, o := range owners(s, r.Type) {
		if !p.Has(o.parameter) {
			continue
		}
		shared.Sets[o.parameter] = p.String(o.parameter)
		if id, known, err := o.lookup(p.String(o.parameter)); err != nil {
			return Shared{}, err
		} else if known {
			shared.Sets[o.parameter] = strconv.Itoa(id)
		}
	}
	return shared, nil
}

func (fileType) Shared(s *Session, before json.RawMessage) Shared {
	b, err := decode[*fileBefore](before)
	if err != nil || b.Shared == nil {
		return Shared{}
	}
	if info, err := s.Lstat(b.Path); err != nil || info.Inode != b.Shared.Thing {
		return Shared{}
	}
	return *b.Shared
}

// share notes what Shares says.
func (b *fileBefore) share(t fileType, s *Session, r resource.Resource) {
	b.Shared = nil
	if shared, err := t.Shares(s, r); err == nil && shared.Thing != "" { // Apply reports the error
		b.Shared = &shared
	}
}
