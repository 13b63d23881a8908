package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// definitionLimit bounds a definition, in bytes.
const definitionLimit = 8 << 20

// Definition returns a resolved entity as canonical JSON: equal entities give equal bytes on every machine. Terraform's
// state keeps entities in this form; [ParseDefinition] parses it. It fails only on values that JSON cannot encode,
// which no document has.
func (e Entity) Definition() (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return "", fmt.Errorf("entity %q: %w", e.Name, err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
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
	const hint = "give the value of an entity of a catalog, as it is"
	if len(text) > definitionLimit {
		m.add("", BadValue, "the definition has %d bytes; %d is the most", len(text), definitionLimit)
		return nil, m
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	e := new(Entity)
	err := decoder.Decode(e)
	if err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after its end")
		}
	}
	if err != nil {
		m.add("", BadValue, "is not the definition of an entity (%s); %s", err, hint)
		return nil, m
	}
	e.normalize()
	m.resolved(e)
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
		at := join(path, "attributes."+a.Name)
		if _, ok := kindNames[a.Type.Kind]; !ok {
			m.add(at+".type.kind", UnknownType, "%s", unknown("kind", string(a.Type.Kind), Kinds()))
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
		m.resolvedStructure(join(path, "embedded."+e.Name), e.Structure, depth+1)
	}
}

// normalize converts values that were read from JSON to the types that documents give them.
func (e *Entity) normalize() {
	resource.PlainNumbers(e.Annotations)
	e.Structure.normalize()
	for i := range e.Tasks {
		e.Tasks[i].normalize()
	}
}

func (s *Structure) normalize() {
	for i := range s.Attributes {
		a := &s.Attributes[i]
		a.Default = resource.PlainNumbers(a.Default)
		resource.PlainNumbers(a.Annotations)
		for j := range a.Type.Rules {
			a.Type.Rules[j].Argument = resource.PlainNumbers(a.Type.Rules[j].Argument)
		}
	}
	for i := range s.Embedded {
		resource.PlainNumbers(s.Embedded[i].Annotations)
		s.Embedded[i].normalize()
	}
	for i := range s.Relations {
		resource.PlainNumbers(s.Relations[i].Annotations)
	}
}

func (t *Task) normalize() {
	t.ForEach = resource.PlainNumbers(t.ForEach)
	if t.Config != nil {
		resource.PlainNumbers(t.Config.Parameters)
	}
	if t.Remote != nil {
		resource.PlainNumbers(t.Remote.Parameters)
	}
	if t.Callback != nil {
		resource.PlainNumbers(t.Callback.Parameters)
	}
	for i := range t.Steps {
		t.Steps[i].normalize()
	}
}
