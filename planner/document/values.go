package document

import (
	"cmp"
	"fmt"
	"maps"
	"math"
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

// Values reads objects of a site from values as Terraform has them in a configuration or a state: nil, string, bool,
// int64, float64, []any, map[string]any, and [resource.Unknown] for what is not known yet. Numbers, booleans and their
// texts stand for each other, and a null member of an object counts as left out.
//
// Its methods return known as false when anything in the value is unknown; what is known is then set. Their errors are
// sorted by attribute, and have neither object nor name; they never quote a secret. Services that are of one entity, or
// have one lifecycle, share it.
type Values struct {
	// Partly says that parameters of configuration resources may stay unknown: they come as [resource.Unknown].
	Partly bool
	// Past says that the values were accepted before: null elements of their mappings count as left out. Otherwise they
	// are errors in the objects of a site, as in the resources.
	Past bool

	site Site
}

// NewValues returns a reader of values.
func NewValues(partly bool) *Values {
	return &Values{Partly: partly, site: Site{parsed: make(map[string]*catalog.Entity),
		machines: make(map[string]*lifecycle.Lifecycle)}}
}

// Deployment is what a slipway_deployment asks for, as plain values (see [Values]). Nodes and all that follow them are
// whole objects in a list, which keeps its order, or in a map, which is taken in the order of its keys: resources as
// they are, or objects written by hand that have the same attributes, of which all but the required ones may be left
// out.
type Deployment struct {
	Site, Nodes, Groups, Services, Overrides, Plugins, Ordering, Triggers any

	SecretsVersion any            // of the secrets to which parameters refer
	Bounds         map[string]any // see [site.Bounds]
}

// bounds are the attributes of a deployment that limit a run.
var bounds = []string{"failure_budget", "freeze", "limit", "approval", "approved_batches"}

// DeploymentOf returns what the attributes of a slipway_deployment, by their names, have of its site.
func DeploymentOf(given map[string]any) Deployment {
	d := Deployment{Site: given["site"], Nodes: given["nodes"], Groups: given["groups"], Services: given["services"],
		Overrides: given["overrides"], Plugins: given["plugins"], Ordering: given[orderingObject],
		Triggers: given["triggers"], SecretsVersion: given["secrets_version"], Bounds: map[string]any{}}
	for _, name := range bounds {
		d.Bounds[name] = given[name]
	}
	return d
}

// Site reads the site of a deployment. Where anything is unknown there is no site to be used. The errors name their
// objects, and those without a name by their place in the deployment.
func (v *Values) Site(d Deployment) (s site.Site, known bool, errs invalid.Errors) {
	known = true
	take := func(partKnown bool, more invalid.Errors) {
		known = known && partKnown
		errs = append(errs, more...)
	}
	switch name := d.Site.(type) {
	case string:
		s.Name = name
	case resource.Unknown:
		known = false
	}
	s.Nodes = taken(take, v.Nodes, d.Nodes)
	s.Groups = taken(take, v.Groups, d.Groups)
	s.Services = taken(take, v.Services, d.Services)
	s.Overrides = taken(take, v.Overrides, d.Overrides)
	s.Plugins = taken(take, v.Plugins, d.Plugins)
	s.Ordering = taken(take, v.Ordering, d.Ordering)
	s.Bounds = taken(take, v.bounds, d.Bounds)
	version := unversioned
	switch n := d.SecretsVersion.(type) {
	case int64:
		version = strconv.FormatInt(n, 10)
	case resource.Unknown:
		known, version = known && v.Partly, ""
	}
	withSecretsVersion(s, version)
	return s, known, errs
}

// secretsVersion is the attribute of a deployment that gives its secrets a version, and unversioned the version where
// it is not set.
const secretsVersion, unversioned = "secrets_version", "0"

// withSecretsVersion has a site's references to secrets name their version. Where that is empty it is not known, and
// neither are the parameters that refer to a secret.
func withSecretsVersion(s site.Site, version string) {
	configurations := make([]resource.Configuration, 0, len(s.Services)+len(s.Overrides))
	for _, service := range s.Services {
		configurations = append(configurations, service.Configuration)
	}
	for _, o := range s.Overrides {
		configurations = append(configurations, o.Configuration)
	}
	for _, c := range configurations {
		for _, titles := range c {
			for title, p := range titles {
				switch {
				case len(p.Secrets()) == 0:
				case version == "":
					titles[title] = p.WithUnknownSecrets()
				default:
					titles[title] = p.WithSecretsVersion(version)
				}
			}
		}
	}
}

func taken[T, V any](take func(bool, invalid.Errors), read func(V) (T, bool, invalid.Errors), value V) T {
	out, known, errs := read(value)
	take(known, errs)
	return out
}

// Nodes reads the nodes of a deployment. Those in a state of slipway 0.1.0 have the secrets of their connection beside
// everything else.
func (v *Values) Nodes(value any) (nodes []site.Node, known bool, errs invalid.Errors) {
	return readObjects(v, value, "node", readObject[site.Node])
}

// Groups reads the groups of a deployment. They are nil, and not just empty, when the attribute is null.
func (v *Values) Groups(value any) (groups []site.Group, known bool, errs invalid.Errors) {
	return readObjects(v, value, "group", (*reader).siteGroup)
}

// Services reads the services of a deployment.
func (v *Values) Services(value any) (services []site.Service, known bool, errs invalid.Errors) {
	return readObjects(v, value, "service", func(r *reader, n *yaml.Node, path string) site.Service {
		return r.service(&v.site)(n, path)
	})
}

// Overrides reads the overrides of a deployment.
func (v *Values) Overrides(value any) (overrides []site.Override, known bool, errs invalid.Errors) {
	return readObjects(v, value, "override", (*reader).override)
}

// Plugins reads the plugins of a deployment: results of data.slipway_plugin, or objects with the keys of a plugin's
// document.
func (v *Values) Plugins(value any) (plugins []site.Plugin, known bool, errs invalid.Errors) {
	return readObjects(v, value, "plugin", (*reader).plugin)
}

// Ordering reads what a catalog says of the order of tasks, as data.slipway_catalog gives it; nil when it says nothing.
func (v *Values) Ordering(value any) (o *catalog.Ordering, known bool, errs invalid.Errors) {
	text, ok := value.(string)
	if !ok {
		return nil, value == nil, nil
	}
	o, errs = catalog.ParseOrdering(text)
	for i := range errs {
		errs[i].Object, errs[i].Attribute = deployment, under(orderingObject, errs[i].Attribute)
	}
	return o, true, errs
}

// mostErrors bounds the errors of one list of objects: nobody reads more.
const mostErrors = 200

// readObjects reads the objects of a list or map. When anything is unknown, or wrong, there are none.
func readObjects[T any](v *Values, value any, object string, read func(*reader, *yaml.Node, string) T) (out []T,
	known bool, errs invalid.Errors) {
	switch value.(type) {
	case nil:
		return nil, true, nil
	case resource.Unknown:
		return nil, false, nil
	}
	members, wrong := MembersOf(value, object)
	if wrong != nil {
		return nil, true, invalid.Errors{*wrong}
	}
	known, out = true, make([]T, 0, len(members))
	for _, m := range members {
		if len(errs) >= mostErrors {
			errs = append(errs, invalid.Error{Object: deployment, Attribute: object + "s", Code: invalid.BadStructure,
				Message: fmt.Sprintf("there are more errors than these %d; the others are shown when these are fixed", len(errs))})
			break
		}
		t, name, all, wrong := readMember(v, m, object, read)
		for _, p := range wrong {
			p.Object, p.Name = object, name
			if name == "" {
				p.Object, p.Attribute = deployment, under(m.Place, p.Attribute)
			}
			errs = append(errs, p)
		}
		out, known = append(out, t), known && all
	}
	if !known || len(errs) > 0 {
		return nil, known, errs
	}
	return out, true, nil
}

// under joins the place of an object and an attribute of it.
func under(place, attribute string) string {
	if attribute == "" {
		return place
	}
	return place + "." + attribute
}

// Member is an object in a list or map.
type Member struct {
	Place string // `nodes[0]`, `nodes["web1"]`
	Value any
}

// Name returns the name of an object, empty when it has none that is known.
func (m Member) Name() string {
	object, _ := m.Value.(map[string]any)
	name, _ := object["name"].(string)
	return name
}

// readMember reads one object.
func readMember[T any](v *Values, m Member, object string, read func(*reader, *yaml.Node, string) T) (out T,
	name string, known bool, errs invalid.Errors) {
	switch value := m.Value.(type) {
	case map[string]any, resource.Unknown:
		out, known, errs = readValue(v, value, "", func(r *reader, n *yaml.Node, path string) T {
			r.noNulls = !v.Past
			return read(r, n, path)
		})
		name = reflect.ValueOf(out).FieldByName("Name").String()
	case nil:
		known, errs = true, invalid.Errors{{Code: invalid.BadStructure, Message: "is null; leave it out instead"}}
	default:
		known, errs = true, invalid.Errors{{Code: invalid.BadStructure, Message: fmt.Sprintf(
			"is %s; write a whole object, such as %s.example", kindInTerraform(tree(value)), typeOf(object))}}
	}
	return out, name, known, errs
}

// MembersOf returns the objects of a list or map.
func MembersOf(value any, object string) (members []Member, wrong *invalid.Error) {
	at := object + "s"
	switch value := value.(type) {
	case nil:
		return nil, nil
	case []any:
		for i, e := range value {
			members = append(members, Member{index(at, i), e})
		}
		return members, nil
	case map[string]any:
		if _, is := value["name"].(string); is {
			return nil, &invalid.Error{Object: deployment, Attribute: at, Code: invalid.BadStructure,
				Message: fmt.Sprintf("is one %s; put it into a list: %s = [%s.example]", object, at, typeOf(object))}
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			members = append(members, Member{keyed(at, key), value[key]})
		}
		return members, nil
	}
	return nil, &invalid.Error{Object: deployment, Attribute: at, Code: invalid.BadStructure,
		Message: fmt.Sprintf("is %s; write a list or map of %s objects", kindInTerraform(tree(value)), typeOf(object))}
}

// typeOf returns what an object of a site is in Terraform.
func typeOf(object string) string {
	if object == "plugin" {
		return "data.slipway_plugin"
	}
	return "slipway_" + object
}

// bounds reads what limits a run.
func (v *Values) bounds(value map[string]any) (b site.Bounds, known bool, errs invalid.Errors) {
	b, known, errs = readValue(v, any(value), "", readObject[site.Bounds])
	for i := range errs {
		errs[i].Object = deployment
	}
	return b, known, errs
}

// Connection reads how nodes are reached.
func (v *Values) Connection(value any) (c site.Connection, known bool, errs invalid.Errors) {
	return readValue(v, value, "", readObject[site.Connection])
}

// Entity reads the entity of a service, which is nil with errors. path is where it stands.
func (v *Values) Entity(value any, path string) (e *catalog.Entity, known bool, errs invalid.Errors) {
	return readValue(v, value, path, func(r *reader, n *yaml.Node, path string) *catalog.Entity {
		return r.entityOf(n, path, &v.site)
	})
}

// Configuration reads configuration resources. In those of an override, null is an error.
func (v *Values) Configuration(value any, path string, override bool) (c resource.Configuration, known bool,
	errs invalid.Errors) {
	return readValue(v, value, path, func(r *reader, n *yaml.Node, path string) resource.Configuration {
		r.strict = override
		return readObject[resource.Configuration](r, n, path)
	})
}

// Defaults reads the defaults of an override: type -> parameters.
func (v *Values) Defaults(value any, path string) (d map[string]map[string]any, known bool, errs invalid.Errors) {
	return readValue(v, value, path, func(r *reader, n *yaml.Node, path string) map[string]map[string]any {
		r.strict = true
		return readObject[map[string]map[string]any](r, n, path)
	})
}

func readValue[T any](v *Values, value any, path string, read func(*reader, *yaml.Node, string) T) (out T,
	known bool, errs invalid.Errors) {
	r := &reader{converts: true, live: true, partly: v.Partly}
	out = read(r, tree(value), path)
	for i := range r.errs {
		if r.errs[i].Code == Schema {
			r.errs[i].Code = invalid.BadStructure
		}
	}
	slices.SortStableFunc(r.errs, func(a, b invalid.Error) int { return cmp.Compare(a.Attribute, b.Attribute) })
	return out, !r.someUnknown, r.errs
}

// unknownTag is the tag of a value that is not known yet.
const unknownTag = "!unknown"

// isUnknown reports whether a live value is unknown, and remembers that there is one.
func (r *reader) isUnknown(n *yaml.Node) bool {
	is := r.live && n.Tag == unknownTag
	r.someUnknown = r.someUnknown || is
	return is
}

func hasUnknown(n *yaml.Node) bool {
	return n.Tag == unknownTag || slices.ContainsFunc(n.Content, hasUnknown)
}

func isNull(n *yaml.Node) bool { return n.Tag == "!!null" }

// tree returns a plain value as nodes without positions, the members of objects by key.
func tree(v any) *yaml.Node {
	scalar := func(tag, text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text} }
	switch v := v.(type) {
	case nil:
		return scalar("!!null", "null")
	case resource.Unknown:
		return scalar(unknownTag, "")
	case string:
		return scalar("!!str", v)
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	case int64:
		return scalar("!!int", strconv.FormatInt(v, 10))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return tree(int64(v))
		}
		return scalar("!!float", strconv.FormatFloat(v, 'f', -1, 64))
	case []any:
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: make([]*yaml.Node, len(v))}
		for i, e := range v {
			out.Content[i] = tree(e)
		}
		return out
	case map[string]any:
		out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: make([]*yaml.Node, 0, 2*len(v))}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out.Content = append(out.Content, scalar("!!str", key), tree(v[key]))
		}
		return out
	}
	return scalar(fmt.Sprintf("!%T", v), "") // an error names it
}

// inTerraform returns a kind of value as Terraform calls it.
func inTerraform(what string) string {
	switch {
	case strings.HasPrefix(what, "a mapping"):
		return "an object" + strings.TrimPrefix(what, "a mapping")
	case what == "text", strings.HasPrefix(what, "text;"):
		return "a string"
	}
	return what
}

// kindInTerraform names the kind of a value in Terraform's words, without showing it.
func kindInTerraform(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" {
		return "a bool"
	}
	return inTerraform(kind(n))
}

// Attributes returns the attributes of a service as far as they are known.
func Attributes(value any) (p catalog.Partial, errs invalid.Errors) {
	switch value.(type) {
	case nil, resource.Unknown, map[string]any:
		return catalog.PartOf(value), nil
	}
	return p, invalid.Errors{{Code: invalid.BadStructure,
		Message: fmt.Sprintf("is %s; write an object of attributes", kindInTerraform(tree(value)))}}
}
