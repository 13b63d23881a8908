package site

import (
	"strings"
	"testing"
	"time"
)

// Maintenance windows are intervals of UTC, also when the clock of their zone is changed.
func TestMaintenanceIntervals(t *testing.T) {
	tests := map[string]struct {
		window   Maintenance
		from, to string // without minutes
		want     string
	}{
		"in winter": {Maintenance{[]string{"sat"}, "22:00", "04:00", "Europe/London"}, "2026-01-05", "2026-01-20",
			"01-10 22:00 to 01-11 04:00, 01-17 22:00 to 01-18 04:00"},
		"in summer": {Maintenance{[]string{"sat"}, "22:00", "04:00", "Europe/London"}, "2026-07-06", "2026-07-13",
			"07-11 21:00 to 07-12 03:00"},
		"over the spring change": {Maintenance{[]string{"sat"}, "22:00", "04:00", "Europe/London"}, "2026-03-23", "2026-03-30",
			"03-28 22:00 to 03-29 03:00"},
		"over the autumn change": {Maintenance{[]string{"sat"}, "22:00", "04:00", "Europe/London"}, "2026-10-19", "2026-10-26",
			"10-24 21:00 to 10-25 04:00"},
		"starts in the skipped hour": {Maintenance{[]string{"sun"}, "01:30", "03:00", "Europe/London"}, "2026-03-23",
			"2026-03-30", "03-29 01:00 to 03-29 02:00"},
		"ends in the skipped hour": {Maintenance{[]string{"sun"}, "00:00", "01:30", "Europe/London"}, "2026-03-23",
			"2026-03-30", "03-29 00:00 to 03-29 01:00"},
		"lies in the skipped hour": {Maintenance{[]string{"sun"}, "01:10", "01:50", "Europe/London"}, "2026-03-23",
			"2026-04-06", "04-05 00:10 to 04-05 00:50"},
		"lies in the hour that comes twice": {Maintenance{[]string{"sun"}, "01:10", "01:50", "Europe/London"}, "2026-10-19",
			"2026-10-26", "10-25 00:10 to 10-25 00:50"},
		"ends in the hour that comes twice": {Maintenance{[]string{"sun"}, "00:00", "01:30", "Europe/London"}, "2026-10-19",
			"2026-10-26", "10-24 23:00 to 10-25 00:30"},
		"west of UTC": {Maintenance{[]string{"sun"}, "01:00", "04:00", "America/New_York"}, "2026-03-02", "2026-03-09",
			"03-08 06:00 to 03-08 08:00"},
		"by half hours": {Maintenance{[]string{"sun"}, "01:00", "03:00", "Australia/Lord_Howe"}, "2026-03-30", "2026-04-06",
			"04-04 14:00 to 04-04 16:30"},
		"every day": {Maintenance{nil, "08:00", "09:00", "Asia/Tokyo"}, "2026-05-01", "2026-05-03",
			"05-01 23:00 to 05-02 00:00, 05-02 23:00 to 05-03 00:00"},
		"whole days": {Maintenance{[]string{"mon", "tue"}, "00:00", "24:00", "UTC"}, "2026-05-04", "2026-05-09",
			"05-04 00:00 to 05-06 00:00"},
		"the day before": {Maintenance{[]string{"sun"}, "22:00", "04:00", "UTC"}, "2026-05-04", "2026-05-05",
			"05-03 22:00 to 05-04 04:00"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			from, _ := time.Parse(time.DateOnly, tt.from)
			to, _ := time.Parse(time.DateOnly, tt.to)
			var got []string
			for _, open := range tt.window.Intervals(from, to) {
				got = append(got, open.From.Format("01-02 15:04")+" to "+open.To.Format("01-02 15:04"))
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
		})
	}
}

func TestMaintenanceIsValidated(t *testing.T) {
	for _, tt := range []struct {
		window Maintenance
		want   string // part of the only error; empty: none
	}{
		{Maintenance{[]string{"sat", "sun"}, "22:00", "04:00", "Europe/London"}, ""},
		{Maintenance{nil, "00:00", "24:00", "UTC"}, ""},
		{Maintenance{[]string{}, "22:00", "04:00", "UTC"}, "maintenance.days: is empty, so that the maintenance window never opens"},
		{Maintenance{[]string{"Sat"}, "22:00", "04:00", "UTC"}, `maintenance.days[0]: "Sat" is not a day; give mon`},
		{Maintenance{nil, "22:00", "22:00", "UTC"}, "maintenance.end: is the same as start, so that the maintenance window never opens"},
		{Maintenance{nil, "24:00", "04:00", "UTC"}, `maintenance.start: "24:00" is not a time of the day`},
		{Maintenance{nil, "24:00", "24:00", "UTC"}, `maintenance.start: "24:00" is not a time of the day`},
		{Maintenance{nil, "9:00", "10:00", "UTC"}, `maintenance.start: "9:00" is not a time of the day`},
		{Maintenance{nil, "22:00", "25:00", "UTC"}, `maintenance.end: "25:00" is not a time of the day`},
		{Maintenance{nil, "22:00", "04:00", "Europe/Londn"}, `maintenance.timezone: there is no time zone "Europe/Londn"`},
		{Maintenance{nil, "22:00", "04:00", ""}, `maintenance.timezone: there is no time zone ""`},
		{Maintenance{nil, "22:00", "04:00", "Local"}, `maintenance.timezone: there is no time zone "Local"`},
		{Maintenance{nil, "22:00", "04:00", "localtime"}, `maintenance.timezone: there is no time zone "localtime"`},
	} {
		errs := Group{Name: "g", Selectors: Selectors{}, Maintenance: &tt.window}.Validate()
		switch {
		case tt.want == "" && len(errs) > 0:
			t.Errorf("%+v: %v", tt.window, errs)
		case tt.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.want)):
			t.Errorf("%+v: got %v, want %s", tt.window, errs, tt.want)
		}
	}
	if got, want := (Maintenance{[]string{"sun", "sat"}, "22:00", "04:00", "Europe/London"}).String(),
		"Sat, Sun 22:00-04:00 Europe/London"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
