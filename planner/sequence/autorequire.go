package sequence

import (
	"path"
	"strconv"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// autorequired tells, by type, which resources Puppet takes for required without being told. Only those that the node has
// count.
var autorequired = map[string]func(c *catalogOf, r resource.Resource) []int{
	"file": func(c *catalogOf, r resource.Resource) []int {
		return collect(c.directoryOf(filePath(r)), c.user(r, "owner"), c.group(r.Parameters.String("group")))
	},
	"user": func(c *catalogOf, r resource.Resource) []int {
		groups := collect(c.group(r.Parameters.String("gid")))
		for _, name := range r.Parameters.Strings("groups") {
			groups = append(groups, collect(c.group(name))...)
		}
		return groups
	},
	"cron": func(c *catalogOf, r resource.Resource) []int { return collect(c.user(r, "user")) },
	"exec": func(c *catalogOf, r resource.Resource) []int {
		return collect(c.user(r, "user"), c.fileOrDirectoryOf(r.Parameters.String("cwd")))
	},
	"ini_setting": func(c *catalogOf, r resource.Resource) []int {
		return collect(c.fileOrDirectoryOf(r.Parameters.String("path")))
	},
	"mount": func(c *catalogOf, r resource.Resource) []int {
		return collect(c.fileOrDirectoryOf(r.Title))
	},
}

// none stands for a resource that the node does not have.
const none = -1

func collect(tasks ...int) []int {
	var out []int
	for _, t := range tasks {
		if t != none {
			out = append(out, t)
		}
	}
	return out
}

// autorequire enters what Puppet requires by itself. A requirement that would close a cycle is left out: what is written
// wins. Where the required resource goes away (`ensure = "absent"`), it goes after what depends on it, so that a
// directory is empty, and a group has no member, by the time it is removed.
func (c *catalogOf) autorequire() {
	for i, t := range c.tasks {
		find := autorequired[t.Resource.Type]
		if find == nil {
			continue
		}
		for _, required := range find(c, t.Resource) {
			later, earlier := i, required
			if c.tasks[required].Resource.Parameters.String("ensure") == "absent" {
				later, earlier = required, i
			}
			if c.mayFollow(later, earlier) && !c.graph.depends(earlier, later) {
				c.graph.add(later, earlier)
			}
		}
	}
}

// filePath is where a file resource lies: its parameter path, or else its title.
func filePath(r resource.Resource) string { return path.Clean(r.Parameters.StringOr("path", r.Title)) }

// directoryOf returns the nearest managed directory above a path.
func (c *catalogOf) directoryOf(p string) int {
	for path.IsAbs(p) && p != "/" {
		p = path.Dir(p)
		if i, ok := c.file(p); ok {
			return i
		}
	}
	return none
}

// fileOrDirectoryOf returns the file at a path, or else the nearest managed directory above it.
func (c *catalogOf) fileOrDirectoryOf(p string) int {
	if p == "" {
		return none
	}
	p = path.Clean(p)
	if i, ok := c.file(p); ok {
		return i
	}
	return c.directoryOf(p)
}

func (c *catalogOf) file(p string) (int, bool) {
	if c.files == nil {
		c.files = make(map[string]int)
		for i, t := range c.tasks {
			if t.Resource.Type == "file" {
				c.files[filePath(t.Resource)] = i
			}
		}
	}
	i, ok := c.files[p]
	return i, ok
}

func (c *catalogOf) user(r resource.Resource, parameter string) int {
	return c.account("user", r.Parameters.String(parameter))
}

func (c *catalogOf) group(name string) int { return c.account("group", name) }

// account returns a user or group by name. A number names an account that may be any resource's or nobody's.
func (c *catalogOf) account(typ, name string) int {
	if name == "" {
		return none
	}
	if _, err := strconv.Atoi(name); err == nil {
		return none
	}
	if c.accounts == nil {
		c.accounts = make(map[resource.ID]int)
		for i, t := range c.tasks {
			if t.Resource.Type == "user" || t.Resource.Type == "group" {
				c.accounts[resource.MakeID(t.Resource.Type, t.Resource.Parameters.StringOr("name", t.Resource.Title))] = i
			}
		}
	}
	if i, ok := c.accounts[resource.MakeID(typ, name)]; ok {
		return i
	}
	return none
}
