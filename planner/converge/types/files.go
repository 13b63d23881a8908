package types

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// filesType looks after whole files, and after what reads them. Which ones, and what that is, says the table
// filesTypes by the name of the type.
type filesType struct {
	recorded[filesType, *filesBefore]
	name string
}

// filesKind is what is particular to one of the types.
type filesKind struct {
	schema func() resource.Schema
	files  func(resource.Resource) []resource.Resource // at least one; which ones depends on the aim only
	live   *liveState                                  // what the node has besides the files; optional
	// read makes the node read the files after they were written; optional. When it fails, they are put back.
	read func(ctx context.Context, s *Session, r resource.Resource) error
}

// liveState is what a running node has, besides files. Undo brings it back.
type liveState struct {
	parameter string
	of        func(r resource.Resource) (object, value string) // what it is about, and what it should be
	is        func(ctx context.Context, s *Session, object string) (string, error)
	set       func(ctx context.Context, s *Session, object, value string) error
	blind     bool // is does not see all that files change, so it is set after each change of them
}

var filesTypes = map[string]filesKind{
	"apt_repository": {schema.AptRepository, schema.AptFiles, nil, fetchIndex},
	"hostname":       {schema.Hostname, schema.HostnameFiles, &liveHostname, nil},
	"kernel_module":  {schema.KernelModule, schema.ModuleFiles, &liveModule, nil},
	"systemd_unit":   {schema.SystemdUnit, schema.UnitFiles, &liveUnit, nil},
	"yum_repository": {schema.YumRepository, schema.YumFiles, nil, nil},
}

// filesBefore is what was there before slipway touched it.
type filesBefore struct {
	Path   string       `json:"path"` // of the first file
	Type   string       `json:"type"`
	Files  []fileBefore `json:"files"`
	Made   []string     `json:"made,omitempty"`   // directories above them that were not there
	Object string       `json:"object,omitempty"` // of the live state
	Live   string       `json:"live,omitempty"`
	Image  bool         `json:"image,omitempty"` // it is of the start of a run
}

// check is called by decode.
func (b filesBefore) check() error {
	var errs []error
	for _, f := range b.Files {
		errs = append(errs, f.check())
	}
	if _, known := filesTypes[b.Type]; !known || len(b.Files) == 0 {
		errs = append(errs, errors.New("it is damaged: it names no type or no file"))
	}
	return errors.Join(errs...)
}

func (t filesType) Schema() resource.Schema { return filesTypes[t.name].schema() }

func (t filesType) Check(ctx context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	c, kind := comparison{resource: r}, filesTypes[r.Type]
	for i, f := range kind.files(r) {
		found, err := fileType{}.Check(ctx, s, f)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if f.Sensitive() && d.Parameter == "content" { // which the resource itself may not be
				d.Is, d.Should = Hidden, Hidden
			}
			if i > 0 {
				d.Parameter = f.Title + ": " + d.Parameter
			}
			c.found = append(c.found, d)
		}
	}
	if l := kind.live; l != nil {
		object, should := l.of(r)
		is, err := l.is(ctx, s, object)
		if err != nil {
			return nil, err
		}
		c.text(l.parameter, is, should)
	}
	return c.found, nil
}

// Diff shows how the first file that differs is to change.
func (t filesType) Diff(ctx context.Context, s *Session, r resource.Resource) (string, error) {
	for _, f := range filesTypes[r.Type].files(r) {
		if f.Sensitive() {
			continue
		}
		if text, err := (fileType{}).Diff(ctx, s, f); text != "" || err != nil {
			return text, err
		}
	}
	return "", nil
}

func (filesType) capture(ctx context.Context, s *Session, r resource.Resource) (*filesBefore, error) {
	kind := filesTypes[r.Type]
	b := filesBefore{Type: r.Type}
	for _, f := range kind.files(r) {
		if err := b.above(s, f.Title); err != nil {
			return &b, err
		}
		before, err := fileType{}.capture(ctx, s, f)
		if err != nil {
			return &b, err
		}
		b.Files = append(b.Files, *before)
	}
	b.Path = b.Files[0].Path
	if kind.live == nil {
		return &b, nil
	}
	var err error
	b.Object, _ = kind.live.of(r)
	b.Live, err = kind.live.is(ctx, s, b.Object)
	return &b, err
}

// above takes down which directories above a file are not there.
func (b *filesBefore) above(s *Session, file string) error {
	made, err := s.MissingAbove(file)
	for _, dir := range made {
		if !slices.Contains(b.Made, dir) {
			b.Made = append(b.Made, dir)
		}
	}
	return err
}

func (filesType) widen(ctx context.Context, s *Session, r resource.Resource, b *filesBefore) error {
	files := filesTypes[r.Type].files(r)
	for i := range min(len(files), len(b.Files)) {
		if err := (fileType{}).widen(ctx, s, files[i], &b.Files[i]); err != nil {
			return err
		}
	}
	return nil
}

func (filesType) now(ctx context.Context, s *Session, title string, b *filesBefore) (*filesBefore, error) {
	n := *b
	n.Files, n.Made, n.Image = make([]fileBefore, len(b.Files)), nil, true
	for i := range b.Files {
		if err := n.above(s, b.Files[i].Path); err != nil {
			return nil, err
		}
		f, err := fileType{}.now(ctx, s, title, &b.Files[i])
		if err != nil {
			return nil, err
		}
		n.Files[i] = *f
	}
	if l := filesTypes[b.Type].live; l != nil {
		var err error
		if n.Live, err = l.is(ctx, s, b.Object); err != nil {
			return nil, err
		}
	}
	return &n, nil
}

func (filesType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	kind := filesTypes[r.Type]
	was, err := contentsOf(s, kind.files(r))
	if err != nil {
		return err
	}
	for _, f := range kind.files(r) {
		if found, err := (fileType{}).Check(ctx, s, f); err != nil || len(found) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		if f.Parameters.String("ensure") != fileAbsent {
			if err := s.MakeAbove(f.Title); err != nil {
				return err
			}
		}
		if err := (fileType{}).Apply(ctx, s, f); err != nil {
			return err
		}
	}
	if kind.read != nil && s.Machine() && !schema.WantsAbsent(r) {
		if err := kind.read(ctx, s, r); err != nil {
			return errors.Join(fmt.Errorf("%w; the files are as they were before", err), was.putBack(s))
		}
	}
	if kind.live == nil {
		return nil
	}
	object, should := kind.live.of(r)
	return kind.live.ensure(ctx, s, object, should)
}

// ensure sets the live state of an object where it is another one.
func (l *liveState) ensure(ctx context.Context, s *Session, object, should string) error {
	is, err := l.is(ctx, s, object)
	if err != nil || is == should && !l.blind {
		return err
	}
	return l.set(ctx, s, object, should)
}

// fileContents is what files have, by path; nil is no file.
type fileContents map[string][]byte

func contentsOf(s *Session, files []resource.Resource) (fileContents, error) {
	was := fileContents{}
	for _, f := range files {
		content, err := s.ReadFile(f.Title)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		was[f.Title] = content
	}
	return was, nil
}

func (w fileContents) putBack(s *Session) error {
	var errs []error
	for at, content := range w {
		if content == nil {
			errs = append(errs, s.Remove(at))
			continue
		}
		errs = append(errs, s.ReplaceFile(at, content, system.Attributes{}))
	}
	return errors.Join(errs...)
}

func (filesType) there(ctx context.Context, s *Session, title string, b *filesBefore) (bool, error) {
	for i := range b.Files {
		if is, err := (fileType{}).there(ctx, s, title, &b.Files[i]); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

func (filesType) undo(ctx context.Context, s *Session, title string, b *filesBefore) error {
	var left []error
	for i := range slices.Backward(b.Files) {
		if b.Image && b.Files[i].Kind != fileAbsent {
			if err := s.MakeAbove(b.Files[i].Path); err != nil {
				return err
			}
		}
		err := fileType{}.undo(ctx, s, title, &b.Files[i])
		if _, other := AsGone(err); other != nil {
			return err
		}
		left = append(left, err)
	}
	left = append(left, s.removeMade(b.Made))
	if l := filesTypes[b.Type].live; l != nil {
		left = append(left, l.ensure(ctx, s, b.Object, b.Live))
	}
	return errors.Join(left...)
}

// fetchIndex fetches the index of one repository of apt, from wherever it is. What apt only warns of, as of a server
// that does not answer, is an error here.
func fetchIndex(ctx context.Context, s *Session, r resource.Resource) error {
	if !r.Parameters.BoolOr("enabled", true) {
		return nil
	}
	defer s.Forget()
	err := aptUpdate(ctx, s, "-o", "Dir::Etc::sourcelist="+schema.AptSource(r), "-o", "Dir::Etc::sourceparts=-",
		"-o", "APT::Get::List-Cleanup=0", "-o", "APT::Update::Error-Mode=any")
	if err != nil {
		err = fmt.Errorf("fetch the index of the repository: %w", err)
	}
	return err
}

// liveHostname is the name that the kernel has.
var liveHostname = liveState{
	"hostname",
	func(r resource.Resource) (object, value string) { return "", schema.NodeName(r) },
	func(_ context.Context, s *Session, _ string) (string, error) {
		name, err := s.ReadFile("/proc/sys/kernel/hostname")
		return strings.TrimSpace(string(name)), err
	},
	func(ctx context.Context, s *Session, _, name string) error {
		return mustRun(ctx, s, system.Command{Argv: []string{"hostname", name}})
	},
	false,
}

// The states of a module.
const (
	loaded    = "loaded"
	notLoaded = "not loaded"
)

// liveModule is whether a module is loaded.
var liveModule = liveState{
	"loaded",
	func(r resource.Resource) (object, value string) {
		if schema.WantsAbsent(r) {
			return schema.ModuleName(r), notLoaded
		}
		return schema.ModuleName(r), loaded
	},
	func(_ context.Context, s *Session, name string) (string, error) {
		there, err := moduleThere(s, name)
		if there {
			return loaded, err
		}
		return notLoaded, err
	},
	func(ctx context.Context, s *Session, name, should string) error {
		c := system.Command{Argv: []string{"modprobe", "--", name}}
		if should == notLoaded {
			c.Argv = []string{"modprobe", "-r", "--", name}
		}
		if err := mustRun(ctx, s, c); err != nil {
			return fmt.Errorf("kernel module %s: %w", name, err)
		}
		if is, err := moduleThere(s, name); err != nil || is == (should == loaded) {
			return err
		}
		return fmt.Errorf("kernel module %s: %s succeeded, and it is not %s; the kernel may have it built in", name,
			strings.Join(c.Argv, " "), should)
	},
	false,
}

// moduleThere reports whether the kernel has a module, loaded or built in.
func moduleThere(s *Session, name string) (bool, error) {
	if there, err := s.Exists("/sys/module/" + name); there || err != nil {
		return there, err
	}
	release, err := s.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return false, err
	}
	builtin, err := s.ReadFile("/lib/modules/" + strings.TrimSpace(string(release)) + "/modules.builtin")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for file := range strings.Lines(string(builtin)) {
		if strings.ReplaceAll(path.Base(strings.TrimSpace(file)), "-", "_") == name+".ko" {
			return true, nil
		}
	}
	return false, err
}

// liveUnit is whether systemd has read the files of a unit. In a sandbox, or where systemd does not run, nothing reads
// them. systemd does not see a first drop-in of a unit before it reads all again, and of a template it knows only
// the units that are made from it.
var liveUnit = liveState{
	"read",
	func(r resource.Resource) (object, value string) { return schema.UnitName(r), "" },
	func(ctx context.Context, s *Session, unit string) (string, error) {
		if runs, err := systemdRuns(s); err != nil || !runs {
			return "", err
		}
		loaded := strings.Replace(unit, "@.", "@*.", 1)
		c := system.Command{
			Argv: []string{"systemctl", "show", "--no-pager", "-p", "NeedDaemonReload", "--", loaded},
		}
		out, err := ask(ctx, s, c)
		if err == nil && strings.Contains(string(out.Stdout), "=yes") {
			return "systemd has an earlier form", nil
		}
		return "", err
	},
	func(ctx context.Context, s *Session, _, _ string) error {
		if runs, err := systemdRuns(s); err != nil || !runs {
			return err
		}
		return mustRun(ctx, s, system.Command{Argv: []string{"systemctl", "daemon-reload"}})
	},
	true,
}

func systemdRuns(s *Session) (bool, error) {
	runs, err := s.Exists("/run/systemd/system")
	return runs && s.Machine(), err
}
