package converge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// cronType looks after one job in a user's crontab. cron notices the change by itself: a file replaced by rename
// gives its directory a new time of change, which cron watches.
type cronType struct{}

// cronSpools are the directories in which the crontabs of users are kept, in the order in which they are looked for:
// Alpine (whose /var/spool/cron/crontabs is a link), Debian, Red Hat.
var cronSpools = []string{"/etc/crontabs", "/var/spool/cron/crontabs", "/var/spool/cron"}

// sandboxSpool is made in a sandbox that has none of them.
const sandboxSpool = "/var/spool/cron/crontabs"

func (cronType) Schema() resource.Schema {
	parameters := []resource.Parameter{
		{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"}, Description: "Whether the job is there. Default: present."},
		{Name: "command", Kind: resource.String, Check: checkCronCommand, Description: "The command, for the shell, one line; a % must be written \\% (crontab(5)). Required unless the job is to be absent."},
		{Name: "user", Kind: resource.String, Check: checkUserName, Description: "Whose crontab it is. Default: root."},
	}
	for _, f := range cronFields {
		parameters = append(parameters, f.parameter())
	}
	parameters = append(parameters,
		resource.Parameter{Name: "special", Kind: resource.String, Values: cronSpecials, Description: "A word in place of the five fields."},
		resource.Parameter{Name: "environment", Kind: resource.StringList, Check: checkCronEnvironment, Description: "Settings NAME=value, which count for this job and, as always in a crontab, for all that follow in it."},
	)
	return resource.Schema{
		// Two titles would be one job, run twice. In the ledger the object is the title, which stays when command and times change.
		Object: func(r resource.Resource) (name, variant string) {
			j, err := wantedJob(r)
			if err != nil || wantsAbsent(r) {
				return "", ""
			}
			return cronUser(r) + ": " + j.line(), ""
		},
		Type:       "cron",
		Summary:    "A job in a user's crontab. A job that is there already with the same command and times, or with the title as Puppet's name, is taken over.",
		Parameters: parameters,
		Check: func(r resource.Resource) []resource.ParameterError {
			var errs []resource.ParameterError
			if !wantsAbsent(r) && !r.Parameters.Has("command") {
				errs = append(errs, resource.ParameterError{Parameter: "command", Missing: true, Message: "is required unless ensure is absent"})
			}
			if r.Parameters.Has("special") {
				for _, f := range cronFields {
					if r.Parameters.Has(f.name) {
						errs = append(errs, resource.ParameterError{Parameter: f.name, Message: "does not go with special; give one of them"})
					}
				}
			}
			return errs
		},
	}
}

func checkCronCommand(value any) error {
	if text, _ := value.(string); strings.TrimSpace(text) == "" {
		return errors.New("must not be empty")
	}
	return checkOneLine(value)
}

func checkUserName(value any) error {
	if name, _ := value.(string); name == "" || name[0] == '-' || name[0] == '.' || strings.ContainsFunc(name, func(r rune) bool {
		return r == '/' || r == ':' || r <= ' ' || r == 0x7f
	}) {
		return fmt.Errorf("%q is not a user name", value)
	}
	return nil
}

func checkCronEnvironment(value any) error {
	settings, _ := value.([]string)
	for _, setting := range settings {
		if err := checkOneLine(setting); err != nil {
			return err
		}
		if !isCronSetting(setting) || setting != strings.TrimSpace(setting) {
			name, _, _ := strings.Cut(setting, "=")
			return fmt.Errorf("the setting that begins with %q is not of the form NAME=value", name)
		}
	}
	return nil
}

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

func cronUser(r resource.Resource) string { return r.Parameters.StringOr("user", "root") }

// Object is the job by its title, which marks it, in the crontab of its user.
func (cronType) Object(r resource.Resource) (name, aim string) {
	return cronUser(r) + ": " + r.Title, ""
}

// crontab returns the file in which r belongs.
func (cronType) crontab(s *System, r resource.Resource) (string, error) {
	for _, dir := range cronSpools {
		info, err := s.Lstat(dir)
		if err == nil && info.IsDir() {
			return path.Join(dir, cronUser(r)), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if s.Machine() {
		return "", fmt.Errorf("%w: none of %s is there; install its package first, and require it", errNoCron, strings.Join(cronSpools, ", "))
	}
	return path.Join(sandboxSpool, cronUser(r)), nil
}

// owner returns the attributes that cron demands of a crontab: mode 0600, owned by its user, with the group crontab where there is
// one. In a sandbox, where users mean nothing, the owner is left alone.
func (cronType) owner(s *System, name string) (Attributes, error) {
	mode := fs.FileMode(0o600)
	a := Attributes{Mode: &mode}
	if !s.Machine() {
		return a, nil
	}
	users, err := s.Users()
	if err != nil {
		return a, err
	}
	user, ok := users[name]
	if !ok {
		return a, fmt.Errorf("user %q: no such user on the node; create it first, and require it", name)
	}
	groups, err := s.Groups()
	if err != nil {
		return a, err
	}
	a.UID, a.GID = &user.UID, &user.GID
	if g, ok := groups["crontab"]; ok {
		a.GID = &g.GID
	}
	return a, nil
}

func (t cronType) Check(_ context.Context, s *System, r resource.Resource) ([]Difference, error) {
	crontab, err := t.crontab(s, r)
	if errors.Is(err, errNoCron) && wantsAbsent(r) {
		return nil, nil
	}
	c := comparison{resource: r}
	if errors.Is(err, errNoCron) {
		// At plan time the package may not be there yet. Apply tells when it still is not.
		c.state("absent", "present")
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
	if wantsAbsent(r) || len(found) == 0 {
		is, should := "absent", "present"
		if len(found) > 0 {
			is = "present"
		}
		if wantsAbsent(r) {
			should = "absent"
		}
		c.state(is, should)
		return c.found, nil
	}
	should, err := wantedJob(r)
	if err != nil {
		return nil, err
	}
	is := parseJob(f.lines.texts(found[0]))
	c.text("command", is.command, should.command)
	for _, name := range cronParameters() {
		c.text(name, is.field(name), should.field(name))
	}
	if !slices.Equal(is.environment, should.environment) {
		c.text("environment", strings.Join(is.environment, " "), strings.Join(should.environment, " "))
	}
	if f.lines[found[0].from].text != cronMarker+r.Title {
		c.found = append(c.found, Difference{"ensure", "present, without slipway's mark", "present"})
	}
	if found[0].to == len(f.lines) && !f.lines.ended() {
		c.found = append(c.found, Difference{"command", "on a last line without an end, which cron ignores", "on a line with an end"})
	}
	return c.found, t.compareOwner(s, r, crontab, &c)
}

func cronParameters() []string {
	out := []string{"special"}
	for _, f := range cronFields {
		out = append(out, f.name)
	}
	return out
}

func (t cronType) compareOwner(s *System, r resource.Resource, crontab string, c *comparison) error {
	should, err := t.owner(s, cronUser(r))
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

func (t cronType) Capture(_ context.Context, s *System, r resource.Resource) (json.RawMessage, error) {
	b := cronBefore{User: cronUser(r)}
	crontab, err := t.crontab(s, r)
	if errors.Is(err, errNoCron) && wantsAbsent(r) {
		return json.Marshal(b)
	}
	if err != nil {
		return nil, err
	}
	b.Crontab = crontab
	find, err := t.find(r)
	if err != nil {
		return nil, err
	}
	if b.entries, err = s.remember(r, crontab, find); err != nil {
		return nil, err
	}
	b.Empty = !b.File
	if b.File {
		f, err := s.readText(crontab)
		if err != nil {
			return nil, err
		}
		b.Unended, b.Empty = !f.lines.ended(), len(f.lines) == 0
		info, err := s.Lstat(crontab)
		if err != nil {
			return nil, err
		}
		mode := info.Mode.Perm()
		b.Mode, b.UID, b.GID = &mode, &info.UID, &info.GID
	}
	return t.noted(r, b)
}

// Widen notes the job as it is about to be.
func (t cronType) Widen(_ context.Context, s *System, r resource.Resource, before json.RawMessage) (json.RawMessage, error) {
	var b cronBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return nil, fmt.Errorf("what was there before: %w", err)
	}
	if b.Crontab == "" { // cron was not installed
		return t.Capture(context.Background(), s, r)
	}
	return t.noted(r, b)
}

func (cronType) noted(r resource.Resource, b cronBefore) (json.RawMessage, error) {
	if r.Parameters.Has("command") {
		j, err := wantedJob(r)
		if err != nil {
			return nil, err
		}
		if d := j.digest(); !slices.Contains(b.Jobs, d) {
			b.Jobs = append(b.Jobs, d)
		}
	}
	return json.Marshal(b)
}

// find returns what finds r's job: by its name or, where no job has it, by its command and times.
func (cronType) find(r resource.Resource) (func(lines) []span, error) {
	if !r.Parameters.Has("command") {
		return findJob(r.Title, nil), nil
	}
	j, err := wantedJob(r)
	if err != nil {
		return nil, err
	}
	line := j.line()
	return findJob(r.Title, func(other cronJob) bool { return other.line() == line }), nil
}

func (t cronType) Apply(_ context.Context, s *System, r resource.Resource) error {
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
	if wantsAbsent(r) {
		f.lines = setJob(f.lines, find(f.lines), r.Title, nil)
		return f.write(s, Attributes{})
	}
	j, err := wantedJob(r)
	if err != nil {
		return err
	}
	a, err := t.owner(s, cronUser(r))
	if err != nil {
		return err
	}
	if err := s.makeAbove(crontab); err != nil {
		return err
	}
	f.lines = setJob(f.lines, find(f.lines), r.Title, &j)
	return f.write(s, a)
}

func (cronType) Undo(_ context.Context, s *System, title string, before json.RawMessage) error {
	var b cronBefore
	if err := json.Unmarshal(before, &b); err != nil {
		return fmt.Errorf("what was there before: %w", err)
	}
	if b.Crontab == "" {
		return nil
	}
	f, err := s.readText(b.Crontab)
	if err != nil {
		return err
	}
	find := findJob(title, func(j cronJob) bool { return slices.Contains(b.Jobs, j.digest()) })
	former, err := b.former(s, find)
	if err != nil {
		return err
	}
	f.lines = undoJob(f.lines, find(f.lines), former, b.Unended, b.Empty || !b.File)
	if !b.File && !slices.ContainsFunc(f.lines, func(x line) bool { return !isCrontabComment(x.text) }) {
		f.lines = nil
	}
	a := Attributes{Mode: b.Mode}
	if s.Machine() {
		a.UID, a.GID = b.UID, b.GID
	}
	return b.writeBack(s, f, a)
}
