package refine

import (
	"encoding/json"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Memo caches the refined services of one site as the last plan had them, so that a later plan refines only those whose
// inputs changed (lsm.md 15). The zero Memo is empty. It is not safe for concurrent use.
type Memo struct {
	Refined int // services that were refined, over all plans: those that the memo could not give

	kept map[string]service // by name
}

// inputs returns everything that a service of an entity is refined from, except its placement, as text. It is empty
// when the inputs cannot be encoded; refining then reports why.
func inputs(s site.Site, given site.Service) string {
	digest, err := given.Entity.Digest()
	if err != nil {
		return ""
	}
	text, err := json.Marshal([]any{s.Name, given.Name, digest, given.Complete, given.Attributes, s.Values[given.Name]})
	if err != nil {
		return ""
	}
	return string(text)
}

// instantiate returns a cached service, or refines it. A nil memo caches nothing.
func (m *Memo) instantiate(s site.Site, given site.Service, schemas Schemas) service {
	if m == nil {
		return instantiate(s, given, schemas)
	}
	from := inputs(s, given)
	if k, ok := m.kept[given.Name]; ok && from != "" && k.inputs == from {
		return k
	}
	m.Refined++
	made := instantiate(s, given, schemas)
	made.inputs = from
	if m.kept == nil {
		m.kept = make(map[string]service)
	}
	m.kept[given.Name] = made
	return made
}

// forget removes the services that the site no longer has.
func (m *Memo) forget(s site.Site) {
	if m == nil {
		return
	}
	there := make(map[string]bool, len(s.Services))
	for _, service := range s.Services {
		there[service.Name] = true
	}
	for name := range m.kept {
		if !there[name] {
			delete(m.kept, name)
		}
	}
}
