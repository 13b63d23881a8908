package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// The bounds of a directory of the controller (source_dir): of what is in it, and of the content of its files together,
// in bytes, which is read for each plan.
const (
	mostInDirectory    = 2_000
	mostDirectoryBytes = 1 << 30
)

// ReadDirectories returns a site in which each file of a service with source_dir is the directory and, as resources of
// their own, all that is in the directory of the controller. So plans, drift, undo and removal know each of them. A
// directory that cannot be read is an error, and its resource is the directory alone. Plan does not read: it refuses
// what has source_dir still. s is not changed.
func ReadDirectories(s site.Site) (site.Site, invalid.Errors) {
	var errs invalid.Errors
	r := directories{made: map[resource.ID][]madeFiles{}}
	services := slices.Clone(s.Services)
	for i, service := range services {
		for _, title := range slices.Sorted(maps.Keys(service.Configuration[fileType])) {
			err := r.expand(&services[i], resource.Resource{Type: fileType, Title: title,
				Parameters: service.Configuration[fileType][title]})
			if err != nil {
				errs = append(errs, invalid.Error{Object: "service", Name: service.Name, Code: invalid.BadValue,
					Attribute: fmt.Sprintf("configuration.file[%q].%s", title, schema.SourceDir), Message: err.Error()})
			}
		}
	}
	if len(r.made) == 0 {
		return s, errs
	}
	s.Services = services
	for i := range services {
		r.refer(&services[i])
	}
	return s, errs
}

const fileType = "file"

// directories are those of the controller that a site has.
type directories struct {
	made map[resource.ID][]madeFiles // by the resource that has source_dir
}

// madeFiles are the titles of what is in the directory of a resource of a service.
type madeFiles struct {
	service string
	titles  []string
}

// expand replaces a resource of a service, if it has source_dir.
func (d *directories) expand(service *site.Service, r resource.Resource) error {
	if _, unknown := r.Parameters[schema.SourceDir].(resource.Unknown); !unknown && !r.Parameters.Has(schema.SourceDir) {
		return nil
	}
	declared := schema.File()
	if len(declared.Validate(r)) > 0 {
		return nil // the plan reports it
	}
	r = declared.Normalize(r)
	found, err := readDirectory(r.Parameters.String(schema.SourceDir), r.Parameters.Strings("ignore"))
	files := maps.Clone(service.Configuration[fileType])
	all := madeFiles{service: service.Name}
	for _, f := range found {
		title := path.Join(schema.FilePath(r), f.name)
		if _, given := files[title]; given {
			continue // it is given as a resource of its own
		}
		files[title] = f.parameters(r.Parameters)
		all.titles = append(all.titles, title)
	}
	files[r.Title] = directoryItself(r.Parameters)
	service.Configuration = maps.Clone(service.Configuration)
	service.Configuration[fileType] = files
	d.made[r.ID()] = append(d.made[r.ID()], all)
	return err
}

// directoryItself returns the parameters of the directory without what is in it.
func directoryItself(given resource.Parameters) resource.Parameters {
	p := maps.Clone(given)
	delete(p, schema.SourceDir)
	p["ensure"] = "directory"
	if p.Bool("purge") {
		p["recurse"] = true
	}
	if !p.Bool("recurse") {
		delete(p, "ignore")
		delete(p, "purge")
	}
	return p
}

// inDirectory is something in a directory of the controller.
type inDirectory struct {
	name   string // below the directory, with /
	path   string // on the controller
	mode   fs.FileMode
	sum    string // of a file
	target string // of a link
}

// handedDown are the parameters that all in a directory has from the resource of the directory.
var handedDown = []string{"owner", "group", "mode", "backup", "force", resource.Require, resource.Before, resource.Notify,
	resource.Subscribe, resource.Noop, resource.Sensitive, resource.Guard}

// parameters returns those of the resource that it is, below a directory with the parameters given.
func (f inDirectory) parameters(given resource.Parameters) resource.Parameters {
	p := resource.Parameters{}
	for _, name := range handedDown {
		if given.Has(name) {
			p[name] = given[name]
		}
	}
	if f.target != "" {
		delete(p, "mode")
		p["target"] = f.target
		return p
	}
	if !p.Has("mode") {
		p["mode"] = fmt.Sprintf("%04o", f.mode.Perm())
	}
	if f.mode.IsDir() {
		p["ensure"] = "directory"
		return p
	}
	p[resource.SourceFile], p[schema.SourceSHA256] = f.path, f.sum
	return p
}

// readDirectory lists what is in a directory, a directory before what is in it, without what is ignored.
func readDirectory(dir string, ignore []string) (found []inDirectory, err error) {
	size := int64(0)
	err = filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at == dir && !entry.IsDir():
			return fmt.Errorf("%q is no directory; write source_file for a file", dir)
		case at == dir:
			return nil
		case slices.ContainsFunc(ignore, func(pattern string) bool {
			matches, err := path.Match(pattern, entry.Name())
			return matches && err == nil
		}):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		f, err := inDirectoryAt(dir, at, entry)
		if err != nil {
			return err
		}
		if info, err := entry.Info(); err == nil && f.sum != "" {
			size += info.Size()
		}
		if found = append(found, f); len(found) > mostInDirectory || size > mostDirectoryBytes {
			return fmt.Errorf("%q has more than %d files and directories, or more than 1 GiB in them; ignore what is not meant, "+
				"or put it into a package", dir, mostInDirectory)
		}
		return nil
	})
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%q: %w; correct the path", failed.Path, failed.Err)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

func inDirectoryAt(dir, at string, entry fs.DirEntry) (f inDirectory, err error) {
	name, err := filepath.Rel(dir, at)
	if err != nil {
		return f, err
	}
	info, err := entry.Info()
	if err != nil {
		return f, err
	}
	f = inDirectory{name: filepath.ToSlash(name), path: at, mode: info.Mode()}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		f.target, err = os.Readlink(at)
	case info.IsDir():
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%q is a device, pipe or socket; ignore it, or remove it", at)
	case info.Size() > schema.MostSource:
		err = fmt.Errorf("%q has %d bytes, and may have at most %d (100 MiB)", at, info.Size(), schema.MostSource)
	default:
		f.sum, err = sumOf(at)
		if err != nil {
			err = fmt.Errorf("%q: %w", at, err)
		}
	}
	return f, err
}

// refer lets references of a service to a directory mean also what is in it. A resource of the same service is named by
// what is in the directory, so that a file that comes or goes changes nothing else; one of another service names it.
func (d *directories) refer(service *site.Service) {
	own := map[string]bool{} // titles of what is in directories
	for _, all := range d.made {
		for _, m := range all {
			for _, title := range m.titles {
				own[title] = own[title] || m.service == service.Name
			}
		}
	}
	inverse := map[string]string{resource.Require: resource.Before, resource.Subscribe: resource.Notify}
	type reference struct{ from, parameter, to string }
	var more []reference
	for typ, titles := range service.Configuration {
		for title, p := range titles {
			if typ == fileType && own[title] {
				continue
			}
			r := resource.Resource{Type: typ, Title: title, Parameters: p}
			for _, parameter := range []string{resource.Require, resource.Subscribe, resource.Before, resource.Notify} {
				for _, to := range r.References(parameter) {
					m := d.of(to, service.Name)
					for _, child := range m.titles {
						switch back := inverse[parameter]; {
						case m.service == service.Name && back != "":
							more = append(more, reference{string(resource.MakeID(fileType, child)), back, string(r.ID())})
						default:
							more = append(more, reference{string(r.ID()), parameter, string(resource.MakeID(fileType, child))})
						}
					}
				}
			}
		}
	}
	if len(more) == 0 {
		return
	}
	byFrom := map[string][]reference{}
	for _, m := range more {
		byFrom[m.from] = append(byFrom[m.from], m)
	}
	configuration := make(resource.Configuration, len(service.Configuration))
	for typ, titles := range service.Configuration {
		configuration[typ] = make(map[string]resource.Parameters, len(titles))
		for title, p := range titles {
			if all := byFrom[string(resource.MakeID(typ, title))]; len(all) > 0 {
				p = maps.Clone(p)
				for _, m := range all {
					p[m.parameter] = append(references(p[m.parameter]), m.to)
				}
			}
			configuration[typ][title] = p
		}
	}
	service.Configuration = configuration
}

// references returns the value of a metaparameter as a list of its own.
func references(value any) []any {
	switch v := value.(type) {
	case []any:
		return slices.Clone(v)
	case nil:
		return nil
	}
	return []any{value}
}

// of returns what is in the directory of a resource that a service refers to: that of its own, or of the only service
// that has it.
func (d *directories) of(id resource.ID, service string) madeFiles {
	all := d.made[id]
	for _, m := range all {
		if m.service == service {
			return m
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return madeFiles{}
}

// unread refuses directories that were not read.
func (p *Planned) unread() (errs invalid.Errors) {
	if p.Plan == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, phase := range p.Plan.Phases {
		for _, t := range phase.Tasks {
			key := t.Service + "\x00" + string(t.Resource.ID())
			if t.Resource.Type != fileType || !t.Resource.Parameters.Has(schema.SourceDir) || seen[key] {
				continue
			}
			seen[key] = true
			errs = append(errs, invalid.Error{Object: "service", Name: t.Service, Code: invalid.BadValue,
				Attribute: fmt.Sprintf("file[%q].%s", t.Resource.Title, schema.SourceDir),
				Message: "is read for the configuration of a service only, and not in an override or in the template of an entity; " +
					"move it to the configuration of a service"})
		}
	}
	return errs
}
