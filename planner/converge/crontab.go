package converge

import (
	"slices"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// cronMarker opens the lines of a job that slipway looks after; the title follows.
const cronMarker = "# slipway: "

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

// findJob finds the lines of a job: the marker, settings, and the first line that is neither comment nor blank. Anything
// else between them ends it, because it is not slipway's.
func findJob(title string) func(lines) []span {
	return func(l lines) []span {
		var out []span
		for i := 0; i < len(l); i++ {
			if l[i].text != cronMarker+title {
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
			out = append(out, span{i, end})
			i = end - 1
		}
		return out
	}
}

// setJob puts a job in, or takes it out when it is nil. cron ignores a last line without an end, so the file gets one.
func setJob(l lines, title string, j *cronJob) lines {
	found := findJob(title)(l)
	switch {
	case j == nil:
		for _, x := range slices.Backward(found) {
			l = l.remove(x)
		}
		return l
	case len(found) == 0:
		if !l.ended() {
			l = slices.Clone(l)
			l[len(l)-1].end = l.endFor(l[len(l)-1].text)
		}
		return l.insert(len(l), j.texts(title)...)
	}
	atEnd := found[0].to == len(l)
	l = l.replace(found[0], j.texts(title)...)
	if last := len(l) - 1; atEnd && !l.ended() {
		l[last].end = l.endFor(l[last].text)
	}
	return l
}

// undoJob brings former jobs back. unended tells that the file's last line had no end.
func undoJob(l lines, title string, former []block, unended bool) lines {
	found := findJob(title)(l)
	atEnd := len(found) > 0 && found[len(found)-1].to == len(l)
	l = l.restore(found, former, 1)
	if unended && atEnd && len(l) > 0 {
		l = slices.Clone(l)
		l[len(l)-1].end = ""
	}
	return l
}
