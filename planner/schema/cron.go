package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// Cron declares the type cron.
func Cron() resource.Schema {
	parameters := []resource.Parameter{
		{Name: "ensure", Kind: resource.String, Values: []string{"present", "absent"},
			Description: "Whether the job is there. Default: present."},
		{Name: "command", Kind: resource.String, Shell: true, Check: checkCronCommand, Description: "The command, for the shell, one line; a % must be written \\% (crontab(5)). Required unless the job is to be absent."},
		{Name: "user", Kind: resource.String, Check: checkUserName, Description: "Whose crontab it is. Default: root."},
	}
	for _, f := range CronFields {
		parameters = append(parameters, f.parameter())
	}
	parameters = append(parameters,
		resource.Parameter{Name: "special", Kind: resource.String, Values: cronSpecials,
			Description: "A word in place of the five fields."},
		resource.Parameter{Name: "environment", Kind: resource.StringList, Secret: true, Check: checkCronEnvironment,
			Instead:     nameValue,
			Description: "Settings NAME=value, which count for this job and, as always in a crontab, for all that follow in it."},
	)
	return resource.Schema{
		// Two titles would be one job, run twice. In the ledger the object is the title, which stays when command and times
		// change.
		Object: func(r resource.Resource) (name, variant string) {
			j, err := WantedJob(r)
			if err != nil || WantsAbsent(r) {
				return "", ""
			}
			return CronUser(r) + ": " + j.Line(), ""
		},
		Type:       "cron",
		Summary:    "A job in a user's crontab. A job that is there already with the same command and times, however these are written, or with the title as Puppet's name, is taken over; where it is there twice and neither line has a mark, the second one stays.",
		Restorable: true,
		Parameters: parameters,
		Check: func(r resource.Resource) []invalid.Error {
			errs := neededUnlessAbsent(r, "command")
			if r.Parameters.Has("special") {
				for _, f := range CronFields {
					if r.Parameters.Has(f.Name) {
						errs = append(errs, invalid.Error{Attribute: f.Name, Message: "does not go with special; give one of them"})
					}
				}
			}
			return errs
		},
		Alike:  ensureAlike("present", nil),
		Target: cronTarget,
	}
}

func checkCronCommand(value any) error {
	if text, _ := value.(string); strings.TrimSpace(text) == "" {
		return errors.New("must not be empty")
	}
	return checkOneLine(value)
}

func checkUserName(value any) error {
	if name, _ := value.(string); name == "" || name[0] == '-' || name[0] == '.' || strings.ContainsFunc(name,
		func(r rune) bool {
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
		if !IsCronSetting(setting) || setting != strings.TrimSpace(setting) {
			name, _, _ := strings.Cut(setting, "=")
			return fmt.Errorf("the setting that begins with %q %w", name, resource.Rule("is not of the form NAME=value"))
		}
	}
	return nil
}

// CronUser returns the user whose crontab r is in.
func CronUser(r resource.Resource) string { return r.Parameters.StringOr("user", "root") }

// cronTarget is the job by its title, which marks it, in the crontab of its user.
func cronTarget(r resource.Resource) (name, aim string) {
	return CronUser(r) + ": " + r.Title, ""
}

// CronMarker begins the line above a job that says its title.
const CronMarker = "# slipway: "

// CronJob is a job as it stands in a crontab: the marker, settings of the environment, and the line of the job.
type CronJob struct {
	Environment []string // name=value
	Schedule    []string // five fields, or one word with @
	Command     string
}

// WantedJob returns the job that r describes. r passed its schema.
func WantedJob(r resource.Resource) (CronJob, error) {
	j := CronJob{Environment: r.Parameters.Strings("environment"),
		Command: strings.TrimSpace(r.Parameters.String("command"))}
	if special := r.Parameters.String("special"); special != "" {
		j.Schedule = []string{"@" + special}
		return j, nil
	}
	for _, f := range CronFields {
		values := r.Parameters.Strings(f.Name)
		if len(values) == 0 {
			values = []string{"*"}
		}
		text, _, err := f.read(values)
		if err != nil {
			return CronJob{}, err
		}
		j.Schedule = append(j.Schedule, text)
	}
	return j, nil
}

// Texts returns the lines of the job.
func (j CronJob) Texts(title string) []string {
	out := append([]string{CronMarker + title}, j.Environment...)
	return append(out, strings.Join(j.Schedule, " ")+" "+j.Command)
}

// Field returns one of the five fields, or `special`, as the parameter of that name; empty for the one that is not
// used.
func (j CronJob) Field(name string) string {
	if len(j.Schedule) == 1 {
		if name == "special" {
			return strings.TrimPrefix(j.Schedule[0], "@")
		}
		return ""
	}
	i := slices.IndexFunc(CronFields, func(f CronField) bool { return f.Name == name })
	if i < 0 || i >= len(j.Schedule) {
		return ""
	}
	return j.Schedule[i]
}

// IsCronSetting reports whether a line sets a variable (`NAME=value`, the name perhaps in quotes), as cron
// distinguishes it from a job.
func IsCronSetting(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if n := len(name); n > 2 && (name[0] == '"' || name[0] == '\'') && name[n-1] == name[0] {
		name = name[1 : n-1]
	}
	return ok && name != "" && (name[0] < '0' || name[0] > '9') && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// Line is the job's own line in the form in which jobs are compared: two schedules that are always due together are
// one.
func (j CronJob) Line() string { return sameSchedule(j.Schedule) + " " + j.Command }

// Digest stands for a job in the ledger, which must not have commands that are secret.
func (j CronJob) Digest() string { return digestOf(j.Line()) }

// IsOneOf reports whether the job's digest is one of those of a ledger.
func (j CronJob) IsOneOf(digests []string) bool {
	return slices.Contains(digests, j.Digest()) || slices.Contains(digests, digestOf(j.formerLine()))
}

// formerLine is the line that digests of former ledgers stand for: names of months and days are numbers.
func (j CronJob) formerLine() string {
	schedule := slices.Clone(j.Schedule)
	if len(schedule) == len(CronFields) {
		for i, f := range CronFields {
			if text, _, err := f.read(schedule[i : i+1]); err == nil {
				schedule[i] = text
			}
		}
	}
	return strings.Join(schedule, " ") + " " + j.Command
}

func digestOf(line string) string { return resource.SHA256(line)[:16] }
