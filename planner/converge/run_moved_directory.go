package converge

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/converge/ledger"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// A directory that gets another path, and what is in it, are resources of their own: the directory moves, what was in
// it is removed, and what is in the new one is made. Where both can be there, what was in it is removed last, and only
// when all of the new one is there. The former directory is undone with that.

// moveDirectories puts the removals of what is in directories that move behind what is in the new ones, and lets them
// require that. It returns the operations in their new order.
func (x *session) moveDirectories(operations []*operation) []*operation {
	var taken *takenPaths
	for _, j := range slices.Clone(operations) {
		if j.Type != "file" || schema.FileEnsure(j.Resource) != "directory" || j.object == "" || j.Remove ||
			j.followed || j.Noop() {
			continue
		}
		former := x.ledger.Formers(x.key(j))
		if e := x.ledger.Entry(x.manifest.Site, j.id); e != nil && x.moves(j) {
			former = append(former, e)
		}
		former = slices.DeleteFunc(former, func(e *ledger.Entry) bool { return !x.beside(j, e) })
		if len(former) == 0 {
			continue
		}
		if taken == nil {
			taken = x.takenPaths(operations)
		}
		dirs := map[string]bool{}
		for _, e := range former {
			dirs[x.resolved(object{e.Type, e.Object}).name] = true
		}
		for _, r := range operations {
			e := x.ledger.Entry(x.manifest.Site, r.id)
			if !r.Remove || r.Type != "file" || r.leaving != nil || r.followed || e == nil || e.Object == "" {
				continue
			}
			if at := x.resolved(object{e.Type, e.Object}).name; isBelow(at, dirs) && !taken.has(at) {
				r.leaving = j
				j.leaves = append(j.leaves, r)
			}
		}
		if len(j.leaves) > 0 {
			operations = x.removeBehind(operations, j)
		}
	}
	return operations
}

// removeBehind moves the removals of what is in the directory that an item leaves behind the item and all files that
// are to be below its path.
func (x *session) removeBehind(operations []*operation, j *operation) []*operation {
	now := map[string]bool{x.resolved(object{j.Type, j.object}).name: true}
	last := j
	var requires []resource.ID
	for _, o := range operations {
		if o == j || o.Type == "file" && !o.Remove && o.object != "" &&
			isBelow(x.resolved(object{o.Type, o.object}).name, now) {
			last, requires = o, append(requires, o.id)
		}
	}
	out := make([]*operation, 0, len(operations))
	for _, o := range operations {
		if o.leaving != j {
			out = append(out, o)
		} else if len(o.Requires) > 0 {
			o.Requires = slices.Concat(o.Requires, requires)
		} else {
			o.Requires = requires
		}
		if o == last {
			out = append(out, j.leaves...)
		}
	}
	return out
}

// isBelow reports whether a path is below one of some directories.
func isBelow(at string, dirs map[string]bool) bool {
	for dir := path.Dir(at); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// takenPaths are the paths to which operations bring something.
type takenPaths struct {
	at    map[string]bool // and the directories above them
	trees map[string]bool // all below them may be brought
}

func (x *session) takenPaths(operations []*operation) *takenPaths {
	t := &takenPaths{map[string]bool{}, map[string]bool{}}
	for _, o := range operations {
		if o.Remove || o.RefreshOnly {
			continue
		}
		paths := []string{o.object}
		if o.Type != "file" {
			paths = append(paths, o.Title, o.Parameters.String("path"), o.Parameters.String("extract_path"))
		}
		for _, p := range paths {
			if !path.IsAbs(p) {
				continue
			}
			p = x.sys.ResolveLinks(p, false)
			if o.Type == "archive" || o.Type == "vcsrepo" {
				t.trees[p] = true
			}
			for ; p != "/" && !t.at[p]; p = path.Dir(p) {
				t.at[p] = true
			}
		}
	}
	return t
}

// has reports whether something comes to a path, or below it.
func (t *takenPaths) has(at string) bool { return t.at[at] || isBelow(at, t.trees) }

// waitsForRemovals reports whether something in a directory that an item leaves is to be removed still.
func (j *operation) waitsForRemovals() bool {
	return slices.ContainsFunc(j.leaves, func(r *operation) bool {
		return !r.done || r.result.Status != Changed && r.result.Status != Unchanged
	})
}

// undoLeft undoes the directory in which a removed item was, where that was the last in it.
func (x *session) undoLeft(ctx context.Context, r *operation) error {
	j := r.leaving
	if j == nil || x.failed[j.id] {
		return nil
	}
	said := j.result.Message
	err := x.undoFormers(ctx, j)
	if j.result.Message != said { // that of j is reported already
		r.result.Message = cmp.Or(r.result.Message, j.result.Message)
	}
	return err
}
