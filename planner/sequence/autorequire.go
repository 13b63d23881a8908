package sequence

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// autorequired returns, by type, the resources of the node that a resource requires even though no parameter says so,
// as in Puppet.
var autorequired = map[string]func(c *nodeTasks, r resource.Resource) []int{
	"file": func(c *nodeTasks, r resource.Resource) []int {
		p := filePath(r)
		target := none
		if i, ok := c.file(r.Parameters.String("target")); ok {
			target = i
		}
		found := append(c.broughtAbove(p), collect(c.directoryOf(p), c.mountOf(p), target, c.user(r, "owner"),
			c.group(r.Parameters.String("group")))...)
		return append(found, c.filesNamed(commandsIn(r, "validate_cmd"), p)...)
	},
	"user": func(c *nodeTasks, r resource.Resource) []int {
		if isAbsent(r) {
			return nil // see group
		}
		groups := collect(c.group(r.Parameters.String("gid")), c.mountOf(r.Parameters.String("home")))
		for _, name := range r.Parameters.Strings("groups") {
			groups = append(groups, collect(c.group(name))...)
		}
		if shell, ok := c.file(r.Parameters.String("shell")); ok {
			groups = append(groups, shell)
		}
		if !r.Parameters.Has("gid") { // it comes with the group of its name
			groups = append(groups, collect(c.group(accountName(r)))...)
		}
		return groups
	},
	"group": func(c *nodeTasks, r resource.Resource) []int {
		var users []int
		for _, member := range r.Parameters.Strings("members") {
			i := c.account("user", member)
			if i == none {
				continue
			}
			user, name := c.tasks[i].Resource.Parameters, accountName(r)
			if member != name && user.String("gid") != name && !slices.Contains(user.Strings("groups"), name) {
				users = append(users, i)
			}
		}
		for _, i := range c.leavingUsers() {
			// A group cannot go before the users whose primary group it is, and with a user goes the group of its name.
			if isAbsent(r) || accountName(r) == accountName(c.tasks[i].Resource) {
				users = append(users, i)
			}
		}
		return users
	},
	"archive": func(c *nodeTasks, r resource.Resource) []int {
		p := r.Parameters
		found := collect(c.user(r, "user"), c.group(p.String("group")))
		for _, name := range []string{"curl", "wget", "xz-utils", "xz", "zstd"} { // what fetches and decompresses it
			found = append(found, collect(c.account("package", name))...)
		}
		paths := []string{p.String("source"), p.String("extract_path")}
		if schema.ArchiveKept(r) {
			paths = append(paths, filePath(r))
		}
		for _, at := range paths {
			if path.IsAbs(at) {
				found = append(found, collect(c.fileOrDirectoryOf(at), c.mountOf(at))...)
			}
		}
		return found
	},
	"apt_repository": func(c *nodeTasks, r resource.Resource) []int {
		return collect(c.fileOrDirectoryOf(schema.AptSource(r)), c.fileOrDirectoryOf(r.Parameters.String("keyring")))
	},
	"package": func(c *nodeTasks, _ resource.Resource) []int {
		all := func(resource.Resource) bool { return true }
		return append(c.ofType("apt_repository", all), c.ofType("yum_repository", all)...)
	},
	"vcsrepo": func(c *nodeTasks, r resource.Resource) []int {
		p := filePath(r)
		found := collect(c.account("package", "git"), c.user(r, "user"), c.user(r, "owner"),
			c.group(r.Parameters.String("group")), c.fileOrDirectoryOf(p), c.mountOf(p))
		if source := r.Parameters.String("source"); path.IsAbs(source) {
			found = append(found, collect(c.fileOrDirectoryOf(source), c.mountOf(source))...)
		}
		return found
	},
	"yum_repository": func(c *nodeTasks, r resource.Resource) []int {
		return collect(c.fileOrDirectoryOf(schema.YumRepoFile(r)))
	},
	"cron": func(c *nodeTasks, r resource.Resource) []int { return collect(c.user(r, "user")) },
	"exec": func(c *nodeTasks, r resource.Resource) []int {
		cwd := r.Parameters.String("cwd")
		found := collect(c.user(r, "user"), c.fileOrDirectoryOf(cwd), c.mountOf(cwd))
		for _, created := range r.Parameters.Strings("creates") {
			found = append(found, collect(c.directoryOf(path.Clean(created)), c.mountOf(created))...)
		}
		commands := append(commandsIn(r, "command"), r.Parameters.Commands("onlyif")...)
		if !r.Parameters.Has("command") {
			commands = append(commands, resource.Command{Line: r.Title})
		}
		commands = append(commands, r.Parameters.Commands("unless")...)
		return append(found, c.filesNamed(commands, r.Parameters.Strings("creates")...)...)
	},
	"file_line":   fileWith,
	"ini_setting": fileWith,
	"mount": func(c *nodeTasks, r resource.Resource) []int {
		at := r.Title
		if schema.IsSwap(r) {
			at = r.Parameters.String("device")
		}
		return collect(c.fileOrDirectoryOf(at), c.mountOf(at))
	},
	"ssh_authorized_key": func(c *nodeTasks, r resource.Resource) []int {
		keys := schema.KeysFile(r)
		return collect(c.user(r, "user"), c.fileOrDirectoryOf(keys), c.mountOf(keys))
	},
	"service": func(c *nodeTasks, r resource.Resource) []int {
		name := strings.TrimSuffix(accountName(r), ".service")
		units := c.ofType("systemd_unit", func(of resource.Resource) bool {
			unit := strings.TrimSuffix(schema.UnitName(of), ".service")
			template, _, made := strings.Cut(name, "@")
			return unit == name || made && unit == template+"@"
		})
		found := c.filesNamed(commandsIn(r, "start", "stop", "status", "restart"))
		for _, unit := range units { // a service stops before its user goes
			found = append(append(found, unit), c.accountsOfUnit(c.tasks[unit].Resource)...)
		}
		return found
	},
	"sysctl": func(c *nodeTasks, _ resource.Resource) []int {
		return c.ofType("kernel_module", func(resource.Resource) bool { return true })
	},
	"systemd_unit": func(c *nodeTasks, r resource.Resource) []int {
		return append(c.accountsOfUnit(r), collect(c.fileOrDirectoryOf(schema.UnitFiles(r)[0].Title))...)
	},
	"timezone": func(c *nodeTasks, _ resource.Resource) []int { return collect(c.account("package", "tzdata")) },
}

// accountsOfUnit returns the user and the groups that the content of a systemd_unit, or the template of it, names.
func (c *nodeTasks) accountsOfUnit(r resource.Resource) (found []int) {
	for _, text := range append(resource.TemplatesIn(r.Parameters["content"]), r.Parameters.String("content")) {
		for _, line := range unitAccounts.FindAllStringSubmatch(text, -1) {
			if line[1] == "User" {
				found = append(found, collect(c.account("user", strings.TrimSpace(line[2])))...)
				continue
			}
			for _, name := range strings.Fields(line[2]) {
				found = append(found, collect(c.group(name))...)
			}
		}
	}
	return found
}

// unitAccounts matches the settings of a systemd unit that name accounts.
var unitAccounts = regexp.MustCompile(`(?m)^[ \t]*(User|Group|SupplementaryGroups)[ \t]*=(.*)$`)

// ofType returns the resources of a type for which is holds.
func (c *nodeTasks) ofType(typ string, is func(resource.Resource) bool) (found []int) {
	if c.types == nil {
		c.types = make(map[string][]int)
		for i, t := range c.tasks {
			c.types[t.Resource.Type] = append(c.types[t.Resource.Type], i)
		}
	}
	for _, i := range c.types[typ] {
		if is(c.tasks[i].Resource) {
			found = append(found, i)
		}
	}
	return found
}

// broughtAbove returns the archives and clones that bring what is in a directory above a path.
func (c *nodeTasks) broughtAbove(p string) []int {
	archives := c.ofType("archive", func(of resource.Resource) bool {
		into := of.Parameters.String("extract_path")
		return into != "" && strings.HasPrefix(p, into+"/")
	})
	return append(archives, c.ofType("vcsrepo", func(of resource.Resource) bool {
		return strings.HasPrefix(p, filePath(of)+"/")
	})...)
}

// fileWith returns the file that the resource is a part of.
func fileWith(c *nodeTasks, r resource.Resource) []int {
	p := r.Parameters.String("path")
	return collect(c.fileOrDirectoryOf(p), c.mountOf(p))
}

func isAbsent(r resource.Resource) bool { return r.Parameters.String("ensure") == "absent" }

// none is the index of a resource that the node does not have.
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

// autorequire adds the requirements of [autorequired]. One that would close a cycle is left out: written requirements
// win. A required resource with `ensure = "absent"` comes after what depends on it, so that a directory is empty, and a
// group has no member, when it is removed. There are two exceptions: a mount that is removed comes first, because what
// is created below its mount point must not disappear with it, and so does a user, for the groups that come after it.
func (c *nodeTasks) autorequire() {
	for i, t := range c.tasks {
		find := autorequired[t.Resource.Type]
		if find == nil {
			continue
		}
		for _, required := range find(c, t.Resource) {
			later, earlier := i, required
			if r := c.tasks[required].Resource; isAbsent(r) && r.Type != "mount" && t.Resource.Type != "group" {
				later, earlier = required, i
			}
			if c.mayFollow(later, earlier) && !c.graph.depends(earlier, later) {
				c.graph.add(later, earlier)
			}
		}
	}
}

// filePath returns the path of a file resource: its parameter path, or else its title.
func filePath(r resource.Resource) string { return path.Clean(r.Parameters.StringOr("path", r.Title)) }

// directoryOf returns the nearest managed directory above a path.
func (c *nodeTasks) directoryOf(p string) int {
	for path.IsAbs(p) && p != "/" {
		p = path.Dir(p)
		if i, ok := c.file(p); ok {
			return i
		}
	}
	return none
}

// fileOrDirectoryOf returns the file at a path, or else the nearest managed directory above it.
func (c *nodeTasks) fileOrDirectoryOf(p string) int {
	if p == "" {
		return none
	}
	p = path.Clean(p)
	if i, ok := c.file(p); ok {
		return i
	}
	return c.directoryOf(p)
}

// linkTarget returns the path that a link leads to, empty for what is no link.
func linkTarget(r resource.Resource) string {
	target := r.Parameters.String("target")
	if target == "" || isAbsent(r) {
		return ""
	}
	if !path.IsAbs(target) {
		target = path.Join(path.Dir(filePath(r)), target)
	}
	return path.Clean(target)
}

// throughLinks returns what a path is once the managed links in its directories are there.
func (c *nodeTasks) throughLinks(p string) string {
	const most = 40 // as the kernel follows
	for range most {
		dir := path.Dir(p)
		for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
			if i, ok := c.file(dir); ok && linkTarget(c.tasks[i].Resource) != "" {
				p = path.Join(linkTarget(c.tasks[i].Resource), strings.TrimPrefix(p, dir))
				break
			}
		}
		if dir == "/" || dir == "." {
			break
		}
	}
	return p
}

// mountOf returns the nearest managed mount point above a path, also through managed links.
func (c *nodeTasks) mountOf(p string) int {
	if c.mounts == nil {
		c.mounts = make(map[string]int)
		for i, t := range c.tasks {
			if t.Resource.Type == "mount" {
				c.mounts[path.Clean(t.Resource.Title)] = i
			}
		}
	}
	if len(c.mounts) == 0 || !path.IsAbs(p) {
		return none
	}
	for p = c.throughLinks(path.Clean(p)); p != "/"; {
		p = path.Dir(p)
		if i, ok := c.mounts[p]; ok {
			return i
		}
	}
	return none
}

// commandsIn returns the commands that parameters hold: one string is a line for a shell, several are a program and its
// arguments.
func commandsIn(r resource.Resource, names ...string) []resource.Command {
	var commands []resource.Command
	for _, name := range names {
		switch words := r.Parameters.Strings(name); len(words) {
		case 0:
		case 1:
			commands = append(commands, resource.Command{Line: words[0]})
		default:
			commands = append(commands, resource.Command{Words: words})
		}
	}
	return commands
}

// filesNamed returns the files whose full paths commands name: as their program, as Puppet has it for an exec, and
// anywhere else in them if the resource creates the file. What they are to make (made, or with `>`) is not required.
func (c *nodeTasks) filesNamed(commands []resource.Command, made ...string) []int {
	var out []int
	name := func(word string, program bool) {
		word = path.Clean(word)
		i, ok := c.file(word)
		if ok && !slices.Contains(made, word) && (program || makesFile(c.tasks[i].Resource)) {
			out = append(out, i)
		}
	}
	for _, command := range commands {
		for i, word := range command.Words {
			name(word, i == 0)
		}
		line := command.Line
		for _, at := range wordsWithSlash.FindAllStringSubmatchIndex(line, -1) {
			if !strings.HasPrefix(line[at[2]:at[3]], ">") {
				name(line[at[4]:at[5]], strings.Trim(line[:at[4]], " \t\"'") == "")
			}
		}
	}
	return out
}

// wordsWithSlash matches the words of a shell line that begin with a slash, each with what precedes it: a blank, an
// operator or the start of the line.
var wordsWithSlash = regexp.MustCompile(`(^|>\s*|[\s;|&<(\x60"'={},])(/[^\s;|&<>()\x60"'={},$]*)`)

// makesFile reports whether applying the resource may create a file, directory or link.
func makesFile(r resource.Resource) bool {
	p := r.Parameters
	return !isAbsent(r) && (p.Has("ensure") || schema.FileHasContent(r) || p.Has("target"))
}

func (c *nodeTasks) file(p string) (int, bool) {
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

func (c *nodeTasks) user(r resource.Resource, parameter string) int {
	return c.account("user", r.Parameters.String(parameter))
}

func (c *nodeTasks) group(name string) int { return c.account("group", name) }

// leavingUsers returns the users that are to be absent.
func (c *nodeTasks) leavingUsers() []int {
	if c.leaving == nil {
		c.leaving = []int{}
		for i, t := range c.tasks {
			if t.Resource.Type == "user" && isAbsent(t.Resource) {
				c.leaving = append(c.leaving, i)
			}
		}
	}
	return c.leaving
}

// accountName is the name of a user, group or package: its parameter name, or else its title.
func accountName(r resource.Resource) string { return r.Parameters.StringOr("name", r.Title) }

// account returns a user, group or package by name. A number is never resolved: any resource, or none, may have that
// number.
func (c *nodeTasks) account(typ, name string) int {
	if name == "" {
		return none
	}
	if _, err := strconv.Atoi(name); err == nil {
		return none
	}
	if c.accounts == nil {
		c.accounts = make(map[resource.ID]int)
		for i, t := range c.tasks {
			switch t.Resource.Type {
			case "user", "group", "package":
				c.accounts[resource.MakeID(t.Resource.Type, accountName(t.Resource))] = i
			}
		}
	}
	if i, ok := c.accounts[resource.MakeID(typ, name)]; ok {
		return i
	}
	return none
}
