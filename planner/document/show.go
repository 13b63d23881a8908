package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// deploymentType is the resource that holds a whole site in its attributes.
const deploymentType = "slipway_deployment"

// isShow reports whether the data is what `terraform show -json` prints.
func isShow(data []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return false
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return false
		}
		if key == "format_version" {
			return true
		}
		var passed json.RawMessage
		if decoder.Decode(&passed) != nil {
			return false
		}
	}
	return false
}

// show takes the site of a deployment from what Terraform prints of a plan or state
// (https://developer.hashicorp.com/terraform/internals/json-format). Of a plan it is the planned site, or the prior
// one; a prior state without the deployment gives nothing.
func (r *reader) show(data []byte, o Options, s *Site) {
	if len(data) > maxShowSize {
		r.report(nil, "", Schema, "the document has %d bytes; %d is the most", len(data), maxShowSize)
		return
	}
	t := newJSONTree(data)
	root, err := t.root(func(key string) bool {
		return slices.Contains([]string{"planned_values", "values", "prior_state", "resource_changes", "errored"}, key)
	})
	if err != nil {
		r.errs = append(r.errs, invalid.Error{File: r.file, Line: t.line, Column: t.column, Code: Schema,
			Message: "not well formed: " + err.Error()})
		return
	}
	if _, errored := child(root, "errored"); errored != nil && errored.Value == "true" {
		r.report(errored, "errored", Schema,
			"Terraform could not complete this plan; fix the errors that it reported and plan again")
		return
	}
	_, values := child(root, "values")
	planned := false
	if _, p := child(root, "planned_values"); p != nil {
		values, planned = p, true
		if o.Prior {
			values = nil
			if _, prior := child(root, "prior_state"); prior != nil {
				_, values = child(prior, "values")
			}
		}
	}
	found := deployments(values)
	if len(found) == 0 && planned && o.Prior {
		return
	}
	if going := destroyed(root); len(found) == 0 && len(going) > 0 {
		r.report(nil, "", Schema,
			"is a plan that destroys %s, so it describes no site; give what `terraform show -json` prints of a plan that keeps it, or of the state",
			strings.Join(going, ", "))
		return
	}
	chosen, ok := r.choose(found, o.Address)
	change := changeOf(root, chosen.address)
	if !ok || planned && !o.Prior && r.unknown(change, chosen.address) {
		return
	}
	r.duplicates(chosen.values, "", func(string) bool { return false })
	fs, ok := r.mapping(chosen.values, chosen.address)
	if !ok {
		return
	}
	s.places.add(deployment, "", place{file: r.file, node: chosen.values})
	r.read(chosen.values, fs, chosen.address, append(r.siteFields(s), key{orderingObject, false, r.orderingText(s)})...)
	s.mark(chosen.values, chosen.sensitive)
	s.Warnings = append(s.Warnings, r.besideDeployments(root, values, found)...)
	s.Inventory = true
	if digest, ok := fs.get("digest"); ok && planned && !o.Prior && changes(change) {
		s.Digest, _ = r.text(digest, join(chosen.address, "digest"))
	}
	if drift, ok := fs.get("drift"); ok {
		r.drift(drift, join(chosen.address, "drift"), s)
	}
}

// heldTypes are the resources that do nothing by themselves: the attribute of a deployment that takes them, and what
// follows from being in none.
var heldTypes = map[string]struct{ attribute, so string }{
	"slipway_node":     {"nodes", "nothing is rolled out on it"},
	"slipway_group":    {"groups", "it orders nothing"},
	"slipway_service":  {"services", "it is rolled out nowhere"},
	"slipway_override": {"overrides", "it changes nothing"},
}

// besideDeployments warns of resources that no deployment of a plan or state has, by their names. A deployment whose
// attribute is not wholly known may have them.
func (r *reader) besideDeployments(root, values *yaml.Node, all []shown) (warnings invalid.Errors) {
	taken := map[string]map[string]bool{} // attribute -> name
	for _, held := range heldTypes {
		names := map[string]bool{}
		for _, f := range all {
			if change := changeOf(root, f.address); change != nil && unknownInputs(change, held.attribute) {
				names = nil
				break
			}
			_, objects := child(f.values, held.attribute)
			if objects == nil {
				continue
			}
			for _, object := range objects.Content {
				if _, name := child(object, "name"); name != nil {
					names[name.Value] = true
				}
			}
		}
		taken[held.attribute] = names
	}
	for _, res := range resourcesOf(values) {
		held, isHeld := heldTypes[res.typ]
		_, name := child(res.values, "name")
		if !isHeld || name == nil || name.Value == "" || taken[held.attribute] == nil ||
			taken[held.attribute][name.Value] {
			continue
		}
		warnings = append(warnings, invalid.Error{File: r.file, Attribute: res.address, Code: invalid.NoEffect,
			Warning: true,
			Message: fmt.Sprintf("is in the %s of no deployment, so %s; add it there, or take it away", held.attribute,
				held.so)})
	}
	slices.SortFunc(warnings, func(a, b invalid.Error) int { return strings.Compare(a.Attribute, b.Attribute) })
	return warnings
}

// deployments returns those of all modules, sorted by address.
func deployments(values *yaml.Node) []shown {
	out := slices.DeleteFunc(resourcesOf(values), func(res shown) bool { return res.typ != deploymentType })
	slices.SortFunc(out, func(a, b shown) int { return strings.Compare(a.address, b.address) })
	return out
}

// shown is a managed resource of a plan or state.
type shown struct {
	address, typ      string
	values, sensitive *yaml.Node // sensitive is nil when Terraform marks nothing
}

// resourcesOf returns the managed resources of all modules.
func resourcesOf(values *yaml.Node) []shown {
	var out []shown
	var walk func(module *yaml.Node)
	walk = func(module *yaml.Node) {
		for _, res := range itemsOf(module, "resources") {
			_, address := child(res, "address")
			_, mode := child(res, "mode")
			_, typ := child(res, "type")
			_, values := child(res, "values")
			_, sensitive := child(res, "sensitive_values")
			if address != nil && mode != nil && typ != nil && values != nil && mode.Value == "managed" {
				out = append(out, shown{address.Value, typ.Value, values, sensitive})
			}
		}
		for _, below := range itemsOf(module, "child_modules") {
			walk(below)
		}
	}
	if values != nil {
		if _, root := child(values, "root_module"); root != nil {
			walk(root)
		}
	}
	return out
}

// itemsOf returns the items of a list that stands under a key, none when there is no such list.
func itemsOf(n *yaml.Node, key string) []*yaml.Node {
	if _, list := child(n, key); list != nil && list.Kind == yaml.SequenceNode {
		return list.Content
	}
	return nil
}

// choose returns the deployment that is meant.
func (r *reader) choose(all []shown, address string) (shown, bool) {
	addresses := make([]string, len(all))
	for i, f := range all {
		if addresses[i] = f.address; f.address == address || address == "" && len(all) == 1 {
			return f, true
		}
	}
	switch {
	case len(all) == 0:
		r.report(nil, "", Schema,
			"holds no %s; give what `terraform show -json` prints of a plan or state that has one", deploymentType)
	case address == "":
		r.report(nil, "", Schema, "holds several deployments; choose one with --address: %s",
			strings.Join(addresses, ", "))
	default:
		r.report(nil, "", Schema, "holds no deployment with the address %q; it holds %s", address,
			strings.Join(addresses, ", "))
	}
	return shown{}, false
}

// destroyed returns the addresses of deployments that a plan destroys.
func destroyed(root *yaml.Node) []string {
	var out []string
	for _, c := range itemsOf(root, "resource_changes") {
		_, address := child(c, "address")
		_, typ := child(c, "type")
		_, change := child(c, "change")
		if address != nil && typ != nil && typ.Value == deploymentType && change != nil &&
			slices.ContainsFunc(itemsOf(change, "actions"), func(n *yaml.Node) bool { return n.Value == "delete" }) {
			out = append(out, address.Value)
		}
	}
	return out
}

// changeOf returns what a plan says of one resource, nil when it says nothing.
func changeOf(root *yaml.Node, address string) *yaml.Node {
	for _, c := range itemsOf(root, "resource_changes") {
		if _, at := child(c, "address"); at != nil && at.Value == address {
			_, change := child(c, "change")
			return change
		}
	}
	return nil
}

// changes reports whether the change does anything.
func changes(change *yaml.Node) bool {
	return change != nil && slices.ContainsFunc(itemsOf(change, "actions"),
		func(n *yaml.Node) bool { return n.Value != "no-op" })
}

// unknownInputs reports whether something of an attribute is not known before the apply.
func unknownInputs(change *yaml.Node, attribute string) bool {
	_, after := child(change, "after_unknown")
	if after == nil {
		return false
	}
	_, value := child(after, attribute)
	return isMarked(value)
}

// unknown reports what of the site Terraform does not know before apply.
func (r *reader) unknown(change *yaml.Node, address string) bool {
	if change == nil {
		return false
	}
	before := len(r.errs)
	if _, after := child(change, "after_unknown"); after != nil {
		for _, name := range append(siteKeys(), orderingObject, secretsVersion) {
			if _, value := child(after, name); value != nil {
				r.unknownIn(value, join(address, name))
			}
		}
	}
	return len(r.errs) > before
}

// identifier is what attributes are named like.
var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

func (r *reader) unknownIn(n *yaml.Node, path string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if strings.HasSuffix(path, "]") && identifier.MatchString(name) {
				r.unknownIn(n.Content[i+1], join(path, name))
			} else {
				r.unknownIn(n.Content[i+1], keyed(path, name))
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			r.unknownIn(item, index(path, i))
		}
	default:
		if n.Value == "true" {
			r.report(n, path, Schema,
				"is not known before apply, so the site is not known either; apply what it comes from first (terraform apply -target) and plan again")
		}
	}
}

// drift reads the deployment's attribute of that name.
func (r *reader) drift(n *yaml.Node, path string, s *Site) {
	for i, item := range r.list(n, path) {
		var node, id string
		r.object(item, index(path, i),
			key{"node", true, r.into(&node)},
			key{"resource", true, r.into(&id)},
			key{"change", false, func(*yaml.Node, string) {}},
		)
		if s.Drift == nil {
			s.Drift = map[string][]resource.ID{}
		}
		s.Drift[node] = append(s.Drift[node], resource.ID(id))
	}
}
