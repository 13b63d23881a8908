package passthrough

import "encoding/json"

// shape is a type as far as encoding a value needs it.
type shape struct {
	kind    shapeKind
	element *shape   // of a list or map
	names   []string // of the attributes of an object, in order
	members []*shape // of a tuple or an object
}

type shapeKind int

const (
	dynamicShape shapeKind = iota
	stringShape
	numberShape
	boolShape
	listShape // or set
	mapShape
	tupleShape
	objectShape
)

var plainShapes = map[string]*shape{"dynamic": {kind: dynamicShape}, "string": {kind: stringShape},
	"number": {kind: numberShape}, "bool": {kind: boolShape}}

// newShape reads a type in its JSON form.
func newShape(typ []byte) (*shape, error) {
	r := shapeReader{reader(typ)}
	s, err := r.shape()
	if err != nil {
		return nil, err
	}
	return s, ended(r.in)
}

type shapeReader struct{ in *json.Decoder }

func (r shapeReader) shape() (*shape, error) {
	token, err := r.in.Token()
	if err != nil {
		return nil, err
	}
	if name, ok := token.(string); ok {
		if s := plainShapes[name]; s != nil {
			return s, nil
		}
		return nil, errUnusual
	}
	if token != json.Delim('[') {
		return nil, errUnusual
	}
	kind, err := r.in.Token()
	if err != nil {
		return nil, err
	}
	s := &shape{}
	switch kind {
	case "list", "set":
		s.kind = listShape
		s.element, err = r.shape()
	case "map":
		s.kind = mapShape
		s.element, err = r.shape()
	case "tuple":
		s.kind = tupleShape
		err = r.inside('[', func() error { return r.member(s) })
	case "object":
		s.kind = objectShape
		err = r.inside('{', func() error { return r.attribute(s) })
	default:
		err = errUnusual
	}
	if err != nil {
		return nil, err
	}
	return s, r.expect(']')
}

func (r shapeReader) member(s *shape) error {
	m, err := r.shape()
	s.members = append(s.members, m)
	return err
}

func (r shapeReader) attribute(s *shape) error {
	name, err := r.in.Token()
	if err != nil {
		return err
	}
	text, ok := name.(string)
	if !ok || len(s.names) > 0 && text <= s.names[len(s.names)-1] {
		return errUnusual
	}
	s.names = append(s.names, text)
	return r.member(s)
}

// inside reads what is in brackets.
func (r shapeReader) inside(bracket json.Delim, each func() error) error {
	if err := r.expect(bracket); err != nil {
		return err
	}
	for r.in.More() {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := r.in.Token()
	return err
}

func (r shapeReader) expect(bracket json.Delim) error {
	token, err := r.in.Token()
	if err == nil && token != bracket {
		err = errUnusual
	}
	return err
}
