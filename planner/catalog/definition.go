package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// definitionLimit bounds a definition, in bytes.
const definitionLimit = 8 << 20

// Definition returns a resolved entity as canonical JSON: equal entities give equal bytes on every machine. Terraform's
// state keeps entities in this form; [ParseDefinition] parses it. It fails only on values that JSON cannot encode,
// which no document has.
func (e Entity) Definition() (string, error) {
	text, err := resource.CompactJSON(e)
	if err != nil {
		return "", fmt.Errorf("entity %q: %w", e.Name, err)
	}
	return text, nil
}

// decode parses a definition in JSON. what names the definition, hint says what to write; with errors it returns nil.
func decode[T any](m *errs, text, what, hint string) *T {
	if len(text) > definitionLimit {
		m.add("", BadValue, "%s has %d bytes; %d is the most", what, len(text), definitionLimit)
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	var out *T
	err := decoder.Decode(&out)
	if err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after its end")
		} else if out == nil {
			err = errors.New("it is null")
		}
	}
	if err != nil {
		m.add("", BadValue, "is not %s (%s); %s", what, err, hint)
		return nil
	}
	resource.PlainNumbersIn(out)
	return out
}

// Digest returns the SHA-256 of the definition in hexadecimal. Its error is that of [Entity.Definition].
func (e Entity) Digest() (string, error) {
	text, err := e.Definition()
	if err != nil {
		return "", err
	}
	return resource.SHA256(text), nil
}

// ParseDefinition parses the result of [Entity.Definition] and checks it like a user's definition, because the text may
// come from anywhere. It does not check what lies outside the entity, such as the entities of relations. On errors it
// returns no entity.
func ParseDefinition(text string) (*Entity, []invalid.Error) {
	var m errs
	e := decode[Entity](&m, text, "the definition of an entity", "give the value of an entity of a catalog, as it is")
	if e != nil {
		m.resolved(e)
	}
	if len(m) > 0 {
		return nil, m
	}
	return e, nil
}

// resolved checks an entity that is given as resolved.
func (m *errs) resolved(e *Entity) {
	m.name("name", e.Name, title)
	if e.size() > maxElements {
		m.add("", BadValue, "has more than %d attributes with all that it embeds", maxElements)
		return
	}
	m.resolvedStructure("", e.Structure, 0)
	if len(*m) > 0 {
		return
	}
	m.structure("", e.Structure, e.Structure, true)
	// Other entities are unknown here; their names are accepted.
	known := make(map[string]*resolution)
	for _, r := range e.Relations {
		known[r.Entity] = nil
	}
	if e.Owner != nil {
		known[e.Owner.Entity] = nil
	}
	m.entity(*e, &resolver{entities: known})
	m.tasks(*e, 0)
}

func (m *errs) resolvedStructure(path string, s Structure, depth int) {
	if depth > maxDepth {
		m.add(path, BadValue, "is more than %d levels deep", maxDepth)
		return
	}
	for _, a := range s.Attributes {
		at := invalid.PathTo(path, "attributes."+a.Name)
		if _, ok := kindNames[a.Type.Kind]; !ok {
			m.add(at+".type.kind", UnknownType, "%s", resource.NoSuch("kind", string(a.Type.Kind), Kinds()))
			continue
		}
		if a.Modifier == "" {
			m.add(at+".modifier", BadValue, "is needed")
		}
		m.validateRules(at+".type.rules", a.Type.Rules, a.Type.Kind, a.Type.List)
		if a.Allocate != nil {
			if a.Allocate.Own == nil || a.Allocate.Pool == "" {
				m.add(at+".allocate", BadValue, "is without its pool and the name of it")
				continue
			}
			m.pool(at+".allocate.own", *a.Allocate.Own)
		}
		if a.HasDefault {
			_, wrong := a.Type.check(at+".default", a.Default, a.Sensitive)
			*m = append(*m, wrong...)
		}
	}
	for _, e := range s.Embedded {
		m.resolvedStructure(invalid.PathTo(path, "embedded."+e.Name), e.Structure, depth+1)
	}
}
