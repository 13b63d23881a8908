package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway/terraform-provider-slipway/planner/resource"
)

// CronField is one of the five fields that say when a cron job runs (crontab(5)).
type CronField struct {
	Name     string
	min, max int
	names    []string // words for the values from min on, by their first three letters
}

// CronFields are the five fields, in the order of a crontab.
var CronFields = []CronField{
	{Name: "minute", max: 59},
	{Name: "hour", max: 23},
	{Name: "monthday", min: 1, max: 31},
	{Name: "month", min: 1, max: 12, names: []string{
		"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
		"december",
	}},
	{Name: "weekday", max: 7, names: []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday",
		"saturday"}},
}

// cronSpecials are the words that stand for all five fields.
var cronSpecials = []string{"reboot", "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"}

// cronSpecialFields are the fields for which the words stand, but for reboot, which is no time.
var cronSpecialFields = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// parameter declares the field.
func (f CronField) parameter() resource.Parameter {
	description := fmt.Sprintf("%d to %d, a range `a-b`, steps `*/n` or `a-b/n`, or a list of these. Default: every one (`*`).", f.min, f.max)
	if f.names != nil {
		description = fmt.Sprintf("%d to %d or an English name, a range `a-b`, steps `*/n` or `a-b/n`, or a list of these. Default: every one (`*`).", f.min, f.max)
	}
	return resource.Parameter{Name: f.Name, Kind: resource.StringList, Scalars: true, Description: description,
		Check: func(value any) error {
			list, _ := value.([]string)
			_, _, err := f.read(list)
			return err
		}}
}

// read returns the field as it stands in a crontab, and the set of its values: bit n stands for n.
func (f CronField) read(values []string) (text string, set uint64, err error) {
	var out []string
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		text, more, err := f.part(strings.TrimSpace(part))
		if err != nil {
			return "", 0, err
		}
		out = append(out, text)
		set |= more
	}
	if len(out) > 1 && slices.Contains(out, "*") {
		return "", 0, fmt.Errorf("* stands for every %s already; give it alone, or leave it out", f.Name)
	}
	return strings.Join(out, ","), set, nil
}

func (f CronField) part(part string) (text string, set uint64, err error) {
	values, step, stepped := strings.Cut(part, "/")
	text = values
	from, to, every := f.min, f.max, 1
	if values != "*" {
		low, high, isRange := strings.Cut(values, "-")
		if from, err = f.value(low); err != nil {
			return "", 0, err
		}
		to, text = from, strconv.Itoa(from)
		if isRange {
			if to, err = f.value(high); err != nil {
				return "", 0, err
			}
			if to < from {
				return "", 0, fmt.Errorf("the range %q ends before it begins", values)
			}
			text += "-" + strconv.Itoa(to)
		}
		if stepped && !isRange {
			return "", 0, fmt.Errorf("%q: a step goes with a range or with *: `*/%s`", part, step)
		}
	}
	if stepped {
		if every, err = strconv.Atoi(step); err != nil || every < 1 || every > f.max {
			return "", 0, fmt.Errorf("%q: the step must be a number from 1 to %d", part, f.max)
		}
		text += "/" + strconv.Itoa(every)
	}
	for n := from; n <= to; n += every {
		set |= 1 << n
	}
	return text, set, nil
}

func (f CronField) value(text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= f.min && n <= f.max && text[0] != '+' {
		return n, nil
	}
	for i, name := range f.names {
		if word := strings.ToLower(text); word == name || word == name[:3] {
			return f.min + i, nil
		}
	}
	message := fmt.Sprintf("%q is out of bounds or no number; use %d to %d", text, f.min, f.max)
	if f.names != nil {
		message += " or an English name"
	}
	return 0, fmt.Errorf("%s, a range a-b, or steps */n", message)
}

// sameSchedule returns the form in which schedules are compared: the set of values of each field, whichever way they
// are written. cron takes a day that fits monthday and weekday or, where neither begins with *, one that fits either
// (crontab(5)). What it cannot read stays as it is written.
func sameSchedule(schedule []string) string {
	written := strings.Join(schedule, " ")
	if fields := cronSpecialFields[written]; fields != "" {
		schedule = strings.Fields(fields)
	}
	if len(schedule) != len(CronFields) {
		return written
	}
	sets := make([]uint64, len(CronFields))
	either, every := true, true // of the days
	for i, f := range CronFields {
		_, set, err := f.read([]string{schedule[i]})
		if err != nil {
			return written
		}
		_, all, _ := f.part("*")
		switch f.Name {
		case "weekday": // 7 is Sunday, too
			set, all = (set|set>>7)&0x7f, 0x7f
			fallthrough
		case "monthday":
			either = either && schedule[i][0] != '*'
			every = every && set == all
		}
		sets[i] = set
	}
	return fmt.Sprintf("%x %t", sets, either && !every)
}
