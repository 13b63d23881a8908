package planner

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	entity "github.com/slipway/terraform-provider-slipway/planner/catalog"
	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/refine"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// A resource that several services bring to a node with equal parameters, after overrides, is one task, which all of
// them own. Unequal ones are an error, but for what is deployed already: a rollback brings back what one of them had,
// and the others still have theirs. Then the form of those that are not rolled back counts; where all are, that of
// before the run, see [selection.settle].

// share merges the tasks of a node about the same resource. tasks are those of load after overrides. Where they are not
// equal, the merged task is that of the first service, or of the first that does not yield, and disputed has all of
// them.
func share(schemas map[string]resource.Schema, load refine.Load, tasks []task.Task, yields yields) (merged []task.Task,
	disputed map[resource.ID][]task.Task, errs invalid.Errors) {
	if len(load.Again) == 0 {
		return tasks, nil, nil
	}
	merged = slices.Clone(tasks)
	again := make(map[int]bool, len(load.Again))
	from := make(map[resource.ID]string) // the service of the form that counts, where it is not the first one's
	for _, a := range load.Again {
		again[a.At] = true
		first, other := &merged[a.First], merged[a.At]
		id, owners := first.Resource.ID(), append(first.Shared, other.Service)
		names := slices.Concat(first.Override, slices.DeleteFunc(slices.Clone(other.Override), func(name string) bool {
			return slices.Contains(first.Override, name)
		}))
		difference := ""
		if first.Digest != "" && other.Digest != "" { // else it is reported what is wrong with them
			difference = differenceOf(schemas[first.Resource.Type], *first, other, load.Details[id], a.Detail)
		}
		switch {
		case difference == "":
			if len(other.Resource.Parameters.Unknown()) > 0 {
				first.Resource, first.Digest = other.Resource, other.Digest
			}
		case yields == nil:
			errs = append(errs, invalid.Error{Object: "service", Name: other.Service, Attribute: a.Path,
				Code: invalid.DuplicateResource,
				Message: fmt.Sprintf("the service %q brings %s as well, %s; write the same in both, keep it in one of them, or "+
					"place them on different nodes", first.Service, id, difference)})
		default:
			if disputed == nil {
				disputed = make(map[resource.ID][]task.Task)
			}
			if disputed[id] == nil {
				disputed[id] = []task.Task{*first}
			}
			disputed[id] = append(disputed[id], other)
			if service := first.Service; yields(cmp.Or(from[id], service)) && !yields(other.Service) {
				from[id], *first = other.Service, other
				first.Service = service
			}
		}
		first.Shared, first.Override = owners, names
	}
	kept := merged[:0]
	for i, t := range merged {
		if !again[i] {
			kept = append(kept, t)
		}
	}
	return kept, disputed, errs
}

// differenceOf says what two services want of the same resource that is not equal; empty when it is. A value that is
// not known yet counts as equal. Of tasks of entities, what orders them and how they run counts, too.
func differenceOf(schema resource.Schema, first, other task.Task, one, two *refine.EntityTask) string {
	if first.Digest != other.Digest {
		if text := parameterDifferences(schema, first.Resource, other.Resource); text != "" {
			return "with other parameters: " + text
		}
	}
	if len(first.Pending)+len(other.Pending) > 0 {
		return fmt.Sprintf("and whether both are equal is not known before callbacks have returned %s",
			list(distinct(slices.Concat(first.Pending, other.Pending))))
	}
	if first.Group != other.Group {
		return fmt.Sprintf("in another task group: here %s, there %s", other.Group, first.Group)
	}
	a, b := detailsOf(one), detailsOf(two)
	switch {
	case a.Section != b.Section:
		return fmt.Sprintf("in another section of the node: here %s, there %s", b.Section, a.Section)
	case a.Once != b.Once:
		return fmt.Sprintf("with another persist: here %t, there %t", !b.Once, !a.Once)
	case !reflect.DeepEqual(a.Replaces, b.Replaces):
		return fmt.Sprintf("and does not replace the same: here %s, there %s", orNone(resource.Texts(b.Replaces)),
			orNone(resource.Texts(a.Replaces)))
	case !slices.Equal(needsOf(a), needsOf(b)):
		return fmt.Sprintf("with other requirements: here %s, there %s", orNone(needsOf(b)), orNone(needsOf(a)))
	}
	return ""
}

// detailsOf returns the details of a task of an entity, or those that stand for inline configuration.
func detailsOf(d *refine.EntityTask) refine.EntityTask {
	if d == nil {
		return refine.EntityTask{Section: entity.Services}
	}
	return *d
}

// needsOf returns the requirements of a task, as texts, sorted.
func needsOf(d refine.EntityTask) []string {
	out := make([]string, 0, len(d.Needs))
	for _, n := range d.Needs {
		switch {
		case n.Resource != "":
			out = append(out, string(n.Resource))
		case n.Section != "":
			out = append(out, "section "+string(n.Section))
		case n.Service != "":
			out = append(out, "service "+n.Service)
		default:
			out = append(out, "task "+n.Task)
		}
	}
	return distinct(out)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return list(names)
}

// parameterDifferences says which parameters of two forms of a resource differ, with both values where they may be
// shown.
func parameterDifferences(schema resource.Schema, first, other resource.Resource) string {
	all := maps.Clone(first.Parameters)
	if all == nil {
		all = resource.Parameters{}
	}
	maps.Copy(all, other.Parameters)
	meant, meantToo := schema.Meaning(other), schema.Meaning(first)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		here, there := other.Parameters[name], first.Parameters[name]
		_, unknown := here.(resource.Unknown)
		_, unknownToo := there.(resource.Unknown)
		if unknown || unknownToo || resource.Canonical(meant[name]) == resource.Canonical(meantToo[name]) {
			continue
		}
		secret := first.Sensitive() || other.Sensitive() || slices.ContainsFunc(schema.Parameters,
			func(p resource.Parameter) bool { return p.Name == name && p.Sensitive })
		show := func(r, beside resource.Resource) string {
			v, given := r.Parameters[name]
			text, isText := v.(string)
			named, isSecret := resource.SecretName(text)
			switch {
			case !given:
				return "not set"
			case isSecret:
				return fmt.Sprintf("the secret %q", named)
			case secret && name != resource.Sensitive:
				return "(sensitive)"
			case isText:
				return excerpt(resource.ShowSecrets(text), resource.ShowSecrets(beside.Parameters.String(name)))
			default:
				return cut(resource.ShowSecrets(resource.Canonical(v)))
			}
		}
		parts = append(parts, fmt.Sprintf("%s is %s here and %s there", name, show(other, first),
			show(first, other)))
	}
	if len(parts) > namesShown {
		parts = append(parts[:namesShown], fmt.Sprintf("and %d more", len(parts)-namesShown))
	}
	return strings.Join(parts, ", ")
}

// excerpt quotes a text from shortly before where it differs from another one, at most 60 characters of it.
func excerpt(text, other string) string {
	const before = 20
	from, r, o := 0, []rune(text), []rune(other)
	for from < min(len(r), len(o)) && r[from] == o[from] {
		from++
	}
	if from = max(from-before, 0); from > 0 {
		r = append([]rune("…"), r[from:]...)
	}
	if len(r) > cutAfter {
		r = append(r[:cutAfter-1:cutAfter-1], '…')
	}
	return fmt.Sprintf("%q", string(r))
}
