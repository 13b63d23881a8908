package types

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// mountType looks after a line of /etc/fstab and what is mounted. It never shows options to the commands that it runs,
// because they may hold a password: mount(8) reads them from fstab.
type mountType struct{}

func (mountType) Declared() schema.Type { return schema.Mount{} }

const (
	fstabPath     = "/etc/fstab"
	mountinfoPath = "/proc/self/mountinfo"
)

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
}

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
	if content, err := s.ReadFile(mountinfoPath); err == nil && findMounted(string(content), object) != nil {
		return object
	}
	return s.ResolveLinks(object, true)
}

func (t mountType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	f, err := s.readText(fstabPath)
	if err != nil {
		return nil, err
	}
	live, err := t.mounted(s, r.Title)
	if err != nil {
		return nil, err
	}
	found := findMount(r.Title)(f.lines)
	c := comparison{resource: r}
	c.state(mountState(mountEnsure(r), len(found) > 0, live != nil), mountEnsure(r))
	if schema.WantsAbsent(r) || len(found) == 0 {
		return c.found, nil
	}
	is, _ := parseFstab(f.lines[found[0].from].text)
	should := is.with(r)
	c.text("device", is.device, should.device)
	c.text("fstype", is.fstype, should.fstype)
	c.text("options", is.options, should.options)
	c.text("dump", is.dump, should.dump)
	c.text("pass", is.pass, should.pass)
	if live != nil && mountEnsure(r) == "mounted" && is.options == should.options {
		have, want := live.against(should.options)
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

func (t mountType) Capture(_ context.Context, s *Session, r resource.Resource) (json.RawMessage, error) {
	e, err := s.remember(r, fstabPath, findMount(r.Title))
	if err != nil {
		return nil, err
	}
	return t.widen(s, r, mountBefore{entries: e}, nil)
}

// Widen takes down what is mounted, and parts of the line, when r is the first to say something of them.
func (t mountType) Widen(
	_ context.Context, s *Session, r resource.Resource, before json.RawMessage,
) (json.RawMessage, error) {
	var b mountBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return nil, fmt.Errorf("what was there before: %w", err)
	}
	f, err := s.readText(fstabPath)
	if err != nil {
		return nil, err
	}
	return t.widen(s, r, b, f.lines)
}

// Release returns parts of the line that was there, or fstab's defaults for a line that slipway made, and what was
// mounted when the resource no longer says anything of that.
func (mountType) Release(
	_ context.Context, s *Session, r resource.Resource, before json.RawMessage,
) (resource.Parameters, json.RawMessage, error) {
	var b mountBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return nil, nil, fmt.Errorf("what was there before: %w", err)
	}
	former, err := b.former(s, findMount(r.Title))
	if err != nil {
		return nil, nil, err
	}
	was := fstabEntry{}.with(resource.Resource{Title: r.Title})
	if len(former) > 0 {
		was, _ = parseFstab(former[0].Lines[0])
	}
	values := map[string]string{"fstype": was.fstype, "options": was.options, "dump": was.dump, "pass": was.pass}
	returning := resource.Parameters{}
	for _, name := range b.release(r) {
		returning[name] = values[name]
		if n, err := strconv.ParseInt(values[name], 10, 64); err == nil && (name == "dump" || name == "pass") {
			returning[name] = n
		}
	}
	if b.Said && mountEnsure(r) == "present" {
		if returning["ensure"] = "unmounted"; b.Mounted != nil {
			returning["ensure"] = "mounted"
		}
		b.Said, b.Mounted = false, nil
	}
	rest, err := json.Marshal(b)
	return returning, rest, err
}

func (t mountType) widen(s *Session, r resource.Resource, b mountBefore, fstab lines) (json.RawMessage, error) {
	b.widen(r, mountParts, fstab, findMount(r.Title)(fstab), takeMount)
	if !b.Said && mountEnsure(r) != "present" {
		live, err := t.mounted(s, r.Title)
		if err != nil {
			return nil, err
		}
		b.Said, b.Mounted = true, live
	}
	return json.Marshal(b)
}

func (t mountType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	f, err := s.readText(fstabPath)
	if err != nil {
		return err
	}
	live, err := t.mounted(s, r.Title)
	if err != nil {
		return err
	}
	former := f.lines
	f.lines = setMount(f.lines, r)
	ensure := mountEnsure(r)
	if live != nil && (ensure == "absent" || ensure == "unmounted" ||
		ensure == "mounted" && movesMount(former, f.lines, *live, r.Title)) {
		if err := t.unmount(ctx, s, r.Title); err != nil {
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
		return t.mount(ctx, s, r.Title)
	}
	if err := t.remount(ctx, s, r.Title); err != nil {
		// With the new line left in fstab, the next check would take the mount for as it should be.
		f.there, f.read, f.lines = true, "", former
		return errors.Join(err, f.write(s, system.Attributes{}))
	}
	return nil
}

// announce makes systemd read fstab again when that is no longer as it was read. Its mount units are made from fstab:
// with those of before it would go on to list what is gone, and might unmount what is mounted now.
func (mountType) announce(ctx context.Context, s *Session, fstab *textFile) error {
	if fstab.mark+string(fstab.lines.bytes()) == fstab.read {
		return nil
	}
	if systemd, err := s.Exists("/run/systemd/system"); err != nil || !systemd {
		return err // without one systemd does not run this node
	}
	return mustRun(ctx, s, system.Command{Argv: []string{"systemctl", "daemon-reload"}})
}

// movesMount reports whether what is mounted at a point becomes another thing, so that remounting is not enough.
func movesMount(former, now lines, live mounted, point string) bool {
	was, is := findMount(point)(former), findMount(point)(now)
	if len(is) == 0 {
		return false
	}
	b, _ := parseFstab(now[is[0].from].text)
	if len(was) == 0 {
		return live.Source != b.device
	}
	a, _ := parseFstab(former[was[0].from].text)
	return a.device != b.device || a.fstype != b.fstype
}

func (mountType) mount(ctx context.Context, s *Session, point string) error {
	if info, err := s.Lstat(point); err == nil && !info.IsDir() && !info.IsRegular() && !info.IsLink() {
		return fmt.Errorf("the mount point %s is neither a directory nor a file", point)
	} else if err != nil {
		return fmt.Errorf("the mount point: %w; make the directory first, and require it", err)
	}
	if err := mustRun(ctx, s, system.Command{Argv: []string{"mount", point}}); err != nil {
		return fmt.Errorf("mount %s: %w", point, err)
	}
	return nil
}

func (mountType) unmount(ctx context.Context, s *Session, point string) error {
	if err := mustRun(ctx, s, system.Command{Argv: []string{"umount", point}}); err != nil {
		return fmt.Errorf("unmount %s: %w", point, err)
	}
	return nil
}

// Refresh mounts again what is mounted, with the options of fstab. What is to be unmounted is not, and swap cannot be.
func (t mountType) Refresh(ctx context.Context, s *Session, r resource.Resource) error {
	live, err := t.mounted(s, r.Title)
	if err != nil || live == nil || live.FSType == "swap" {
		return err
	}
	if ensure := mountEnsure(r); ensure != "mounted" && ensure != "present" {
		return nil
	}
	return t.remount(ctx, s, r.Title)
}

func (mountType) remount(ctx context.Context, s *Session, point string) error {
	if err := mustRun(ctx, s, system.Command{Argv: []string{"mount", "-o", "remount", point}}); err != nil {
		return fmt.Errorf("remount %s: %w", point, err)
	}
	return nil
}

func (t mountType) There(_ context.Context, s *Session, title string, _ json.RawMessage) (bool, error) {
	live, err := t.mounted(s, title)
	if err != nil || live != nil {
		return live != nil, err
	}
	return s.findsIn(fstabPath, findMount(title))
}

// Undo brings the line of fstab back and, where slipway was asked to look after that too, unmounts what is mounted by
// its line, and mounts again what was mounted.
func (t mountType) Undo(ctx context.Context, s *Session, title string, before json.RawMessage) error {
	var b mountBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return fmt.Errorf("what was there before: %w", err)
	}
	f, err := s.readText(fstabPath)
	if err != nil {
		return err
	}
	former, err := b.former(s, findMount(title))
	if err != nil {
		return err
	}
	live, err := t.mounted(s, title)
	if err != nil {
		return err
	}
	if live != nil && b.Said && (b.Mounted == nil || live.Source != b.Mounted.Source || live.FSType != b.Mounted.FSType) {
		if err := t.unmount(ctx, s, title); err != nil {
			return err
		}
		live = nil
	}
	found := findMount(title)(f.lines)
	if len(found) > 0 && len(former) > 0 {
		parts := append([]string{"device"}, b.Fields...)
		former[0].Lines = []string{takeMount(f.lines[found[0].from].text, former[0].Lines[0], parts)}
	}
	f.lines = f.lines.restore(found, former, 1)
	if err := b.writeBack(s, f, system.Attributes{}); err != nil {
		return err
	}
	if err := t.announce(ctx, s, f); err != nil || b.Mounted == nil {
		return err
	}
	if live == nil {
		if err := s.directoryGone(title+"/.", "what was mounted there before"); err != nil {
			return err
		}
	}
	switch {
	case live == nil && len(former) > 0:
		return t.mount(ctx, s, title)
	case live == nil:
		// It was mounted by hand. The kernel's own account of it holds no password.
		argv := []string{"mount", "-t", b.Mounted.FSType, "-o", b.Mounted.Options, b.Mounted.Source, title}
		return mustRun(ctx, s, system.Command{Argv: argv})
	case live.Options != b.Mounted.Options:
		return mustRun(ctx, s, system.Command{Argv: []string{"mount", "-o", "remount," + b.Mounted.Options, title}})
	}
	return nil
}
