package document

import (
	"bytes"
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/lifecycle"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// Unnamed is the name of a site that no document names.
const Unnamed = "unnamed"

// Source is what one file holds, with the name that the file has in errors.
type Source struct {
	Name string
	Data []byte
}

// Options say what to take of a source that holds more than one site.
type Options struct {
	Address string // of the slipway_deployment in a plan or state; needed where there are several
	Prior   bool   // take what a plan starts from, not what it leads to
	// Check finds what is wrong with the objects of a site that is not whole, each by itself; it may be nil. It is
	// asked when something could not be read.
	Check func(site.Site) invalid.Errors
}

// Site is a site as documents describe it. It knows the place of everything in them, see [Site.Locate].
type Site struct {
	Site      site.Site
	Inventory bool // some document has the key "nodes"; without it nobody knows what groups select
	Shown     bool // some source is what Terraform prints of a plan or state, so that Options.Address has a meaning
	// Drift names resources that were found otherwise than they were left. Digest is that of the run that Terraform
	// planned, empty when it planned none. Both come from plans and states only.
	Drift  map[string][]resource.ID
	Digest string
	// Warnings are about what documents have and slipway does not use, and what stands beside the site in a plan or
	// state.
	Warnings invalid.Errors
	// Catalog is what the documents say of entities; nil when they say nothing. Services of a plan or state carry their
	// entities themselves.
	Catalog *catalog.Catalog
	// SecretsVersion is that of the secrets to which parameters refer; empty when no document gives one.
	SecretsVersion string
	// Lifecycles are those that the documents define beside the ones that slipway brings.
	Lifecycles []lifecycle.Lifecycle

	order map[string]int // of the sources, by name
	// the errors of sources that describe no site; they count when no source does
	passedOver invalid.Errors
	places     places
	marks      marks
	catalog    *Catalog // nil without any definitions
	// named are the entities and lifecycles that services name: stand-ins with nothing but the name, until all documents
	// are read.
	named map[any]reference
	given map[string]bool // the keys without a list that a document gives
	// entities and lifecycles of services of plans and states, by their texts; nil is a wrong one
	parsed   map[string]*catalog.Entity
	machines map[string]*lifecycle.Lifecycle
}

// ParseSite reads a site from one or more sources, which together describe it. A source is a stream of YAML documents,
// or what `terraform show -json` prints of a plan file or a state. A YAML document is
//
//   - a site document, with keys named as the attributes of the resources: site, nodes, groups, services, overrides,
//     plugins, failure_budget, freeze, limit, approval, approved_batches, secrets_version; and catalog, which has the
//     keys of a catalog document;
//   - a catalog document (see [ParseCatalog]);
//   - an Airship DeploymentStrategy document, which brings groups (see [ParseStrategy]);
//   - a document that declares another schema, which is passed over.
//
// The lists of all documents are joined in the order of the sources. Groups that no document mentions are nil. All that
// is said of the catalog makes one catalog, and services find their entities in it.
//
// Of sites only the form is checked, and that there is the entity of each service; what the parts mean together is for
// [site.Site.Validate]. A catalog is checked whole. The error is of type [invalid.Errors].
func ParseSite(sources []Source, o Options) (*Site, error) {
	s := &Site{order: make(map[string]int, len(sources)), places: places{}, named: make(map[any]reference),
		given: map[string]bool{}, parsed: make(map[string]*catalog.Entity), machines: make(map[string]*lifecycle.Lifecycle)}
	var errs invalid.Errors
	for i, source := range sources {
		s.order[source.Name] = i
		r := &reader{file: source.Name}
		source.Data = bytes.TrimPrefix(source.Data, []byte("\ufeff")) // a byte order mark, which JSON must not have
		switch {
		case isPlanFile(source.Data):
			r.report(nil, "", Schema,
				"is a plan file as Terraform writes it; give what `terraform show -json` prints of it")
		case isShow(source.Data):
			r.converts, s.Shown = true, true
			r.show(source.Data, o, s)
		default:
			r.stream(source.Data, s)
		}
		r.errs.SortByPosition(nil)
		errs = append(errs, r.errs...)
		s.Warnings = append(s.Warnings, r.warnings...)
	}
	if len(s.passedOver) == len(sources) {
		errs = append(errs, s.passedOver...)
	}
	withSecretsVersion(s.Site, cmp.Or(s.SecretsVersion, unversioned))
	lists := allObjects(errs)
	if len(errs) == 0 {
		errs = s.resolve()
	}
	if s.Site.Name == "" {
		s.Site.Name = Unnamed
	}
	if len(errs) == 0 {
		return s, nil
	}
	if lists {
		if besides := s.besides(errs, o.Check); len(besides) > 0 {
			errs = append(errs, besides...)
			s.Sort(errs)
		}
	}
	return nil, errs
}

// stream reads the YAML documents of one source.
func (r *reader) stream(data []byte, s *Site) {
	documents := r.documents(data)
	used := 0
	for _, d := range documents {
		schema := schemaOf(d)
		switch {
		case schema == "" && isCatalog(d):
			s.define(r, data, d, "")
			used++
		case schema == "":
			r.siteDocument(d, data, s)
			used++
		case schema == StrategySchema || resource.Nearest(schema, []string{StrategySchema}) != "":
			if content, path, ok := r.envelope(d); ok {
				r.strategyDocument(content, path, s)
			}
			used++
		}
	}
	switch {
	case used > 0 || len(r.errs) > 0:
	case len(documents) == 0:
		r.report(nil, "", Schema,
			"is empty, so it describes no site; where a command wrote it, such as `terraform show -json`, look whether that command failed")
	default:
		s.passedOver = append(s.passedOver, r.at(nil, "", Schema,
			"holds neither a site (keys %s) nor a document with the schema %q", strings.Join(siteKeys(), ", "), StrategySchema))
	}
}

// strategyDocument takes the groups of an Airship document.
func (r *reader) strategyDocument(content *yaml.Node, path string, s *Site) {
	groups := r.groups(content, path)
	if s.Site.Groups == nil {
		s.Site.Groups = []site.Group{}
	}
	s.Site.Groups = append(s.Site.Groups, groups...)
	s.places.add(deployment, "", place{file: r.file, node: content})
	if _, list := child(content, "groups"); list != nil {
		for i, item := range follow(list).Content[:len(groups)] {
			s.places.add("group", groups[i].Name, place{file: r.file, node: item})
		}
	}
}

func siteKeys() []string {
	return []string{"site", "nodes", "groups", "services", "overrides", "plugins"}
}

// inlineCatalog is the key of a site document that holds a catalog.
const inlineCatalog = "catalog"

// besideSite says what a document is, and what takes it, when it is one of those that describe no site. Else it is
// empty.
func besideSite(n *yaml.Node) string {
	for _, name := range append(siteKeys(), inlineCatalog) {
		if _, value := child(n, name); value != nil {
			return ""
		}
	}
	switch kind, is := new(reader).kindOf(n); kind {
	case OfPlugin:
		return is + "; `order` takes it, and a site document has plugins below the key \"plugins\""
	case OfLayer:
		return is + "; `override` takes it, and a site document has overrides below the key \"overrides\""
	default:
		return ""
	}
}

func (r *reader) siteDocument(n *yaml.Node, data []byte, s *Site) {
	if is := besideSite(n); is != "" {
		r.report(n, "", Schema, "%s", is)
		return
	}
	s.places.add(deployment, "", place{file: r.file, node: n})
	r.object(n, "", append(r.siteFields(s), key{inlineCatalog, false,
		func(n *yaml.Node, path string) { s.define(r, data, n, path) }})...)
}

// siteFields are the keys of a site document that a deployment has as attributes, too.
func (r *reader) siteFields(s *Site) []key {
	once := append(r.keys(&s.Site.Bounds), key{secretsVersion, false, r.secretsVersion(s)})
	for i, k := range once {
		once[i].read = func(n *yaml.Node, path string) {
			if s.given[k.name] {
				r.report(n, path, Schema, "is in another document, too; keep one")
			}
			s.given[k.name] = true
			k.read(n, path)
		}
	}
	return append([]key{
		{"site", false, func(n *yaml.Node, path string) {
			name, ok := r.text(n, path)
			if ok && s.Site.Name != "" && s.Site.Name != name {
				r.report(n, path, Schema, "is %q, but another document says %q; name one site", name, s.Site.Name)
			}
			if ok && name == "" {
				r.report(n, path, Schema, "is empty; give the site a name, or leave it out")
			}
			s.Site.Name = name
		}},
		{"nodes", false, func(n *yaml.Node, path string) {
			s.Inventory = true
			objectsInto(r, s, "node", &s.Site.Nodes, func(n *yaml.Node, path string) site.Node {
				return readObject[site.Node](r, n, path)
			})(n, path)
		}},
		{"groups", false, func(n *yaml.Node, path string) {
			s.Site.Groups = append([]site.Group{}, s.Site.Groups...)
			objectsInto(r, s, "group", &s.Site.Groups, r.siteGroup)(n, path)
		}},
		{"services", false, objectsInto(r, s, "service", &s.Site.Services, r.service(s))},
		{"overrides", false, objectsInto(r, s, "override", &s.Site.Overrides, r.override)},
		{"plugins", false, objectsInto(r, s, "plugin", &s.Site.Plugins, r.plugin)},
	}, once...)
}

// secretsVersion returns what reads the version of the secrets.
func (r *reader) secretsVersion(s *Site) readFunc {
	return func(n *yaml.Node, path string) {
		var version int64
		before := len(r.errs)
		r.intoWhole(&version)(n, path)
		switch {
		case len(r.errs) > before:
		case version < 1:
			r.report(n, path, invalid.BadValue, "is %d; give a whole number, 1 or more", version)
		default:
			s.SecretsVersion = strconv.FormatInt(version, 10)
		}
	}
}

// objectsInto reads the objects of a list, notes their positions and adds them to target. In Terraform's values they
// may be in a map, too, in the order of its keys.
func objectsInto[T any](r *reader, s *Site, object string, target *[]T, read func(*yaml.Node, string) T) readFunc {
	add := func(n *yaml.Node, path string) {
		if r.full() {
			return
		}
		t := read(n, path)
		s.places.add(object, reflect.ValueOf(t).FieldByName("Name").String(), place{file: r.file, node: n})
		*target = append(*target, t)
	}
	return func(n *yaml.Node, path string) {
		if at := r.resolve(n); !r.converts || at == nil || at.Kind != yaml.MappingNode {
			r.each(add)(n, path)
			return
		}
		if fs, ok := r.mapping(n, path); ok {
			for _, name := range slices.Sorted(maps.Keys(fs.index)) {
				add(fs.list[fs.index[name]].value, keyed(path, name))
			}
		}
	}
}

// readObject reads an object whose keys are the tags of its type.
func readObject[T any](r *reader, n *yaml.Node, path string) (out T) {
	r.into(&out)(n, path)
	return out
}

// override reads an override.
func (r *reader) override(n *yaml.Node, path string) (o site.Override) {
	if r.converts {
		o.Merge = "parameter"
	}
	r.object(n, path, r.keys(&o,
		key{"configuration", true, r.strictly(r.into(&o.Configuration))},
		key{"options", false, func(n *yaml.Node, path string) {
			r.object(n, path, r.keys(&o.Options, key{"defaults", false, r.strictly(r.into(&o.Options.Defaults))})...)
		}},
	)...)
	return o
}

// siteGroup reads a group of a site document. Its keys are those of slipway_group; Airship's depends_on means
// depends_on_groups.
func (r *reader) siteGroup(n *yaml.Node, path string) (g site.Group) {
	var parents *yaml.Node
	dependsOn := func(n *yaml.Node, path string) {
		if parents != nil {
			r.report(n, path, Schema, "stands beside depends_on_groups, which means the same; keep one")
			return
		}
		parents = n
		r.into(&g.DependsOn)(n, path)
	}
	r.object(n, path, r.keys(&g,
		key{"depends_on_groups", false, dependsOn},
		key{"depends_on", false, dependsOn},
		key{"rolling", false, func(n *yaml.Node, path string) {
			g.Rolling = &site.Rolling{MaxParallel: 1}
			lockNew := true
			r.object(n, path, r.keys(g.Rolling, key{"lock_new_nodes", false, r.into(&lockNew)})...)
			g.Rolling.SpareNew = !lockNew
		}},
	)...)
	return g
}

// allObjects reports whether all objects were read, though some perhaps only in part.
func allObjects(misread invalid.Errors) bool {
	return !slices.ContainsFunc(misread, func(p invalid.Error) bool { return !strings.Contains(p.Attribute, "[") })
}

// besides returns further errors of a site whose objects were all read, so that users can fix them together with the
// errors of reading. It skips objects that were not read completely, and references to objects whose names may be
// missing for that reason.
func (s *Site) besides(misread invalid.Errors, check func(site.Site) invalid.Errors) invalid.Errors {
	if s.Shown {
		return nil
	}
	errs := s.Site.Validate()
	if check != nil {
		errs = errs.Join(check(s.Site))
	}
	named := !slices.ContainsFunc(s.Site.Groups, func(g site.Group) bool { return g.Name == "" })
	unsure := make(map[[2]string]bool) // objects that were not read well
	var out invalid.Errors
	for _, found := range errs.Errors() {
		object := [2]string{found.Object, found.Name}
		if _, known := unsure[object]; !known {
			unsure[object] = s.misread(object, misread)
		}
		refers := found.Code == invalid.UnknownDependency || found.Code == invalid.UnknownGroup
		if !unsure[object] && (named || !refers) && len(out) < maxErrors {
			out = append(out, s.Locate(found))
		}
	}
	return out
}

// misread reports whether reading had an error with the object, given by kind and name.
func (s *Site) misread(object [2]string, errs invalid.Errors) bool {
	at := s.places[object]
	return len(at) == 0 || slices.ContainsFunc(at, func(p place) bool {
		last := lastLine(p.node)
		return slices.ContainsFunc(errs, func(m invalid.Error) bool {
			return m.File == p.file && p.node.Line <= m.Line &&
				m.Line <= last
		})
	})
}

// lastLine returns the line of the last value below a node.
func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, below := range n.Content {
		last = max(last, lastLine(below))
	}
	return last
}
