package schema_test

import (
	"strings"
	"testing"

	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

// TestSchedulesAreComparedByWhenTheyRun: two spellings of one schedule are one line, schedules that differ are two.
// A day counts when it fits monthday and weekday, or one of them where neither begins with * (crontab(5)).
func TestSchedulesAreComparedByWhenTheyRun(t *testing.T) {
	for _, tt := range []struct {
		one, other string
		same       bool
	}{
		{"0 4 * * 0", "0 4 * * 7", true},
		{"0 4 * * sun", "00 04 * * 7", true},
		{"0 4 * * 5-7", "0 4 * * 0,5,6", true},
		{"0 4 * * 1", "0 4 * * 2", false},
		{"0 1 * * 1,2", "0 1 * * 2,1,2", true},
		{"0 1 * jan-mar mon-fri", "0 1 * 1,2,3 1,2,3,4,5", true},
		{"*/1 * * * *", "* * * * *", true},
		{"0-59 0-23 1-31 1-12 0-6", "* * * * *", true},
		{"*/15 * * * *", "0,15,30,45 * * * *", true},
		{"10-40/15 * * * *", "10,25,40 * * * *", true},
		{"*/15 * * * *", "*/20 * * * *", false},
		{"0 0 1-31 * *", "0 0 * * *", true},
		{"0 0 1-31 * 1", "0 0 * * 1", false},
		{"0 0 1 * 0-6", "0 0 1 * *", false},
		{"0 0 */2 * 1", "0 0 1-31/2 * 1", false},
		{"0 0 */2 * *", "0 0 1-31/2 * *", true},
		{"0 0 1 * 1", "0 0 1 * mon", true},
		{"@yearly", "@annually", true},
		{"@yearly", "0 0 1 1 *", true},
		{"@monthly", "0 0 1 * *", true},
		{"@weekly", "0 0 * * 7", true},
		{"@daily", "@midnight", true},
		{"@daily", "0 0 * * *", true},
		{"@hourly", "0 * * * *", true},
		{"@hourly", "@daily", false},
		{"@reboot", "@reboot", true},
		{"@reboot", "* * * * *", false},
		{"0~9 * * * *", "0~9 * * * *", true},
		{"0~9 * * * *", "0~8 * * * *", false},
	} {
		one := schema.CronJob{Schedule: strings.Fields(tt.one), Command: "x"}
		other := schema.CronJob{Schedule: strings.Fields(tt.other), Command: "x"}
		if same := one.Line() == other.Line(); same != tt.same {
			t.Errorf("%q and %q: the same is %v, want %v", tt.one, tt.other, same, tt.same)
		}
	}
}
