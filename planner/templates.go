package planner

import (
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/planner/task"
)

// nodeReads returns what finds the attributes of a node that templates of files read, under services and overrides that
// have the key.
func (b *desiredBuilder) nodeReads() func(key string, placed, layers []int) []string {
	configured := make(map[string]resource.Configuration, len(b.site.Services))
	for _, s := range b.site.Services {
		configured[s.Name] = s.Configuration
	}
	known := make(map[string][]string)
	return func(key string, placed, layers []int) []string {
		reads, ok := known[key]
		if ok {
			return reads
		}
		for _, i := range placed {
			reads = append(reads, b.templates.NodeReads(configured[b.services.Name(i)])...)
		}
		for _, o := range b.overrides.Overrides(layers) {
			reads = append(reads, b.templates.NodeReads(o.Configuration)...)
			for typ, defaults := range o.Options.Defaults {
				reads = append(reads, b.templates.NodeReads(resource.Configuration{typ: {"": defaults}})...)
			}
		}
		slices.Sort(reads)
		reads = slices.Compact(reads)
		known[key] = reads
		return reads
	}
}

// render gives the files of a set of nodes the content of their templates. Tasks with errors have no digest.
func (b *desiredBuilder) render(k *nodeSet, tasks []task.Task, found *nodeErrors) []task.Task {
	copied := false
	for i, t := range tasks {
		rendered, errs := b.rendered(t, b.nodesByName[k.nodes[0]])
		for _, e := range errs {
			found.add(e, k.nodes)
		}
		if !schema.HasTemplate(t.Resource) {
			continue
		}
		if !copied {
			tasks, copied = slices.Clone(tasks), true
		}
		tasks[i] = rendered
	}
	return tasks
}

// rendered returns the task of a file with the content that its template gives on a node; any other task stays.
func (d *desired) rendered(t task.Task, n site.Node) (task.Task, invalid.Errors) {
	if t.Digest == "" || !schema.HasTemplate(t.Resource) {
		return t, nil
	}
	r, errs := d.templates.Render(t.Resource, d.site, n)
	if len(errs) > 0 {
		object, name, attribute := d.overrides.Giver(t, schema.Template)
		for i := range errs {
			errs[i].Object, errs[i].Name, errs[i].Attribute = object, name, attribute
			errs[i].Message, errs[i].Line, errs[i].Column = errs[i].Text(), 0, 0
		}
		t.Digest = ""
		return t, errs
	}
	t.Resource = r
	if digest := resource.Digest(r); len(t.Pending) > 0 { // the digest of its task has the templates of an entity
		t.Digest = resource.SHA256(t.Digest + digest)
	} else {
		t.Digest = digest
	}
	return t, nil
}
