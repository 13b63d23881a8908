package refine

import (
	"encoding/json"

	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Memo keeps the services of entities that were refined, so that a later plan refines only those whose inputs changed (lsm.md 15). It holds those
// of one site, as the last plan had them. The zero Memo is empty; it is not safe for concurrent use.
type Memo struct {
	Refined int // services that were refined, over all plans: those that the memo could not give

	kept map[string]kept // by service
}

// kept is a service as it was refined, and what it was refined from.
type kept struct {
	inputs string
	service
	problems site.Problems
}

// inputs are everything that a service of an entity is refined from, as a text. The placement is not among it. It is empty when they have none, which is a
// mistake that refining tells.
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

// instantiate gives a service as it was refined before, or refines it. A nil memo refines always.
func (m *Memo) instantiate(s site.Site, given site.Service, schemas Schemas) (service, site.Problems) {
	if m == nil {
		return instantiate(s, given, schemas)
	}
	from := inputs(s, given)
	if k, ok := m.kept[given.Name]; ok && from != "" && k.inputs == from {
		return k.service, k.problems
	}
	m.Refined++
	made, problems := instantiate(s, given, schemas)
	if m.kept == nil {
		m.kept = make(map[string]kept)
	}
	m.kept[given.Name] = kept{from, made, problems}
	return made, problems
}

// forget drops the services that a site does not have any more.
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
