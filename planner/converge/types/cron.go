package types

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// cronType looks after one job in a user's crontab. cron notices the change by itself: a file replaced by rename
// gives its directory a new time of change, which cron watches.
type cronType struct {
	recorded[cronType, *cronBefore]
}

func (cronType) Schema() resource.Schema { return schema.Cron() }

// cronSpools are the directories in which the crontabs of users are kept, in the order in which they are looked for:
// Alpine (whose /var/spool/cron/crontabs is a link), Debian, Red Hat.
var cronSpools = []string{"/etc/crontabs", "/var/spool/cron/crontabs", "/var/spool/cron"}

// sandboxSpool is made in a sandbox that has none of them.
const sandboxSpool = "/var/spool/cron/crontabs"

var errNoCron = errors.New("cron is not installed")

// cronBefore is what was there of a job before slipway touched it.
type cronBefore struct {
	entries
	User    string       `json:"user"`
	Crontab string       `json:"crontab"`           // empty when cron was not installed
	Unended bool         `json:"unended,omitempty"` // the file's last line had no end
	Empty   bool         `json:"empty,omitempty"`   // the file had no lines
	Jobs    []string     `json:"jobs,omitempty"`    // digests of the forms that the job had; its mark may get lost
	Mode    *fs.FileMode `json:"mode,omitempty"`
	UID     *int         `json:"uid,omitempty"`
	GID     *int         `json:"gid,omitempty"`
}

// crontab returns the file in which r belongs.
func (cronType) crontab(s *Session, r resource.Resource) (string, error) {
	for _, dir := range cronSpools {
		info, err := s.Lstat(dir)
		if err == nil && info.IsDir() {
			return path.Join(dir, schema.CronUser(r)), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if s.Machine() {
		return "", fmt.Errorf("%w: none of %s is there; install its package first, and require it",
			errNoCron, strings.Join(cronSpools, ", "))
	}
	return path.Join(sandboxSpool, schema.CronUser(r)), nil
}

// owner returns the attributes that cron demands of a crontab: mode 0600, owned by its user, with the group crontab
// where there is one. In a sandbox, where users mean nothing, the owner is left alone.
func (cronType) owner(s *Session, name string) (system.Attributes, error) {
	mode := fs.FileMode(0o600)
	a := system.Attributes{Mode: &mode}
	if !s.Machine() {
		return a, nil
	}
	users, groups, err := s.Accounts()
	if err != nil {
		return a, err
	}
	user, ok := users[name]
	if !ok {
		return a, fmt.Errorf("user %q: no such user on the node; create it first, and require it", name)
	}
	a.UID, a.GID = &user.UID, &user.GID
	if g, ok := groups["crontab"]; ok {
		a.GID = &g.GID
	}
	return a, nil
}

func (t cronType) Check(_ context.Context, s *Session, r resource.Resource) ([]Difference, error) {
	c := comparison{resource: r}
	crontab, err := t.crontab(s, r)
	if errors.Is(err, errNoCron) {
		// At plan time the package may not be there yet. Apply reports when it still is not.
		c.present(false)
		return c.found, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := s.readText(crontab)
	if err != nil {
		return nil, err
	}
	find, err := t.find(r)
	if err != nil {
		return nil, err
	}
	found := find(f.lines)
	if !c.present(len(found) > 0) {
		return c.found, nil
	}
	should, err := schema.WantedJob(r)
	if err != nil {
		return nil, err
	}
	is := parseJob(f.lines.texts(found[0]))
	c.text("command", is.Command, should.Command)
	for _, name := range cronParameters() {
		c.text(name, is.Field(name), should.Field(name))
	}
	if !slices.Equal(is.Environment, should.Environment) {
		c.text("environment", strings.Join(is.Environment, " "), strings.Join(should.Environment, " "))
	}
	if f.lines[found[0].from].text != schema.CronMarker+r.Title {
		c.found = append(c.found, Difference{"ensure", "present, without slipway's mark", "present"})
	}
	if found[0].to == len(f.lines) && !f.lines.ended() {
		c.found = append(c.found,
			Difference{"command", "on a last line without an end, which cron ignores", "on a line with an end"})
	}
	return c.found, t.compareOwner(s, r, crontab, &c)
}

func cronParameters() []string {
	out := []string{"special"}
	for _, f := range schema.CronFields {
		out = append(out, f.Name)
	}
	return out
}

func (t cronType) compareOwner(s *Session, r resource.Resource, crontab string, c *comparison) error {
	should, err := t.owner(s, schema.CronUser(r))
	if err != nil {
		return err
	}
	is, err := s.Lstat(crontab)
	if err != nil {
		return err
	}
	if is.Mode.Perm() != *should.Mode {
		c.found = append(c.found, Difference{"mode", fmt.Sprintf("%04o", is.Mode.Perm()), fmt.Sprintf("%04o", *should.Mode)})
	}
	if should.UID != nil && is.UID != *should.UID {
		c.found = append(c.found, Difference{"user", strconv.Itoa(is.UID), strconv.Itoa(*should.UID)})
	}
	return nil
}

func (t cronType) capture(_ context.Context, s *Session, r resource.Resource) (*cronBefore, error) {
	b := cronBefore{User: schema.CronUser(r)}
	crontab, err := t.crontab(s, r)
	if errors.Is(err, errNoCron) && schema.WantsAbsent(r) {
		return &b, nil
	}
	if err != nil {
		return &b, err
	}
	b.Crontab = crontab
	find, err := t.find(r)
	if err != nil {
		return &b, err
	}
	if err := b.remember(s, r.Sensitive(), find); err != nil {
		return &b, err
	}
	return &b, b.note(r)
}

func (cronType) now(_ context.Context, s *Session, title string, b *cronBefore) (*cronBefore, error) {
	n := cronBefore{User: b.User, Crontab: b.Crontab, Jobs: b.Jobs}
	if n.Crontab == "" { // cron is not installed
		return &n, nil
	}
	err := n.remember(s, true, b.find(title))
	n.Image = true
	return &n, err
}

// remember takes down the job, which find finds, and how its crontab is.
func (b *cronBefore) remember(s *Session, secret bool, find finder) (err error) {
	if b.entries, err = s.remember(secret, b.Crontab, find); err != nil {
		return err
	}
	b.Empty = !b.File
	if !b.File {
		return nil
	}
	f, err := s.readText(b.Crontab)
	if err != nil {
		return err
	}
	b.Unended, b.Empty = !f.lines.ended(), len(f.lines) == 0
	info, err := s.Lstat(b.Crontab)
	if err != nil {
		return err
	}
	mode := info.Mode.Perm()
	b.Mode, b.UID, b.GID = &mode, &info.UID, &info.GID
	return nil
}

// widen notes the job as it is about to be.
func (t cronType) widen(ctx context.Context, s *Session, r resource.Resource, b *cronBefore) error {
	if b.Crontab == "" { // cron was not installed
		now, err := t.capture(ctx, s, r)
		*b = *now
		return err
	}
	return b.note(r)
}

func (b *cronBefore) note(r resource.Resource) error {
	if !r.Parameters.Has("command") {
		return nil
	}
	j, err := schema.WantedJob(r)
	if d := j.Digest(); err == nil && !slices.Contains(b.Jobs, d) {
		b.Jobs = append(b.Jobs, d)
	}
	return err
}

// find returns what finds r's job: by its name or, where no job has it, by its command and times.
func (cronType) find(r resource.Resource) (finder, error) {
	if !r.Parameters.Has("command") {
		return findJob(r.Title, nil), nil
	}
	j, err := schema.WantedJob(r)
	if err != nil {
		return nil, err
	}
	line := j.Line()
	return findJob(r.Title, func(other schema.CronJob) bool { return other.Line() == line }), nil
}

func (t cronType) Apply(_ context.Context, s *Session, r resource.Resource) error {
	crontab, err := t.crontab(s, r)
	if err != nil {
		return err
	}
	f, err := s.readText(crontab)
	if err != nil {
		return err
	}
	find, err := t.find(r)
	if err != nil {
		return err
	}
	if schema.WantsAbsent(r) {
		f.lines = setJob(f.lines, find(f.lines), r.Title, nil)
		return f.write(s, system.Attributes{})
	}
	j, err := schema.WantedJob(r)
	if err != nil {
		return err
	}
	a, err := t.owner(s, schema.CronUser(r))
	if err != nil {
		return err
	}
	if err := s.MakeAbove(crontab); err != nil {
		return err
	}
	f.lines = setJob(f.lines, find(f.lines), r.Title, &j)
	return f.write(s, a)
}

// find finds the job in one of the forms that it had.
func (b cronBefore) find(title string) finder {
	return findJob(title, func(j schema.CronJob) bool { return j.IsOneOf(b.Jobs) })
}

func (cronType) there(_ context.Context, s *Session, title string, b *cronBefore) (bool, error) {
	return s.findsIn(b.Crontab, b.find(title))
}

func (cronType) undo(_ context.Context, s *Session, title string, b *cronBefore) error {
	if b.Crontab == "" {
		return nil
	}
	a := system.Attributes{Mode: b.Mode}
	if s.Machine() {
		a.UID, a.GID = b.UID, b.GID
	}
	return b.undo(s, b.find(title), a, func(l lines, found []span, former []block) lines {
		l = undoJob(l, found, former, b.Unended, b.Empty || !b.File)
		if !b.File && !slices.ContainsFunc(l, func(x line) bool { return !isCrontabComment(x.text) }) {
			return nil
		}
		return l
	})
}
