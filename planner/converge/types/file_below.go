package types

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// What a directory with recurse looks after below it.
const (
	mostBelow     = 50_000   // that is looked at
	mostKept      = 2_000    // of which the ledger knows what was there before
	mostKeptBytes = 64 << 20 // of the content of those
)

// below is something below a directory.
type below struct {
	path  string
	kind  string
	info  system.Info
	goes  bool // nobody manages it, and it is purged
	alone bool // it has a resource of its own, so it keeps its attributes
}

// lookBelow lists what is below the directory of a resource with recurse: a directory, then what is in it. It follows
// no link, and leaves out what is mounted there, what is ignored, and devices, pipes and sockets.
func lookBelow(ctx context.Context, s *Session, r resource.Resource) ([]below, error) {
	p, at := r.Parameters, schema.FilePath(r)
	if kind, _, err := look(s, at); err != nil || kind != fileDirectory || !p.Bool("recurse") {
		return nil, err
	}
	w := belowWalk{
		Session: s, resource: r, managed: s.managed(), clones: s.clones(), purge: p.Bool("purge"), force: p.Bool("force"),
		deepest: int(p.IntOr("recurselimit", mostBelow)), real: s.ResolveLinks(at, false),
	}
	_, err := w.directory(ctx, at, 1)
	return w.found, err
}

type belowWalk struct {
	*Session
	resource     resource.Resource
	real         string // the path of the directory, without links
	managed      map[string]bool
	clones       map[string]bool // of git: what is in them is theirs
	purge, force bool
	deepest      int
	found        []below
}

// directory lists what is in a directory, and reports whether all of it goes.
func (w *belowWalk) directory(ctx context.Context, dir string, depth int) (empty bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	names, err := w.ReadDir(dir)
	if err != nil {
		return false, err
	}
	empty = true
	for _, name := range names {
		goes, err := w.one(ctx, dir, name, depth)
		if err != nil {
			return false, err
		}
		empty = empty && goes
	}
	return empty, nil
}

func (w *belowWalk) one(ctx context.Context, dir, name string, depth int) (goes bool, err error) {
	if len(w.found) >= mostBelow {
		return false, fmt.Errorf("recurse: more than %d files are below %s; give recurselimit, or ignore what is not meant",
			mostBelow, schema.FilePath(w.resource))
	}
	at := path.Join(dir, name)
	if at == system.Home || slices.ContainsFunc(w.resource.Parameters.Strings("ignore"), func(pattern string) bool {
		matches, err := path.Match(pattern, name)
		return matches && err == nil
	}) {
		return false, nil
	}
	kind, info, err := look(w.Session, at)
	if err != nil || kind == fileOther || kind == fileAbsent {
		return kind == fileAbsent, err
	}
	if mounted, err := w.IsMountPoint(at); mounted || err != nil {
		return false, err
	}
	if w.clones[w.real+strings.TrimPrefix(at, schema.FilePath(w.resource))] {
		return false, nil
	}
	alone, kept := w.managed[w.real+strings.TrimPrefix(at, schema.FilePath(w.resource))]
	w.found = append(w.found, below{path: at, kind: kind, info: info, alone: alone})
	i := len(w.found) - 1
	goes = w.purge && !kept
	if kind == fileDirectory {
		goes = goes && w.force && depth < w.deepest
		if depth < w.deepest {
			empty, err := w.directory(ctx, at, depth+1)
			if err != nil {
				return false, err
			}
			goes = goes && empty
		}
	}
	w.found[i].goes = goes
	return goes, nil
}

// clones returns the paths of clones that resources of any site look after.
func (s *Session) clones() map[string]bool {
	paths := map[string]bool{}
	for _, r := range s.Wanted {
		if r.Type == "vcsrepo" {
			paths[s.ResolveLinks(schema.FilePath(r), false)] = true
		}
	}
	if s.Ledger == nil {
		return paths
	}
	for _, e := range s.Ledger.Entries {
		if e.Type == "vcsrepo" {
			paths[s.ResolveLinks(e.Paths()[0], false)] = true
		}
	}
	return paths
}

// managed returns the paths that resources of any site look after: true, and the directories above them: false.
func (s *Session) managed() map[string]bool {
	paths := map[string]bool{}
	add := func(p string) {
		if !path.IsAbs(p) {
			return
		}
		p = s.ResolveLinks(p, false)
		paths[p] = true
		for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
			paths[dir] = paths[dir] || false
		}
	}
	of := func(r resource.Resource) {
		switch r.Type {
		case "file":
			add(schema.FilePath(r))
			add(schema.FileCopy(r))
		case "mount":
			add(r.Title)
		case "sysctl":
			add(sysctlFile(r.Title))
		}
		for _, p := range schema.Edited(r) {
			add(p)
		}
	}
	for _, r := range s.Wanted {
		of(r)
	}
	if s.Ledger == nil {
		return paths
	}
	for _, e := range s.Ledger.Entries {
		if e.Type == "archive" && e.ID == s.ID {
			continue // what it brings is its own
		}
		for _, p := range e.Paths() {
			add(p)
		}
		for _, p := range archivePaths(s, e) {
			add(p)
		}
		if e.Type == "mount" || e.Type == "sysctl" {
			of(resource.Resource{Type: e.Type, Title: e.Title})
		}
	}
	return paths
}

// differs returns the attributes that r gives and b does not have, as they are and as they should be. What goes, has a
// resource of its own, or is a link, has none.
func (b below) differs(
	s *Session, r resource.Resource, a system.Attributes,
) (map[string][2]string, system.Attributes, error) {
	var todo system.Attributes
	if b.goes || b.alone || b.kind == fileLink {
		return nil, todo, nil
	}
	found := map[string][2]string{}
	if text := r.Parameters.String("mode"); text != "" {
		mode, err := wantedMode(text, b.kind, system.ChmodBits(b.info.Mode))
		if err != nil {
			return nil, todo, err
		}
		if is := system.ChmodBits(b.info.Mode); is != uint32(mode) {
			found["mode"], todo.Mode = [2]string{fmt.Sprintf("%04o", is), fmt.Sprintf("%04o", uint32(mode))}, &mode
		}
	}
	for _, o := range owners(s, r.Type) {
		if id := *o.in(&a); id != nil && *id != o.of(b.info) {
			name, err := o.name(o.of(b.info))
			if err != nil {
				return nil, todo, err
			}
			found[o.parameter] = [2]string{name, r.Parameters.String(o.parameter)}
			*o.in(&todo) = id
		}
	}
	return found, todo, nil
}

// compareBelow notes what is to go and whose attributes differ below the directory.
func compareBelow(ctx context.Context, s *Session, c *comparison) error {
	r := c.resource
	all, err := lookBelow(ctx, s, r)
	if err != nil || len(all) == 0 {
		return err
	}
	a, err := wantedAttributes(s, r)
	if err != nil {
		return nil //nolint:nilerr // an account that another resource may make: the directory itself differs
	}
	var going []string
	type difference struct {
		first, should string
		more          int
	}
	attributes := map[string]*difference{}
	for _, b := range all {
		name := strings.TrimPrefix(b.path, schema.FilePath(r)+"/")
		if b.goes {
			going = append(going, name)
			continue
		}
		found, _, err := b.differs(s, r, a)
		if err != nil {
			return err
		}
		for parameter, values := range found {
			if d := attributes[parameter]; d != nil {
				d.more++
				continue
			}
			attributes[parameter] = &difference{first: values[0] + " of " + name, should: values[1]}
		}
	}
	for _, parameter := range []string{"mode", "owner", "group"} {
		if d := attributes[parameter]; d != nil {
			c.text(parameter, d.first+andMore(d.more), d.should)
		}
	}
	if len(going) > 0 {
		shown := going[:min(len(going), namesShown)]
		c.text("purge", strings.Join(shown, ", ")+andMore(len(going)-len(shown)), fileAbsent)
	}
	return nil
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// applyBelow removes what is to go, and gives the rest the attributes that differ.
func applyBelow(ctx context.Context, s *Session, r resource.Resource, a system.Attributes) error {
	all, err := lookBelow(ctx, s, r)
	if err != nil {
		return err
	}
	for _, b := range slices.Backward(all) { // what is in a directory goes before it
		if b.goes {
			if err := s.Remove(b.path); err != nil {
				return fmt.Errorf("purge: %w", err)
			}
		}
	}
	for _, b := range all {
		found, todo, err := b.differs(s, r, a)
		if err == nil && len(found) > 0 {
			err = s.SetAttributes(b.path, todo)
		}
		if err != nil {
			return fmt.Errorf("recurse: %w", err)
		}
	}
	return nil
}

// keepBelow takes down what is below the directory and is about to go or to get other attributes, unless backup is
// false. What is known of already stays as it was.
func (b *fileBefore) keepBelow(ctx context.Context, s *Session, r resource.Resource) error {
	if !r.Parameters.Bool("recurse") || !r.Parameters.BoolOr("backup", true) {
		return nil
	}
	all, err := lookBelow(ctx, s, r)
	if err != nil {
		return err
	}
	a, err := wantedAttributes(s, r)
	if err != nil {
		return nil //nolint:nilerr // Apply reports it
	}
	type change struct {
		below
		said []string
	}
	var changes []change
	size := int64(0)
	for _, is := range all {
		found, _, err := is.differs(s, r, a)
		if err != nil {
			return err
		}
		c := change{below: is}
		for _, name := range []string{"mode", "owner", "group"} {
			if _, differs := found[name]; differs || is.goes {
				c.said = append(c.said, name)
			}
		}
		if is.goes {
			c.said = append(c.said, saidContent)
		}
		if is.goes && is.kind == fileFile {
			size += is.info.Size
		}
		if len(c.said) > 0 {
			changes = append(changes, c)
		}
	}
	if len(b.Below)+len(changes) > mostKept || size > mostKeptBytes {
		return fmt.Errorf("recurse: it would change more below %s than can be kept for undo (%d files, %d MiB); give "+
			"backup = false to change it without, or clear the directory by hand first", b.Path, mostKept, mostKeptBytes>>20)
	}
	for _, c := range changes {
		if err := b.below(c.below).keepAs(s, c.below, c.said); err != nil {
			return err
		}
	}
	return nil
}

// below returns the record of something below the directory, a new one where there was none.
func (b *fileBefore) below(is below) *fileBefore {
	i := slices.IndexFunc(b.Below, func(known fileBefore) bool { return known.Path == is.path })
	if i < 0 {
		i = len(b.Below)
		b.Below = append(b.Below, fileBefore{Path: is.path})
		b.Below[i].is(is.kind, is.info)
	}
	return &b.Below[i]
}

// keepAs adds what is said of something below a directory for the first time.
func (b *fileBefore) keepAs(s *Session, is below, said []string) error {
	known := len(b.Said) > 0
	for _, name := range said {
		if b.says(name) {
			continue
		}
		b.Said = append(b.Said, name)
		switch {
		case !known || is.kind != b.Kind:
		case name == "mode":
			b.Mode = system.ChmodBits(is.info.Mode)
		case name == "owner":
			b.UID = is.info.UID
		case name == "group":
			b.GID = is.info.GID
		}
		if name == saidContent && is.kind == b.Kind {
			if err := b.keep(s, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// undoBelow brings back what was below a directory, but for what a resource looks after by now. What cannot come back
// keeps nothing else from it.
func (t fileType) undoBelow(ctx context.Context, s *Session, title string, b *fileBefore) error {
	managed := s.managed()
	dir := s.ResolveLinks(b.Path, false)
	all := slices.Clone(b.Below)
	slices.SortFunc(all, func(x, y fileBefore) int { return strings.Compare(x.Path, y.Path) }) // a directory comes first
	var err error
	for _, below := range all {
		if !managed[dir+strings.TrimPrefix(below.Path, b.Path)] {
			err = alsoGone(err, t.undo(ctx, s, title, &below))
		}
	}
	return err
}

// alsoGone joins the errors of two parts of an undo. It is a gone only when nothing else is wrong.
func alsoGone(a, b error) error {
	aText, aOther := AsGone(a)
	bText, bOther := AsGone(b)
	switch {
	case aOther != nil || bOther != nil:
		return errors.Join(aOther, bOther)
	case aText == "" || bText == "":
		return errors.Join(a, b)
	}
	return gone{aText + "; " + bText}
}
