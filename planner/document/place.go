package document

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// deployment is the object of errors with the site as a whole.
const deployment = "deployment"

// place is the position of an object.
type place struct {
	file  string
	lines []string   // of the file, where they are of use
	key   *yaml.Node // that names the object; nil: none
	node  *yaml.Node
}

// reference is the position of a part of an object: of the entity or the lifecycle that a service names, of a task of a
// plugin.
type reference struct {
	path string // in the object
	place
}

// places has the positions of objects by kind and name. Objects with the same name follow each other.
type places map[[2]string][]place

func (ps places) add(object, name string, p place) {
	ps[[2]string{object, name}] = append(ps[[2]string{object, name}], p)
}

// find returns the node that is nearest to a path below the object.
func (p place) find(path string) *yaml.Node {
	if found := descend(p.node, path); found != p.node || p.key == nil {
		return found
	}
	return p.key
}

// locate gives an error of the object its position: that of its attribute, else the nearest one.
func (p place) locate(wrong invalid.Error) invalid.Error {
	wrong.File = p.file
	if p.node != nil {
		found := p.find(wrong.Attribute)
		wrong.Line, wrong.Column = found.Line, found.Column
	}
	return wrong
}

// Sort sorts errors of the site by source and line.
func (s *Site) Sort(errs invalid.Errors) {
	errs.SortByPosition(s.order)
}

// Locate returns the position of an error of the site: that of its attribute, else the nearest one, else the start of
// the first file. An error with a task of an entity is located in the catalog if the documents have it.
func (s *Site) Locate(p invalid.Error) invalid.Error {
	if found, ok := s.locateInCatalog(p); ok {
		return found
	}
	if found, ok := s.locateRule(p); ok {
		return found
	}
	if p.Object == deployment {
		p.Name = ""
	}
	candidates := s.places[[2]string{p.Object, p.Name}]
	if len(candidates) == 0 {
		candidates = s.places[[2]string{deployment, ""}]
	}
	if len(candidates) > 0 {
		at := candidates[0]
		if p.Code == invalid.Duplicate || p.Code == invalid.DuplicateGroup {
			at = candidates[len(candidates)-1]
		}
		p.Attribute = asWritten(p.Object, at.node, p.Attribute)
		if p.Object == deployment {
			at = holding(candidates, p.Attribute)
		}
		p = at.locate(p)
	}
	return p
}

// asWritten returns the attribute as users write it: connect for a node's connection, depends_on in Airship's
// documents, and Terraform's name for the lifecycle of a service.
func asWritten(object string, n *yaml.Node, attribute string) string {
	const ours, airships = "depends_on_groups", "depends_on"
	if rest, ok := strings.CutPrefix(attribute, "connection"); ok && object == "node" {
		return "connect" + rest
	}
	if rest, ok := strings.CutPrefix(attribute, "lifecycle"); ok && object == "service" {
		if _, written := child(n, serviceLifecycle); written != nil {
			return serviceLifecycle + rest
		}
	}
	if rest, ok := strings.CutPrefix(attribute, ours); ok && object == "group" {
		if _, written := child(n, airships); written != nil {
			return airships + rest
		}
	}
	return attribute
}

// holding returns the first document that has the attribute, else the first document.
func holding(documents []place, attribute string) place {
	for _, d := range documents {
		if _, value := child(d.node, attribute); value != nil {
			return d
		}
	}
	return documents[0]
}

// descend follows a path such as `configuration.file["/etc/motd"].mode` as far as the document has it.
func descend(n *yaml.Node, path string) *yaml.Node {
	found := n
	for path != "" {
		var key, value *yaml.Node
		switch {
		case strings.HasPrefix(path, `["`):
			quoted, err := strconv.QuotedPrefix(path[1:])
			if err != nil {
				return found
			}
			name, err := strconv.Unquote(quoted)
			if err != nil {
				return found
			}
			path = strings.TrimPrefix(path[1+len(quoted):], "]")
			key, value = child(n, name)
		case path[0] == '[':
			digits, rest, _ := strings.Cut(path[1:], "]")
			i, err := strconv.Atoi(digits)
			at := follow(n)
			if err != nil || at.Kind != yaml.SequenceNode || i < 0 || i >= len(at.Content) {
				return found
			}
			path, value = rest, at.Content[i]
			key = value
		default:
			path = strings.TrimPrefix(path, ".")
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			key, value = child(n, path[:end])
			path = path[end:]
		}
		if value == nil {
			return found
		}
		// The position of a mapping or list is that of its key; its own is that of its first value.
		if n, found = value, value; value.Kind != yaml.ScalarNode && value.Kind != yaml.AliasNode {
			found = key
		}
	}
	return found
}

// child returns a key of a mapping and its value, or nil.
func child(n *yaml.Node, name string) (key, value *yaml.Node) {
	at, merges := follow(n), false
	if at.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(at.Content); i += 2 {
		switch k := follow(at.Content[i]); {
		case k.ShortTag() == "!!merge":
			merges = true
		case k.Kind == yaml.ScalarNode && k.Value == name:
			return at.Content[i], at.Content[i+1]
		}
	}
	fs := fields{}
	if !merges || !(&reader{visits: maxVisits - maxMergedVisits}).collect(at, "", &fs, 0) {
		return nil, nil
	}
	if i, ok := fs.index[name]; ok {
		return fs.list[i].key, fs.list[i].value
	}
	return nil, nil
}

// maxMergedVisits bounds the merged keys that are searched, because nested merges can expand to billions.
const maxMergedVisits = 1 << 14

func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

const (
	// maxPathKey bounds one key in a path, maxPath the whole path, in bytes. Otherwise a document with one long key and
	// many values below it would exhaust the memory.
	maxPathKey = 200
	maxPath    = 2000
)

func join(path, key string) string {
	switch {
	case path == "":
		return cut(key, maxPathKey)
	case len(path) > maxPath:
		return path
	}
	return path + "." + cut(key, maxPathKey)
}

func index(path string, i int) string {
	if len(path) > maxPath {
		return path
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

func keyed(path, key string) string {
	if len(path) > maxPath {
		return path
	}
	return fmt.Sprintf("%s[%q]", path, cut(key, maxPathKey))
}

// cut returns at most the first most bytes of a text.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
