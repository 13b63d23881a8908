package converge

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// cronMarker opens the lines of a job that slipway looks after, puppetMarker those of one that Puppet did; the title follows.
const (
	cronMarker   = "# slipway: "
	puppetMarker = "# Puppet Name: "
)

// cronJob is a job as it stands in a crontab: the marker, settings of the environment, and the line of the job.
type cronJob struct {
	environment []string // name=value
	schedule    []string // five fields, or one word with @
	command     string
}

// wantedJob returns the job that r describes. r passed its schema.
func wantedJob(r resource.Resource) (cronJob, error) {
	j := cronJob{environment: r.Parameters.Strings("environment"), command: strings.TrimSpace(r.Parameters.String("command"))}
	if special := r.Parameters.String("special"); special != "" {
		j.schedule = []string{"@" + special}
		return j, nil
	}
	for _, f := range cronFields {
		values := r.Parameters.Strings(f.name)
		if len(values) == 0 {
			values = []string{"*"}
		}
		text, err := f.text(values)
		if err != nil {
			return cronJob{}, err
		}
		j.schedule = append(j.schedule, text)
	}
	return j, nil
}

// texts returns the lines of the job.
func (j cronJob) texts(title string) []string {
	out := append([]string{cronMarker + title}, j.environment...)
	return append(out, strings.Join(j.schedule, " ")+" "+j.command)
}

// parseJob reads the lines that [findJob] found.
func parseJob(texts []string) cronJob {
	var j cronJob
	for _, text := range texts[1:] {
		switch {
		case isCronSetting(text):
			j.environment = append(j.environment, text)
		case strings.HasPrefix(strings.TrimSpace(text), "@"):
			word, command := cutField(text)
			j.schedule, j.command = []string{word}, strings.TrimSpace(command)
		default:
			for range cronFields {
				var field string
				field, text = cutField(text)
				j.schedule = append(j.schedule, field)
			}
			j.command = strings.TrimSpace(text)
		}
	}
	return j
}

// field returns one of the five fields, or `special`, as the parameter of that name; empty for the one that is not used.
func (j cronJob) field(name string) string {
	if len(j.schedule) == 1 {
		if name == "special" {
			return strings.TrimPrefix(j.schedule[0], "@")
		}
		return ""
	}
	i := slices.IndexFunc(cronFields, func(f cronField) bool { return f.name == name })
	if i < 0 || i >= len(j.schedule) {
		return ""
	}
	return j.schedule[i]
}

func cutField(text string) (field, rest string) {
	text = strings.TrimLeft(text, " \t")
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// isCronSetting reports whether a line sets a variable (`NAME=value`, the name perhaps in quotes), as cron tells it from a job.
func isCronSetting(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if n := len(name); n > 2 && (name[0] == '"' || name[0] == '\'') && name[n-1] == name[0] {
		name = name[1 : n-1]
	}
	return ok && name != "" && (name[0] < '0' || name[0] > '9') && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// findJob finds the lines of a job: the marker, slipway's or Puppet's, settings, and the first line that is neither comment nor blank. Anything
// else between them ends it, because it is not slipway's. Where no marker has the title, it finds the lines of jobs without a marker for which
// is, if not nil, holds.
func findJob(title string, is func(cronJob) bool) func(lines) []span {
	return func(l lines) []span {
		var marked, plain []span
		for i := 0; i < len(l); i++ {
			text := l[i].text
			if !strings.HasPrefix(text, cronMarker) && !strings.HasPrefix(text, puppetMarker) {
				if is != nil && isCronJob(text) && is(parseJob([]string{"", text})) {
					plain = append(plain, span{i, i + 1})
				}
				continue
			}
			end := i + 1
			for end < len(l) && isCronSetting(l[end].text) {
				end++
			}
			if end < len(l) {
				if text := strings.TrimSpace(l[end].text); text != "" && text[0] != '#' {
					end++
				}
			}
			if text == cronMarker+title || text == puppetMarker+title {
				marked = append(marked, span{i, end})
			}
			i = end - 1
		}
		if len(marked) > 0 {
			return marked
		}
		return plain
	}
}

// isCronJob reports whether a line is a job.
func isCronJob(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && text[0] != '#' && !isCronSetting(text)
}

// line is the job's own line in the form in which jobs are compared: names of months and days are numbers.
func (j cronJob) line() string {
	schedule := slices.Clone(j.schedule)
	if len(schedule) == len(cronFields) {
		for i, f := range cronFields {
			if text, err := f.text(strings.Split(schedule[i], ",")); err == nil {
				schedule[i] = text
			}
		}
	}
	return strings.Join(schedule, " ") + " " + j.command
}

// digest stands for a job in the ledger, which must not hold commands that are secret.
func (j cronJob) digest() string {
	sum := sha256.Sum256([]byte(j.line()))
	return hex.EncodeToString(sum[:8])
}

// isCrontabComment reports whether a line is empty or one of those that Debian's crontab writes above what it installs.
func isCrontabComment(text string) bool {
	return text == "" || strings.HasPrefix(text, "# DO NOT EDIT THIS FILE") || strings.HasPrefix(text, "# (Cron version ") ||
		strings.HasPrefix(text, "# (") && strings.Contains(text, " installed on ")
}

// setJob puts a job in place of those found, or takes these out when it is nil. cron ignores a last line without an end, so the file gets one.
// A crontab without lines gets an empty one first: `crontab -l` of Debian leaves out up to three comments at the start.
func setJob(l lines, found []span, title string, j *cronJob) lines {
	switch {
	case j == nil:
		for _, x := range slices.Backward(found) {
			l = l.remove(x)
		}
		return l
	case len(found) == 0:
		l = l.close()
		texts := j.texts(title)
		if len(l) == 0 {
			texts = append([]string{""}, texts...)
		}
		return l.insert(len(l), texts...)
	}
	atEnd := found[0].to == len(l)
	l = l.replace(found[0], j.texts(title)...)
	if atEnd {
		l = l.close()
	}
	return l
}

// undoJob brings former jobs back in place of those found. unended says that the file's last line had no end, empty that it had no lines.
func undoJob(l lines, found []span, former []block, unended, empty bool) lines {
	atEnd := len(found) > 0 && found[len(found)-1].to == len(l)
	blank := -1 // the empty line that was put before the job, unless the next one needs it
	if empty && len(found) > 0 && len(former) == 0 {
		x := found[0]
		if before := x.from - 1; before >= 0 && l[before].text == "" && (before > 0 || x.to == len(l) || !strings.HasPrefix(l[x.to].text, "#")) {
			blank = before
		}
	}
	l = l.restore(found, former, 1)
	if blank >= 0 {
		l = l.remove(span{blank, blank + 1})
	}
	if unended && atEnd && len(l) > 0 {
		l = slices.Clone(l)
		l[len(l)-1].end = ""
	}
	return l
}
