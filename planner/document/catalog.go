package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/catalog/template"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
)

// Catalog is a catalog that was read from documents. It knows the positions of its tasks, see [Catalog.Locate].
type Catalog struct {
	Catalog *catalog.Catalog
	// Lifecycles are those that the documents define beside the shipped ones, in their order.
	Lifecycles []lifecycle.Lifecycle

	places      places                // of types and entities, and of ordering rules by kind and number
	definitions []catalog.Definitions // of each document
}

// ParseCatalog reads a catalog from one or more sources, each a stream of YAML documents with the keys types, pools,
// entities, ordering and lifecycles. All sources form one catalog: definitions may refer to those of other documents,
// and a name that occurs twice is an error. An entity names one of these lifecycles or a shipped one.
//
// ParseCatalog checks everything that needs no service, including templates. The error is of type [invalid.Errors].
func ParseCatalog(sources []Source) (*Catalog, error) {
	out := newCatalog()
	errs := out.readAll(sources, "a catalog has the keys "+strings.Join(catalogKeys(), ", "),
		func(r *catalogReader, d *yaml.Node) {
			if isScalar(d, "!!str") {
				r.report(d, "", Schema,
					"is text, not a mapping; give what the file holds, as file(\"catalog.yaml\") does, and not its name")
				return
			}
			r.document(d, "")
		})
	if len(errs) == 0 {
		errs = out.resolve()
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

func newCatalog() *Catalog { return &Catalog{places: make(places)} }

// readAll reads the documents of all sources. keys is what the documents have, for the error of an empty one.
func (c *Catalog) readAll(sources []Source, keys string, read func(*catalogReader, *yaml.Node)) invalid.Errors {
	var errs invalid.Errors
	for _, source := range sources {
		r := c.reader(&reader{file: source.Name}, source.Data)
		documents := r.documents(source.Data)
		if len(documents) == 0 && len(r.errs) == 0 {
			r.report(nil, "", Schema, "the document is empty; %s", keys)
		}
		for _, d := range documents {
			read(r, d)
		}
		r.errs.SortByPosition(nil)
		errs = append(errs, r.errs...)
	}
	return errs
}

// reader returns a reader of documents in data, which adds what it finds to the catalog.
func (c *Catalog) reader(r *reader, data []byte) *catalogReader {
	return &catalogReader{reader: r, out: c, lines: strings.Split(string(data), "\n")}
}

func catalogKeys() []string { return []string{"types", "pools", "entities", "ordering", lifecyclesKey} }

// resolve resolves the definitions and returns all errors.
func (c *Catalog) resolve() invalid.Errors {
	errs := c.namedLifecycles()
	resolved, wrong := catalog.Resolve(catalog.Join(c.definitions...))
	for _, p := range wrong {
		errs = append(errs, c.places.locate(p))
	}
	if len(errs) > 0 {
		return errs
	}
	c.Catalog = resolved
	for _, e := range resolved.Entities {
		errs = append(errs, c.templates(e)...)
	}
	return errs
}

// templates returns the errors in the templates of the tasks that an entity itself defines.
func (c *Catalog) templates(e catalog.Entity) invalid.Errors {
	from := len(e.Tasks)
	for from > 0 && c.Catalog.Origin(e.Name, from-1).Entity == e.Name {
		from--
	}
	at := c.places[[2]string{"entity", e.Name}][0]
	var errs invalid.Errors
	_, wrong := template.Compile(e, from)
	for _, m := range wrong {
		path := c.asDefined(e.Name, m.Attribute)
		out := at.locate(invalid.Error{Object: "entity", Name: e.Name, Attribute: path, Code: catalog.BadTemplate,
			Message: m.Text()})
		if line, column, ok := within(at.lines, at.find(path), m.Line, m.Column); ok {
			out.Line, out.Column, out.Message = line, column, m.Message
		}
		errs = append(errs, out)
	}
	return errs
}

// asDefined replaces the index of a task in a resolved entity by its index in the entity that defines it.
func (c *Catalog) asDefined(entity, path string) string {
	i, rest, ok := taskNumber(path)
	if !ok {
		return path
	}
	return fmt.Sprintf("tasks[%d]%s", c.Catalog.Origin(entity, i).Task, rest)
}

func taskNumber(path string) (number int, rest string, ok bool) {
	const begin = "tasks["
	if !strings.HasPrefix(path, begin) {
		return 0, "", false
	}
	if n, err := fmt.Sscanf(path[len(begin):], "%d", &number); n != 1 || err != nil {
		return 0, "", false
	}
	_, rest, ok = strings.Cut(path, "]")
	return number, rest, ok
}

// Locate returns the position of an error with a task of the entity (`entity.tasks[2].config.title`), in the document
// that defines the task. It returns false for other errors.
func (c *Catalog) Locate(entity string, p invalid.Error) (invalid.Error, bool) {
	path, ok := strings.CutPrefix(p.Attribute, "entity.")
	number, _, isTask := taskNumber(path)
	if !ok || !isTask {
		return invalid.Error{}, false
	}
	origin := c.Catalog.Origin(entity, number)
	candidates := c.places[[2]string{"entity", origin.Entity}]
	if len(candidates) == 0 {
		return invalid.Error{}, false
	}
	p.Message = fmt.Sprintf("%s (service %q)", p.Message, p.Name)
	p.Object, p.Name, p.Attribute = "entity", origin.Entity, c.asDefined(entity, path)
	return candidates[0].locate(p), true
}

// locate returns the position of an error of definitions.
func (ps places) locate(p invalid.Error) invalid.Error {
	out, name, path := p, p.Name, p.Attribute
	if p.Object == orderingObject {
		out.Object, out.Attribute = "", under(orderingObject, path)
		name, path = ps.rule(path)
	}
	candidates := ps[[2]string{p.Object, name}]
	if len(candidates) == 0 {
		return out
	}
	at := candidates[0]
	if p.Later {
		at = candidates[1]
		out.Message += candidates[0].isFirst()
		// A third one has an error of its own.
		ps[[2]string{p.Object, name}] = slices.Delete(slices.Clone(candidates), 1, 2)
	}
	found := at.find(path)
	out.File, out.Line, out.Column = at.file, found.Line, found.Column
	return out
}

// isFirst says where the first of several objects with one name is.
func (p place) isFirst() string {
	return fmt.Sprintf("; the first one is at %s:%d", p.file, p.key.Line)
}

// within converts a position in a text to one in the file. It returns false if the file writes the text with escapes or
// folded lines.
func within(lines []string, n *yaml.Node, line, column int) (int, int, bool) {
	if n.Kind != yaml.ScalarNode || line == 0 {
		return 0, 0, false
	}
	written := strings.Split(n.Value, "\n")
	if line > len(written) {
		return 0, 0, false
	}
	text := written[line-1]
	if n.Style&yaml.LiteralStyle != 0 {
		at := n.Line + line
		if at > len(lines) {
			return 0, 0, false
		}
		source := strings.TrimSuffix(lines[at-1], "\r")
		indent, ok := strings.CutSuffix(source, text)
		return at, len([]rune(indent)) + column, ok
	}
	if len(written) > 1 || n.Style&yaml.FoldedStyle != 0 || n.Line > len(lines) {
		return 0, 0, false
	}
	at := n.Column
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		at++
	}
	source := []rune(lines[n.Line-1])
	if at-1 > len(source) || !strings.HasPrefix(string(source[at-1:]), text) {
		return 0, 0, false
	}
	return n.Line, at + column - 1, true
}

// catalogReader reads documents, or parts of them, into a catalog.
type catalogReader struct {
	*reader
	out   *Catalog
	lines []string
	depth int // of nested embedded entities and steps; an alias can even refer to its own container
}

// add notes the position of an object.
func (r *catalogReader) add(object, name string, key, node *yaml.Node) {
	r.out.places.add(object, name, place{r.file, r.lines, key, node})
}

func (r *catalogReader) document(n *yaml.Node, path string) {
	r.out.definitions = append(r.out.definitions, catalog.Definitions{})
	d := &r.out.definitions[len(r.out.definitions)-1]
	r.object(n, path,
		key{"types", false, definitionsInto(r, "type", &d.Types, r.typeDefinition)},
		key{"pools", false, definitionsInto(r, "pool", &d.Pools, r.pool)},
		key{"entities", false, definitionsInto(r, "entity", &d.Entities, r.entity)},
		key{"ordering", false, func(n *yaml.Node, path string) { r.ordering(&d.Ordering, n, path) }},
		key{lifecyclesKey, false, definitionsInto(r, lifecycleObject, &r.out.Lifecycles, r.lifecycle)},
	)
}

// definitionsInto reads the definitions of a kind and notes their positions.
func definitionsInto[T any](r *catalogReader, object string, target *[]T, read func(f field, path string) T) readFunc {
	return membersInto(r.reader, target, func(f field, path string) T {
		r.add(object, f.name, f.key, f.value)
		return read(f, path)
	})
}

// deeper reads what may hold itself, with an alias. tooDeep is the error for that, with a verb for the bound.
func (r *catalogReader) deeper(n *yaml.Node, path, tooDeep string, read readFunc) {
	if r.depth++; r.depth > maxNesting {
		r.report(n, path, Schema, tooDeep, maxNesting)
	} else {
		read(n, path)
	}
	r.depth--
}

// ruleKeys are the keys of rules, and those of a validation as Inmanta's catalogs have it.
func (r *reader) ruleKeys(into *[]catalog.Rule) []key {
	var keys []key
	for _, name := range catalog.RuleNames() {
		keys = append(keys, key{name, false, func(n *yaml.Node, path string) {
			if value, ok := r.value(n, path, 0); ok {
				*into = append(*into, catalog.Rule{Name: name, Argument: value})
			}
		}})
	}
	var parameters map[string]any
	return append(keys,
		// The keys are read in this order, whatever their order in the document.
		key{"validation_parameters", false, func(n *yaml.Node, path string) {
			r.withNulls(1, func() { parameters = r.parameters(n, path) })
		}},
		key{"validation_type", false, func(n *yaml.Node, path string) {
			typ, ok := r.text(n, path)
			if !ok {
				return
			}
			rules, err := catalog.Validation(typ, parameters)
			if err != nil {
				r.report(n, path, invalid.BadValue, "%s", err)
			}
			*into = append(*into, rules...)
		}},
	)
}

func (r *catalogReader) typeDefinition(f field, path string) catalog.TypeDefinition {
	out := catalog.TypeDefinition{Name: f.name}
	r.object(f.value, path, r.keys(&out, r.ruleKeys(&out.Rules)...)...)
	return out
}

func (r *catalogReader) entity(f field, path string) catalog.Entity {
	out := catalog.Entity{Name: f.name}
	strict := true
	r.object(f.value, path, r.keys(&out, append(r.structureKeys(&out.Structure),
		key{"strict", false, r.into(&strict)},
		key{"tasks", false, listInto(r.reader, &out.Tasks, r.task)},
	)...)...)
	out.Loose = !strict
	return out
}

// structureKeys are the keys of entities and embedded entities.
func (r *catalogReader) structureKeys(into *catalog.Structure) []key {
	return []key{
		{"attributes", false, membersInto(r.reader, &into.Attributes, r.attribute)},
		{"embedded", false, func(n *yaml.Node, path string) {
			r.deeper(n, path, "embedded entities are more than %d levels deep, or one holds itself",
				membersInto(r.reader, &into.Embedded, r.embedded))
		}},
		{"relations", false, membersInto(r.reader, &into.Relations, func(f field, path string) catalog.Relation {
			out := catalog.Relation{Name: f.name, Modifier: catalog.Fixed}
			r.into(&out)(f.value, path)
			return out
		})},
	}
}

// attribute reads an attribute. A text is the type.
func (r *catalogReader) attribute(f field, path string) catalog.Attribute {
	out := catalog.Attribute{Name: f.name, Modifier: catalog.Fixed}
	if at := r.resolve(f.value); at != nil && isScalar(at, "!!str") {
		out.Type.Name = at.Value
		return out
	}
	r.object(f.value, path, r.keys(&out, append(r.ruleKeys(&out.Type.Rules),
		key{"type", true, r.into(&out.Type.Name)},
		key{"default", false, func(n *yaml.Node, path string) {
			r.withNulls(1, func() { out.Default, out.HasDefault = r.value(n, path, 0) })
		}},
		key{"allocate", false, func(n *yaml.Node, path string) { out.Allocate = r.allocation(n, path) }},
	)...)...)
	return out
}

func (r *catalogReader) embedded(f field, path string) catalog.Embedded {
	out := catalog.Embedded{Name: f.name, Modifier: catalog.Fixed}
	r.object(f.value, path, r.keys(&out, r.structureKeys(&out.Structure)...)...)
	return out
}

// pool reads a pool of a catalog.
func (r *catalogReader) pool(f field, path string) catalog.Pool {
	out := catalog.Pool{Name: f.name}
	r.object(f.value, path, r.poolKeys(&out)...)
	return out
}

// poolKeys are the keys of a pool, named or inline.
func (r *catalogReader) poolKeys(into *catalog.Pool) []key {
	return r.keys(into, key{"integer", false, func(n *yaml.Node, path string) {
		p := new(catalog.IntegerPool)
		into.Integer = p
		r.object(n, path, r.keys(p, key{"excluded", false, listInto(r.reader, &p.Excluded, r.numberOrText)})...)
	}})
}

// allocation reads the allocation of an attribute: from a named or an inline pool.
func (r *catalogReader) allocation(n *yaml.Node, path string) *catalog.Allocation {
	out := new(catalog.Allocation)
	var own catalog.Pool
	ofPool := slices.DeleteFunc(r.poolKeys(&own), func(k key) bool { return k.name == "description" })
	r.object(n, path, r.keys(out, ofPool...)...)
	if own.Integer != nil || own.Address != nil || own.Prefix != nil || own.Pick != "" {
		out.Own = &own
	}
	return out
}

// numberOrText reads an item of a list that may be a number.
func (r *reader) numberOrText(n *yaml.Node, path string) string {
	value, ok := r.value(n, path, 0)
	switch value.(type) {
	case int64, string:
		return fmt.Sprint(value)
	}
	if ok {
		r.wrongKind(n, r.resolve(n), path, "a number or a range in quotes, such as \"10-19\"")
	}
	return ""
}

// task reads the template of a task.
func (r *catalogReader) task(n *yaml.Node, path string) catalog.Task {
	var out catalog.Task
	persist := true
	r.object(n, path, r.keys(&out,
		key{"when", false, r.intoCondition(&out.When)},
		key{"steps", false, func(n *yaml.Node, path string) {
			out.Steps = []catalog.Task{}
			r.deeper(n, path, "steps are more than %d levels deep, or hold themselves",
				listInto(r.reader, &out.Steps, r.task))
		}},
		key{"persist", false, r.into(&persist)},
	)...)
	out.Once = !persist
	return out
}

// intoCondition reads a template, true or false.
func (r *reader) intoCondition(target *string) readFunc {
	return func(n *yaml.Node, path string) {
		if at := r.resolve(n); at != nil && isScalar(at, "!!bool") {
			*target = strconv.FormatBool(r.boolean(n, path))
			return
		}
		*target, _ = r.text(n, path)
	}
}
