package types

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// mountType looks after a line of /etc/fstab and what is mounted. It never shows options to the commands that it runs,
// because they may hold a password: mount(8) reads them from fstab.
type mountType struct {
	recorded[mountType, *mountBefore]
}

func (mountType) Schema() resource.Schema { return schema.Mount() }

const mountinfoPath = "/proc/self/mountinfo"

func mountEnsure(r resource.Resource) string {
	ensure := r.Parameters.StringOr("ensure", "mounted")
	if ensure == "defined" {
		return "present"
	}
	return ensure
}

// mountBefore is what was there of a mount point before slipway touched it.
type mountBefore struct {
	entries
	// Said says that the resource has said something of what is mounted, besides the line in fstab; Mounted is what that
	// was.
	Said    bool     `json:"said,omitempty"`
	Mounted *mounted `json:"mounted,omitempty"`
	// Swap is the device of an area for swapping, as fstab names it; empty for what is mounted.
	Swap string `json:"swap,omitempty"`
	// Unmounts says that a remount does not do for what is mounted, in the resource's present form.
	Unmounts bool `json:"unmounts,omitempty"`
}

// remounts reports whether what is mounted takes new options by a remount.
func remounts(r resource.Resource) bool { return r.Parameters.BoolOr("remounts", true) }

func (mountType) mounted(s *Session, point string) (*mounted, error) {
	content, err := s.ReadFile(mountinfoPath)
	if err != nil {
		return nil, err
	}
	if m := findMounted(string(content), point); m != nil {
		return m, nil
	}
	return findMounted(string(content), s.ResolveLinks(point, true)), nil // the kernel knows it without links
}

// Resolve follows the links in the path, except where something is mounted by it: then it has none, and a look at it
// may hang.
func (mountType) Resolve(s *Session, object string) string {
	if device, swap := strings.CutPrefix(object, swapType+" "); swap {
		return swapType + " " + mountPoint{swap: device}.device(s)
	}
	if content, err := s.ReadFile(mountinfoPath); err == nil && findMounted(string(content), object) != nil {
		return object
	}
	return s.ResolveLinks(object, true)
}

func (t mountType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	f, err := s.readText(fstab.path)
	if err != nil {
		return nil, err
	}
	at := pointOf(r)
	live, err := at.live(s)
	if err != nil {
		return nil, err
	}
	found := at.find()(f.lines)
	c := comparison{resource: r}
	c.state(mountState(mountEnsure(r), len(found) > 0, live != nil), mountEnsure(r))
	if schema.WantsAbsent(r) || len(found) == 0 {
		return c.found, nil
	}
	is, should := fstab.compare(&c, f.lines, found)
	if live != nil && mountEnsure(r) == "mounted" && is["options"] == should["options"] {
		against := live.against
		if at.swap != "" {
			against = live.againstSwap
		}
		have, want := against(should["options"])
		c.text("options", strings.Join(have, ","), strings.Join(want, ","))
	}
	return c.found, nil
}

// mountState names what is there in the words of ensure; what the desired state does not care about counts as desired.
func mountState(should string, inFstab, live bool) string {
	switch {
	case should == "absent" && !inFstab && live:
		return "mounted"
	case !inFstab:
		return "absent"
	case should == "present":
		return "present"
	case live:
		return "mounted"
	}
	return "unmounted"
}

func (t mountType) capture(_ context.Context, s *Session, r resource.Resource) (*mountBefore, error) {
	at := pointOf(r)
	e, err := s.remember(r.Sensitive(), fstab.path, at.find())
	b := mountBefore{entries: e, Swap: at.swap}
	if err == nil {
		err = t.note(s, r, &b, nil)
	}
	return &b, err
}

// now takes down the line, and what is mounted where the resource has said something of that.
func (t mountType) now(_ context.Context, s *Session, title string, b *mountBefore) (*mountBefore, error) {
	at := b.point(title)
	e, err := s.remember(true, fstab.path, at.find())
	e.Fields, e.Image = b.Fields, true
	n := mountBefore{entries: e, Said: b.Said, Unmounts: b.Unmounts, Swap: b.Swap}
	if err == nil && n.Said {
		n.Mounted, err = at.live(s)
	}
	return &n, err
}

// widen takes down what is mounted, and parts of the line, when r is the first to say something of them.
func (t mountType) widen(_ context.Context, s *Session, r resource.Resource, b *mountBefore) error {
	f, err := s.readText(fstab.path)
	if err != nil {
		return err
	}
	return t.note(s, r, b, f.lines)
}

// release returns parts of the line that was there, or fstab's defaults for a line that slipway made, and what was
// mounted when the resource no longer says anything of that.
func (mountType) release(
	_ context.Context, s *Session, r resource.Resource, b *mountBefore,
) (resource.Parameters, error) {
	returning, err := fstab.release(s, &b.entries, r, pointOf(r).find())
	if err == nil && b.Said && mountEnsure(r) == "present" {
		if returning["ensure"] = "unmounted"; b.Mounted != nil {
			returning["ensure"] = "mounted"
		}
		b.Said, b.Mounted = false, nil
	}
	return returning, err
}

func (t mountType) note(s *Session, r resource.Resource, b *mountBefore, l lines) (err error) {
	at := pointOf(r)
	fstab.widen(&b.entries, r, l, at.find()(l))
	b.Unmounts = !remounts(r)
	if !b.Said && mountEnsure(r) != "present" {
		b.Said = true
		b.Mounted, err = at.live(s)
	}
	return err
}

func (t mountType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	f, err := s.readText(fstab.path)
	if err != nil {
		return err
	}
	at := pointOf(r)
	live, err := at.live(s)
	if err != nil {
		return err
	}
	former := f.lines
	f.lines = fstab.set(f.lines, at.find()(f.lines), mountLine(r))
	ensure := mountEnsure(r)
	if live != nil && (ensure == "absent" || ensure == "unmounted" ||
		ensure == "mounted" && movesMount(former, f.lines, *live, at)) {
		if err := t.unmount(ctx, s, at); err != nil {
			return err
		}
		live = nil
	}
	if err := f.write(s, system.Attributes{}); err != nil {
		return err
	}
	if err := t.announce(ctx, s, f); err != nil || ensure != "mounted" {
		return err
	}
	if live == nil {
		return t.mountAsFile(ctx, s, at)
	}
	if err := t.remount(ctx, s, r, live); err != nil {
		// With the new line left in fstab, the next check would take the mount for as it should be.
		f.there, f.read, f.lines = true, "", former
		return errors.Join(err, f.write(s, system.Attributes{}))
	}
	return nil
}

// mountLine returns r with what a new line of it needs besides: swap is mounted nowhere.
func mountLine(r resource.Resource) resource.Resource {
	if schema.IsSwap(r) {
		r.Parameters = maps.Clone(r.Parameters)
		r.Parameters["name"] = "none"
	}
	return r
}

// remount has what is mounted take the options of fstab. An area for swapping takes another priority anew only.
func (t mountType) remount(ctx context.Context, s *Session, r resource.Resource, live *mounted) error {
	at := pointOf(r)
	if at.swap != "" {
		if is, _ := live.againstSwap(at.options(s)); len(is) == 0 {
			return nil
		}
	} else if remounts(r) {
		return t.run(ctx, s, "remount", r.Title, "mount", "-o", "remount")
	}
	if err := t.unmount(ctx, s, at); err != nil {
		return err
	}
	return t.mountAsFile(ctx, s, at)
}

// mountAsFile mounts, and gives what is mounted the owner, group and mode of the file resource for the mount point,
// which was applied to the directory below it. A file resource that comes later does that itself.
func (t mountType) mountAsFile(ctx context.Context, s *Session, at mountPoint) error {
	if err := t.mount(ctx, s, at); err != nil {
		return err
	}
	i := slices.IndexFunc(s.Wanted, func(r resource.Resource) bool { return schema.IsMountPoint(r, at.path) })
	if i < 0 || s.Applied(s.Wanted[i].ID()) == "" {
		return nil
	}
	file := s.Wanted[i]
	dir := resource.Resource{Type: file.Type, Title: at.path, Parameters: resource.Parameters{"ensure": fileDirectory}}
	for _, name := range schema.FileAttributes {
		if file.Parameters.Has(name) {
			dir.Parameters[name] = file.Parameters[name]
		}
	}
	found, err := fileType{}.Check(ctx, s, dir)
	if err == nil && len(found) > 0 {
		err = fileType{}.Apply(ctx, s, dir)
	}
	if err != nil {
		return fmt.Errorf("it is mounted, and does not take what %s says: %w", file.ID(), err)
	}
	return nil
}

// options returns those of its line in fstab; empty when it has none.
func (m mountPoint) options(s *Session) string {
	f, err := s.readText(fstab.path)
	if err != nil {
		return ""
	}
	found := m.find()(f.lines)
	if len(found) == 0 {
		return ""
	}
	e, _ := fstab.parse(f.lines[found[0].from].text)
	return e["options"]
}

// announce makes systemd read fstab again when that is no longer as it was read. Its mount units are made from fstab:
// with those of before it would go on to list what is gone, and might unmount what is mounted now.
func (mountType) announce(ctx context.Context, s *Session, f *textFile) error {
	if f.mark+string(f.lines.bytes()) == f.read {
		return nil
	}
	if systemd, err := s.Exists("/run/systemd/system"); err != nil || !systemd {
		return err // without one systemd does not run this node
	}
	return mustRun(ctx, s, system.Command{Argv: []string{"systemctl", "daemon-reload"}})
}

// movesMount reports whether what is mounted at a point becomes another thing, so that remounting is not enough.
func movesMount(former, now lines, live mounted, at mountPoint) bool {
	if at.swap != "" {
		return false // another device is another one
	}
	was, is := at.find()(former), at.find()(now)
	if len(is) == 0 {
		return false
	}
	b, _ := fstab.parse(now[is[0].from].text)
	if len(was) == 0 {
		return live.Source != b["device"]
	}
	a, _ := fstab.parse(former[was[0].from].text)
	return a["device"] != b["device"] || a["fstype"] != b["fstype"]
}

func (t mountType) unmount(ctx context.Context, s *Session, at mountPoint) error {
	if at.swap != "" {
		return at.swapOff(ctx, s)
	}
	return t.run(ctx, s, "unmount", at.path, "umount")
}

func (t mountType) mount(ctx context.Context, s *Session, at mountPoint) error {
	point := at.path
	if at.swap != "" {
		return at.swapOn(ctx, s, at.options(s))
	}
	if info, err := s.Lstat(point); err == nil && !info.IsDir() && !info.IsRegular() && !info.IsLink() {
		return fmt.Errorf("the mount point %s is neither a directory nor a file", point)
	} else if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the mount point %s is not there; add file[%q] with ensure = \"directory\", which comes first by "+
			"itself", point, point)
	} else if err != nil {
		return fmt.Errorf("the mount point: %w", err)
	}
	return t.run(ctx, s, "mount", point, "mount")
}

// run runs a command for a mount point; verb says what it does.
func (mountType) run(ctx context.Context, s *Session, verb, point string, command ...string) error {
	if err := mustRun(ctx, s, system.Command{Argv: append(command, point)}); err != nil {
		return fmt.Errorf("%s %s: %w", verb, point, err)
	}
	return nil
}

// Refresh mounts again what is mounted, with the options of fstab. What is to be unmounted is not, and swap cannot be.
func (t mountType) Refresh(ctx context.Context, s *Session, r resource.Resource) error {
	if schema.IsSwap(r) {
		return nil
	}
	live, err := t.mounted(s, r.Title)
	if err != nil || live == nil || live.FSType == "swap" {
		return err
	}
	if ensure := mountEnsure(r); ensure != "mounted" && ensure != "present" {
		return nil
	}
	return t.remount(ctx, s, r, live)
}

func (t mountType) there(_ context.Context, s *Session, title string, b *mountBefore) (bool, error) {
	at := b.point(title)
	live, err := at.live(s)
	if err != nil || live != nil {
		return live != nil, err
	}
	return s.findsIn(fstab.path, at.find())
}

// undo brings the line of fstab back and, where slipway was asked to look after that too, unmounts what is mounted by
// its line, and mounts again what was mounted.
func (t mountType) undo(ctx context.Context, s *Session, title string, b *mountBefore) error {
	f, err := s.readText(fstab.path)
	if err != nil {
		return err
	}
	at := b.point(title)
	former, err := b.former(s, at.find())
	if err != nil {
		return err
	}
	live, err := at.live(s)
	if err != nil {
		return err
	}
	if live != nil && b.Said && (b.Mounted == nil || live.Source != b.Mounted.Source || live.FSType != b.Mounted.FSType ||
		(b.Unmounts || at.swap != "") && live.Options != b.Mounted.Options) {
		if err := t.unmount(ctx, s, at); err != nil {
			return err
		}
		live = nil
	}
	f.lines = fstab.undo(f.lines, at.find()(f.lines), former, b.Fields)
	if err := b.writeBack(s, f, system.Attributes{}); err != nil {
		return err
	}
	if err := t.announce(ctx, s, f); err != nil || b.Mounted == nil {
		return err
	}
	if live == nil && at.swap == "" {
		if err := s.directoryGone(title+"/.", "what was mounted there before"); err != nil {
			return err
		}
	}
	switch {
	case at.swap != "" && live == nil:
		return at.swapOn(ctx, s, b.Mounted.Options)
	case at.swap != "":
		return nil
	case live == nil && len(former) > 0:
		return t.mount(ctx, s, at)
	case live == nil:
		// It was mounted by hand. The kernel's own account of it holds no password.
		argv := []string{"mount", "-t", b.Mounted.FSType, "-o", b.Mounted.Options, b.Mounted.Source, title}
		return mustRun(ctx, s, system.Command{Argv: argv})
	case live.Options != b.Mounted.Options:
		return mustRun(ctx, s, system.Command{Argv: []string{"mount", "-o", "remount," + b.Mounted.Options, title}})
	}
	return nil
}
