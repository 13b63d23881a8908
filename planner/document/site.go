package document

import (
	"bytes"
	"maps"
	"slices"
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
	// Warnings are about what stands beside the site in a plan or state.
	Warnings invalid.Errors
	// Catalog is what the documents say of entities; nil when they say nothing. Services of a plan or state carry their
	// entities themselves.
	Catalog *catalog.Catalog
	// Lifecycles are those that the documents define beside the ones that slipway brings.
	Lifecycles []lifecycle.Lifecycle

	order      map[string]int // of the sources, by name
	places     places
	marks      marks
	catalog    *Catalog               // nil without any definitions
	named      []namedEntity          // services that name their entities
	lifecycles []lifecycleNamed       // services that name their lifecycles
	parsed     map[string]*definition // entities of plans and states
	// lifecycles of services of plans and states, by their texts; nil is a wrong one
	machines map[string]*lifecycle.Lifecycle
}

// ParseSite reads a site from one or more sources, which together describe it. A source is a stream of YAML documents,
// or what `terraform show -json` prints of a plan file or a state. A YAML document is
//
//   - a site document, with keys named as the attributes of the resources: site, nodes, groups, services, overrides,
//     plugins; and catalog, which has the keys of a catalog document;
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
	s := &Site{order: make(map[string]int, len(sources)), places: places{}, parsed: make(map[string]*definition),
		machines: make(map[string]*lifecycle.Lifecycle)}
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
	}
	lists := allObjects(errs)
	if len(errs) == 0 {
		errs = s.resolveEntities()
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
		r.report(nil, "", Schema, "holds neither a site (keys %s) nor a document with the schema %q",
			strings.Join(siteKeys(), ", "), StrategySchema)
	}
}

// strategyDocument takes the groups of an Airship document.
func (r *reader) strategyDocument(content *yaml.Node, path string, s *Site) {
	groups := r.groups(content, path)
	if s.Site.Groups == nil {
		s.Site.Groups = []site.Group{}
	}
	s.Site.Groups = append(s.Site.Groups, groups...)
	s.places.add(deployment, "", place{r.file, content})
	if _, list := child(content, "groups"); list != nil {
		for i, item := range follow(list).Content[:len(groups)] {
			s.places.add("group", groups[i].Name, place{r.file, item})
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
	fs, ok := r.mapping(n, "")
	if !ok {
		return
	}
	r.known(fs, "", append(siteKeys(), inlineCatalog)...)
	r.siteFields(n, fs, "", s)
	if value, ok := fs.get(inlineCatalog); ok {
		s.define(r, data, value, inlineCatalog)
	}
}

// siteFields takes what belongs to a site from a site document, or from a deployment's attributes.
func (r *reader) siteFields(n *yaml.Node, fs *fields, path string, s *Site) {
	s.places.add(deployment, "", place{r.file, n})
	if value, ok := fs.get("site"); ok {
		name, ok := r.text(value, join(path, "site"))
		if ok && s.Site.Name != "" && s.Site.Name != name {
			r.report(value, join(path, "site"), Schema, "is %q, but another document says %q; name one site", name,
				s.Site.Name)
		}
		if ok && name == "" {
			r.report(value, join(path, "site"), Schema, "is empty; give the site a name, or leave it out")
		}
		s.Site.Name = name
	}
	if value, ok := fs.get("nodes"); ok {
		s.Inventory = true
		s.Site.Nodes = append(s.Site.Nodes, membersOf(r, s, value, join(path, "nodes"), "node", r.node)...)
	}
	if value, ok := fs.get("groups"); ok {
		if s.Site.Groups == nil {
			s.Site.Groups = []site.Group{}
		}
		s.Site.Groups = append(s.Site.Groups, membersOf(r, s, value, join(path, "groups"), "group", r.siteGroup)...)
	}
	if value, ok := fs.get("services"); ok {
		s.Site.Services = append(s.Site.Services, membersOf(r, s, value, join(path, "services"), "service",
			r.service(s))...)
	}
	if value, ok := fs.get("overrides"); ok {
		s.Site.Overrides = append(s.Site.Overrides, membersOf(r, s, value, join(path, "overrides"), "override",
			r.override)...)
	}
	if value, ok := fs.get("plugins"); ok {
		s.Site.Plugins = append(s.Site.Plugins, membersOf(r, s, value, join(path, "plugins"), "plugin", r.plugin)...)
	}
	if value, ok := fs.get(orderingObject); ok && r.converts {
		s.Site.Ordering = r.orderingText(value, join(path, orderingObject))
	}
}

// membersOf reads the objects of a list. In Terraform's values they may stand in a map, too, which counts in the order
// of its keys.
func membersOf[T any](r *reader, s *Site, n *yaml.Node, path, object string,
	read func(*yaml.Node, string) (T, string)) []T {
	type member struct {
		node *yaml.Node
		path string
	}
	var members []member
	if at := r.resolve(n); r.converts && at != nil && at.Kind == yaml.MappingNode {
		fs, ok := r.mapping(n, path)
		if !ok {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(fs.index)) {
			members = append(members, member{fs.list[fs.index[name]].value, keyed(path, name)})
		}
	} else {
		for i, item := range r.list(n, path) {
			members = append(members, member{item, index(path, i)})
		}
	}
	out := make([]T, 0, len(members))
	for _, m := range members {
		if r.full() {
			break
		}
		t, name := read(m.node, m.path)
		s.places.add(object, name, place{r.file, m.node})
		out = append(out, t)
	}
	return out
}
