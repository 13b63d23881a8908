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

// parameter declares the field.
func (f CronField) parameter() resource.Parameter {
	description := fmt.Sprintf("%d to %d, a range `a-b`, steps `*/n` or `a-b/n`, or a list of these. Default: every one (`*`).", f.min, f.max)
	if f.names != nil {
		description = fmt.Sprintf("%d to %d or an English name, a range `a-b`, steps `*/n` or `a-b/n`, or a list of these. Default: every one (`*`).", f.min, f.max)
	}
	return resource.Parameter{Name: f.Name, Kind: resource.StringList, Scalars: true, Description: description,
		Check: func(value any) error {
			list, _ := value.([]string)
			_, err := f.text(list)
			return err
		}}
}

// text returns the field as it stands in a crontab.
func (f CronField) text(values []string) (string, error) {
	var out []string
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		text, err := f.part(strings.TrimSpace(part))
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	if len(out) > 1 && slices.Contains(out, "*") {
		return "", fmt.Errorf("* stands for every %s already; give it alone, or leave it out", f.Name)
	}
	return strings.Join(out, ","), nil
}

func (f CronField) part(part string) (string, error) {
	set, step, stepped := strings.Cut(part, "/")
	out := set
	if set != "*" {
		low, high, isRange := strings.Cut(set, "-")
		from, err := f.value(low)
		if err != nil {
			return "", err
		}
		out = strconv.Itoa(from)
		if isRange {
			to, err := f.value(high)
			if err != nil {
				return "", err
			}
			if to < from {
				return "", fmt.Errorf("the range %q ends before it begins", set)
			}
			out += "-" + strconv.Itoa(to)
		}
		if stepped && !isRange {
			return "", fmt.Errorf("%q: a step goes with a range or with *: `*/%s`", part, step)
		}
	}
	if stepped {
		n, err := strconv.Atoi(step)
		if err != nil || n < 1 || n > f.max {
			return "", fmt.Errorf("%q: the step must be a number from 1 to %d", part, f.max)
		}
		out += "/" + strconv.Itoa(n)
	}
	return out, nil
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
