package site

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/invalid"
)

// Maintenance is the maintenance window of a group: when its nodes may be started.
type Maintenance struct {
	Days     []string `key:"days"`              // on which it opens, "mon" to "sun"; nil: every day
	Start    string   `key:"start,required"`    // on the clock of Timezone, such as "22:00"
	End      string   `key:"end,required"`      // "24:00" at most; one that is before Start is on the next day
	Timezone string   `key:"timezone,required"` // of the IANA database, such as "Europe/London"
}

// Interval is the time from From to right before To, in UTC.
type Interval struct{ From, To time.Time }

// windowsKnown is how long a run knows when maintenance windows open. Longer than that none runs.
const windowsKnown = 100 * 24 * time.Hour

// Windows returns when the maintenance windows of groups are open in a run that starts now.
func Windows(groups []Group, now time.Time) map[string][]Interval {
	out := map[string][]Interval{}
	for _, g := range groups {
		if g.Maintenance != nil {
			out[g.Name] = g.Maintenance.Intervals(now, now.Add(windowsKnown))
		}
	}
	return out
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// Intervals returns when the maintenance window is open between two times, in order. A time that the clock skips is the
// moment after the skip, one that it shows twice is the first of them. The window must be valid.
func (m Maintenance) Intervals(from, to time.Time) (out []Interval) {
	zone, err := time.LoadLocation(m.Timezone)
	if err != nil {
		return nil
	}
	start, _ := parseClock(m.Start)
	end, _ := parseClock(m.End)
	if end <= start {
		end += 24 * time.Hour
	}
	first := from.In(zone)
	for day := time.Date(first.Year(), first.Month(), first.Day()-1, 0, 0, 0, 0, time.UTC); ; day = day.AddDate(0, 0, 1) {
		open := Interval{onClock(day.Add(start), zone), onClock(day.Add(end), zone)}
		last := len(out) - 1
		switch {
		case !open.From.Before(to):
			return out
		case len(m.Days) > 0 && !slices.Contains(m.Days, weekdays[day.Weekday()]), !open.To.After(from),
			!open.To.After(open.From):
		case last >= 0 && !open.From.After(out[last].To):
			out[last].To = open.To
		default:
			out = append(out, open)
		}
	}
}

// onClock returns the first moment at which the clock of a zone shows a time, given as if in UTC, or a later one.
func onClock(shown time.Time, zone *time.Location) time.Time {
	var at time.Time
	for _, day := range []time.Duration{24 * time.Hour, -24 * time.Hour} { // with the offset of the day before, or after
		_, offset := shown.Add(-day).In(zone).Zone()
		at = shown.Add(-time.Duration(offset) * time.Second)
		if _, shows := at.In(zone).Zone(); shows == offset {
			return at
		}
	}
	_, skip := at.In(zone).ZoneBounds() // with the offset of the day after, it is before the skip
	return skip.UTC()
}

// parseClock returns the time of the day that a clock shows, "00:00" to "24:00".
func parseClock(text string) (time.Duration, bool) {
	if text == "24:00" {
		return 24 * time.Hour, true
	}
	t, err := time.Parse("15:04", text)
	return t.Sub(t.Truncate(24 * time.Hour)), err == nil && len(text) == len("15:04")
}

// String returns the maintenance window as plans show it: `Sat, Sun 22:00-04:00 Europe/London`.
func (m Maintenance) String() string {
	var days []string
	for i := range weekdays { // from Monday
		if day := weekdays[(i+1)%len(weekdays)]; slices.Contains(m.Days, day) {
			days = append(days, strings.ToUpper(day[:1])+day[1:])
		}
	}
	if len(days) == 0 {
		days = []string{"daily"}
	}
	return fmt.Sprintf("%s %s-%s %s", strings.Join(days, ", "), m.Start, m.End, m.Timezone)
}

// validateMaintenance reports maintenance windows that are malformed or never open.
func (g Group) validateMaintenance() (errs invalid.Errors) {
	m := g.Maintenance
	if m == nil {
		return nil
	}
	report := func(attribute, format string, args ...any) {
		errs = append(errs, g.wrong("maintenance."+attribute, invalid.BadValue, format, args...))
	}
	if m.Days != nil && len(m.Days) == 0 {
		report("days", "is empty, so that the maintenance window never opens; give days, or leave it out for every day")
	}
	for i, day := range m.Days {
		if !slices.Contains(weekdays, day) {
			report(fmt.Sprintf("days[%d]", i), "%q is not a day; give mon, tue, wed, thu, fri, sat or sun", day)
		}
	}
	start, ok := parseClock(m.Start)
	if ok = ok && m.Start != "24:00"; !ok {
		report("start", "%q is not a time of the day; give one from \"00:00\" to \"23:59\"", m.Start)
	}
	end, known := parseClock(m.End)
	switch {
	case !known:
		report("end", "%q is not a time of the day; give one from \"00:00\" to \"24:00\"", m.End)
	case ok && start == end:
		report("end", "is the same as start, so that the maintenance window never opens; for whole days give "+
			"start = \"00:00\" and end = \"24:00\"")
	}
	own := slices.Contains([]string{"", "Local", "localtime"}, m.Timezone) // another one on each machine
	if _, err := time.LoadLocation(m.Timezone); err != nil || own {
		report("timezone", "there is no time zone %q; give a name of the IANA database, such as \"Europe/London\" or \"UTC\"",
			m.Timezone)
	}
	return errs
}
