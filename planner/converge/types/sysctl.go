package types

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// sysctlType looks after a kernel parameter: its live value, below /proc/sys, and a file of its own in /etc/sysctl.d
// that sets it at boot.
type sysctlType struct {
	recorded[sysctlType, *sysctlBefore]
}

func (sysctlType) Schema() resource.Schema { return schema.Sysctl() }

const sysctlDir = "/etc/sysctl.d"

// sysctlFile returns the file that sets the key at boot. The files are read in the order of their names and the last
// one counts, so this one comes after 99-sysctl.conf, which is /etc/sysctl.conf on Debian.
func sysctlFile(key string) string {
	return sysctlDir + "/99-zz-slipway-" + strings.ReplaceAll(key, "/", "%2F") + ".conf"
}

func sysctlContent(r resource.Resource) string {
	return r.Title + " = " + plainBlanks(r.Parameters.String("value")) + "\n"
}

// plainBlanks puts one blank where the kernel, which prints tabs, or a user put any.
func plainBlanks(text string) string { return strings.Join(strings.Fields(text), " ") }

// sysctlBefore is what was there of a parameter before slipway touched it.
type sysctlBefore struct {
	Live     string `json:"live,omitempty"`
	LiveKept string `json:"live_kept,omitempty"` // for a sensitive resource, a kept copy in place of Live
	File     string `json:"file,omitempty"`      // a kept copy of the file that sets it at boot
	// Extended are the extended attributes of File.
	Extended system.Extended `json:"extended,omitempty"`
	Made     []string        `json:"made,omitempty"`  // directories that were not there
	Image    bool            `json:"image,omitempty"` // it is of the start of a run
}

func (sysctlType) live(s *Session, key string) (string, error) {
	file, err := schema.SysctlPath(key)
	if err != nil {
		return "", err
	}
	content, err := s.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the kernel has no parameter %s (%w); fix the name, or load the module that brings it first",
			key, err)
	}
	return strings.TrimRight(string(content), "\n"), err
}

func (t sysctlType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	c := comparison{resource: r}
	switch live, err := t.live(s, r.Title); {
	case errors.Is(err, fs.ErrNotExist):
		// At plan time the module may not be loaded yet. Apply reports when it still is not.
		c.state("absent", "present")
	case err != nil:
		return nil, err
	default:
		c.text("value", plainBlanks(live), plainBlanks(r.Parameters.String("value")))
	}
	content, err := s.ReadFile(sysctlFile(r.Title))
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	switch persist := r.Parameters.BoolOr("persist", true); {
	case persist != there:
		c.found = append(c.found, Difference{"persist", fmt.Sprint(there), fmt.Sprint(persist)})
	case persist && string(content) != sysctlContent(r):
		c.found = append(c.found, Difference{"persist", "another value at boot", "this value at boot"})
	case persist:
		later, err := t.contradicted(s, r)
		if err != nil {
			return nil, err
		}
		if later != "" {
			c.text("persist", later, plainBlanks(r.Parameters.String("value"))+" at boot")
		}
	}
	return c.found, nil
}

// sysctlDirs are the directories that sysctl(8) reads with --system. Of files with one name, that of the first
// directory counts.
var sysctlDirs = []string{sysctlDir, "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"}

// contradicted returns the other value that the parameter gets after slipway's file was read, and from which file;
// empty when it gets none. Patterns count less than a name, so they contradict nothing.
func (sysctlType) contradicted(s *Session, r resource.Resource) (string, error) {
	files := map[string]string{}
	for _, dir := range slices.Backward(sysctlDirs) {
		names, err := s.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".conf") && name > path.Base(sysctlFile(r.Title)) {
				files[name] = dir + "/" + name
			}
		}
	}
	var later []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		later = append(later, files[name])
	}
	key, err := schema.SysctlPath(r.Title)
	if err != nil {
		return "", err
	}
	value, by := plainBlanks(r.Parameters.String("value")), ""
	should := value
	for _, file := range append(later, "/etc/sysctl.conf") {
		if info, err := s.Stat(file); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsRegular() {
			continue // a link to /dev/null leaves the file out
		}
		content, err := s.ReadFile(file)
		if err != nil {
			return "", err
		}
		for text := range strings.Lines(string(content)) {
			name, given, ok := strings.Cut(text, "=")
			name = strings.TrimPrefix(strings.TrimSpace(name), "-")
			if at, err := schema.SysctlPath(strings.TrimSpace(name)); ok && err == nil && at == key {
				value, by = plainBlanks(given), file
			}
		}
	}
	if value == should {
		return "", nil
	}
	return value + " by " + by + ", which is read later", nil
}

func (t sysctlType) capture(_ context.Context, s *Session, r resource.Resource) (*sysctlBefore, error) {
	return t.describe(s, r.Title, r.Sensitive())
}

func (t sysctlType) now(_ context.Context, s *Session, title string, _ *sysctlBefore) (*sysctlBefore, error) {
	n, err := t.describe(s, title, true)
	n.Image = true
	return n, err
}

func (t sysctlType) describe(s *Session, key string, secret bool) (_ *sysctlBefore, err error) {
	var b sysctlBefore
	if b.Live, err = t.live(s, key); err != nil {
		return &b, err
	}
	if secret || !utf8.ValidString(b.Live) { // JSON has no other text
		file, err := schema.SysctlPath(key)
		if err != nil {
			return &b, err
		}
		b.Live = ""
		if b.LiveKept, _, err = s.Keep(file); err != nil {
			return &b, err
		}
	}
	file := sysctlFile(key)
	there, err := s.Exists(file)
	if err != nil {
		return &b, err
	}
	if there {
		if b.File, b.Extended, err = s.Keep(file); err != nil {
			return &b, err
		}
	}
	b.Made, err = s.MissingAbove(file)
	return &b, err
}

func (t sysctlType) Apply(ctx context.Context, s *Session, r resource.Resource) error {
	value := plainBlanks(r.Parameters.String("value"))
	live, err := t.live(s, r.Title)
	if err != nil {
		return err
	}
	if plainBlanks(live) != value {
		if err := t.set(ctx, s, r.Title, value); err != nil {
			return err
		}
		if live, err = t.live(s, r.Title); err != nil {
			return err
		}
		if plainBlanks(live) != value && !r.Sensitive() {
			return fmt.Errorf("kernel parameter %s: %q was written and accepted, and it reads %q; "+
				"give the value in the form in which the kernel shows it", r.Title, value, plainBlanks(live))
		}
	}
	file := sysctlFile(r.Title)
	if !r.Parameters.BoolOr("persist", true) {
		return s.Remove(file)
	}
	if err := s.MakeAbove(file); err != nil {
		return err
	}
	a := system.Attributes{}
	if r.Sensitive() {
		private := fs.FileMode(0o600)
		a.Mode = &private
	}
	if err := s.WriteFile(file, []byte(sysctlContent(r)), a); err != nil {
		return err
	}
	later, err := t.contradicted(s, r)
	if err == nil && later != "" {
		if r.Sensitive() {
			later = "another value by a file that is read later"
		}
		err = fmt.Errorf("kernel parameter %s: it is set, yet at boot it gets %s; take it out there, or set persist = false",
			r.Title, later)
	}
	return err
}

// set writes the live value. A file below /proc/sys cannot be replaced, so a command writes to it; the value goes in by
// standard input, where other users do not see it.
func (sysctlType) set(ctx context.Context, s *Session, key, value string) error {
	file, err := schema.SysctlPath(key)
	if err != nil {
		return err
	}
	c := system.Command{Argv: []string{"dd", "of=" + file, "conv=notrunc", "bs=64k", "status=none"}, Stdin: []byte(value + "\n")}
	out, err := s.Run(ctx, c)
	if err != nil {
		return err
	}
	if out.Status != 0 {
		return fmt.Errorf("kernel parameter %s: the kernel refuses the value, or the parameter cannot be changed here: %s",
			key, strings.TrimSpace(out.Combined))
	}
	return nil
}

func (t sysctlType) there(_ context.Context, s *Session, title string, _ *sysctlBefore) (bool, error) {
	return s.Exists(sysctlFile(title))
}

func (t sysctlType) undo(ctx context.Context, s *Session, title string, b *sysctlBefore) error {
	left := t.undoFile(s, title, *b)
	if _, err := AsGone(left); err != nil {
		return err
	}
	live, err := t.live(s, title)
	if errors.Is(err, fs.ErrNotExist) {
		return left // its module is gone, and the value with it
	}
	if err != nil {
		return err
	}
	former := b.Live
	if b.LiveKept != "" {
		content, err := s.kept(b.LiveKept)
		if err != nil {
			return copyGone(err, title)
		}
		former = strings.TrimRight(string(content), "\n")
	}
	if live == former {
		return left
	}
	if err := t.set(ctx, s, title, former); err != nil {
		return err
	}
	return left
}

func (sysctlType) undoFile(s *Session, title string, b sysctlBefore) error {
	file := sysctlFile(title)
	if b.File != "" {
		if b.Image {
			if err := s.MakeAbove(file); err != nil {
				return err
			}
		} else if err := s.directoryGone(file, "what was in "+file+" before"); err != nil {
			return err
		}
		err := s.Restore(b.File, file, b.Extended)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := s.Remove(file); err != nil {
			return err
		}
		return copyGone(err, file)
	}
	return entries{Made: b.Made}.writeBack(s, &textFile{path: file}, system.Attributes{})
}
