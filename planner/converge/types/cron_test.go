package types

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system/systemtest"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

const rootTab = "# m h dom mon dow command\nMAILTO=root\n5 4 * * * /bin/backup\n"

func TestCron(t *testing.T) {
	const job = "# slipway: tidy\nPATH=/bin\n*/5 1,2 * 1 1-5 tidy --all\n"
	for _, tt := range []struct {
		name, tab  string
		parameters resource.Parameters
		diffs      []Difference
		want       string
	}{
		{
			"new", rootTab, resource.Parameters{
				"command": "tidy --all", "minute": "*/5", "hour": []any{int64(1), "2"}, "month": "January", "weekday": "mon-Friday", "environment": "PATH=/bin",
			},
			[]Difference{{"ensure", "absent", "present"}}, rootTab + job,
		},
		{"last line without an end", strings.TrimSuffix(rootTab, "\n"), resource.Parameters{"command": "x", "special": "daily"},
			[]Difference{{"ensure", "absent", "present"}}, rootTab + "# slipway: tidy\n@daily x\n"},
		{
			"other schedule and environment", rootTab + job + "0 0 * * * other\n", resource.Parameters{"command": "tidy --all", "special": "hourly"},
			[]Difference{{"special", "", "hourly"}, {"minute", "*/5", ""}, {"hour", "1,2", ""}, {"monthday", "*", ""}, {"month", "1", ""}, {"weekday", "1-5", ""}, {"environment", "PATH=/bin", ""}},
			rootTab + "# slipway: tidy\n@hourly tidy --all\n0 0 * * * other\n",
		},
		{"other command, hidden", rootTab + job, resource.Parameters{
			"command": "tidy --password=x", "minute": "*/5", "hour": "1,2", "month": int64(1), "weekday": "1-5", "environment": "PATH=/bin", "sensitive": true,
		}, []Difference{{"command", "tidy --all", "tidy --password=x"}}, rootTab + strings.Replace(job, "--all", "--password=x", 1)},
		{"as it should be", rootTab + job, resource.Parameters{"command": "tidy --all", "minute": "*/5", "hour": "1,2", "month": int64(1), "weekday": "1-5", "environment": "PATH=/bin"}, nil, rootTab + job},
		{"absent", job + rootTab, resource.Parameters{"ensure": "absent"}, []Difference{{"ensure", "present", "absent"}}, rootTab},
		{"marker without a job", "# slipway: tidy\n\n" + rootTab, resource.Parameters{"command": "x", "special": "reboot"}, []Difference{
			{"command", "", "x"}, {"special", "", "reboot"},
		}, "# slipway: tidy\n@reboot x\n\n" + rootTab},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const tab = "/var/spool/cron/crontabs/root"
			s := folder(t, map[string]string{tab: tt.tab})
			if err := os.Chmod(s.Root+tab, 0o600); err != nil {
				t.Fatal(err)
			}
			was := systemtest.Inventory(t, s.Root)
			r := res(t, cronType{}, "tidy", tt.parameters)
			s.ID = r.ID()
			diffs, err := cronType{}.Check(t.Context(), s, r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.diffs, diffs); diff != "" {
				t.Error(diff)
			}
			before := applied(t, s, cronType{}, r)
			content, err := s.ReadFile(tab)
			if err != nil || string(content) != tt.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, content, tt.want)
			}
			if r.Sensitive() && strings.Contains(string(before), "tidy --all") {
				t.Errorf("the ledger would hold %s", before)
			}
			undone(t, s, cronType{}, r, before)
			now := systemtest.Inventory(t, s.Root)
			delete(was, "/var/lib")
			delete(now, "/var/lib")
			if diff := cmp.Diff(was, now); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A job that is there already, by its command and times or by Puppet's name, is the job.
func TestCronRecognisesJobs(t *testing.T) {
	const tab = "/var/spool/cron/crontabs/root"
	backup := resource.Parameters{"command": "/bin/backup", "minute": int64(5), "hour": int64(4), "weekday": "mon"}
	with := func(more resource.Parameters) resource.Parameters {
		p := resource.Parameters{}
		for _, m := range []resource.Parameters{backup, more} {
			for k, v := range m {
				p[k] = v
			}
		}
		return p
	}
	for _, tt := range []struct {
		name, tab  string
		parameters resource.Parameters
		want       string
	}{
		{"by command and times", "0 1 * * * a\n5 4 * * Mon  /bin/backup\n", backup, "0 1 * * * a\n# slipway: b\n5 4 * * 1 /bin/backup\n"},
		{"by Puppet's name", "# Puppet Name: b\nA=1\n0 0 * * * old\n", backup, "# slipway: b\n5 4 * * 1 /bin/backup\n"},
		{"of another of Puppet's", "# Puppet Name: c\n5 4 * * 1 /bin/backup\n", backup, "# Puppet Name: c\n5 4 * * 1 /bin/backup\n# slipway: b\n5 4 * * 1 /bin/backup\n"},
		{"other times", "5 4 * * * /bin/backup\n", backup, "5 4 * * * /bin/backup\n# slipway: b\n5 4 * * 1 /bin/backup\n"},
		{"absent", "0 1 * * * a\n5 4 * * 1 /bin/backup\n", with(resource.Parameters{"ensure": "absent"}), "0 1 * * * a\n"},
		{"absent, by Puppet's name", "# Puppet Name: b\n0 0 * * * old\n0 1 * * * a\n", resource.Parameters{"ensure": "absent"}, "0 1 * * * a\n"},
		{"secret", "5 4 * * 1 /bin/backup\n", with(resource.Parameters{"sensitive": true}), "# slipway: b\n5 4 * * 1 /bin/backup\n"},
		{"special", "@daily /bin/backup\n", resource.Parameters{"command": "/bin/backup", "special": "daily"}, "# slipway: b\n@daily /bin/backup\n"},
		{"Sunday as 0", "0 4 * * 0 /bin/w\n", resource.Parameters{
			"command": "/bin/w", "hour": int64(4), "minute": int64(0), "weekday": int64(7),
		}, "# slipway: b\n0 4 * * 7 /bin/w\n"},
		{"Sunday as 0, absent", "0 4 * * 0 /bin/w\n0 1 * * * a\n", resource.Parameters{
			"command": "/bin/w", "hour": int64(4), "minute": int64(0), "weekday": int64(7), "ensure": "absent",
		}, "0 1 * * * a\n"},
		{"a word for the fields", "@daily /bin/dd\n", resource.Parameters{
			"command": "/bin/dd", "hour": int64(0), "minute": int64(0),
		}, "# slipway: b\n0 0 * * * /bin/dd\n"},
		{"fields for a word", "0 0 * * * /bin/nn\n", resource.Parameters{"command": "/bin/nn", "special": "midnight"},
			"# slipway: b\n@midnight /bin/nn\n"},
		{"another order", "0 1 * * 1,2 /bin/li\n", resource.Parameters{
			"command": "/bin/li", "hour": int64(1), "minute": int64(0), "weekday": []any{"2", "1"},
		}, "# slipway: b\n0 1 * * 2,1 /bin/li\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := folder(t, map[string]string{tab: tt.tab})
			if err := os.Chmod(s.Root+tab, 0o600); err != nil {
				t.Fatal(err)
			}
			r := res(t, cronType{}, "b", tt.parameters)
			s.ID = r.ID()
			if diffs, err := (cronType{}).Check(t.Context(), s, r); err != nil || len(diffs) == 0 {
				t.Errorf("nothing differs: %v", err)
			}
			before := applied(t, s, cronType{}, r)
			if content, err := s.ReadFile(tab); err != nil || string(content) != tt.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, content, tt.want)
			}
			undone(t, s, cronType{}, r, before)
			if content, err := s.ReadFile(tab); err != nil || string(content) != tt.tab {
				t.Errorf("undone: %v, got\n%s\nwant\n%s", err, content, tt.tab)
			}
		})
	}
}

// Debian's `crontab -l | crontab -` drops up to three comments at the start of a crontab.
func TestCronMarkerSurvivesCrontabOfDebian(t *testing.T) {
	const tab = "/var/spool/cron/crontabs/root"
	s := folder(t, map[string]string{"/var/spool/cron/crontabs/": ""})
	was := systemtest.Inventory(t, s.Root)
	first := res(t, cronType{}, "a", resource.Parameters{"command": "x"})
	second := res(t, cronType{}, "b", resource.Parameters{"command": "y"})
	s.ID = first.ID()
	one := applied(t, s, cronType{}, first)
	s.ID = second.ID()
	two := applied(t, s, cronType{}, second)
	content, err := s.ReadFile(tab)
	if err != nil {
		t.Fatal(err)
	}
	kept := string(content)
	for range 3 {
		if line, rest, _ := strings.Cut(kept, "\n"); strings.HasPrefix(line, "#") {
			kept = rest
		}
	}
	if kept != string(content) {
		t.Errorf("of\n%s\nonly this is left:\n%s", content, kept)
	}
	undone(t, s, cronType{}, second, two)
	s.ID = first.ID()
	undone(t, s, cronType{}, first, one)
	if diff := cmp.Diff(was, systemtest.Inventory(t, s.Root)); diff != "" {
		t.Error(diff)
	}
}

// Debian's crontab writes three comments of its own above what it installs. A file that slipway made and in which nothing else is left goes; another one
// stays.
func TestCronLeavesNoCommentsOfCrontab(t *testing.T) {
	const tab = "/var/spool/cron/crontabs/root"
	const comments = "# DO NOT EDIT THIS FILE - edit the master and reinstall.\n# (- installed on Sun Nov 22 21:33:37 2026)\n" +
		"# (Cron version -- $Id: crontab.c,v 2.13 1994/01/17 03:20:37 vixie Exp $)\n"
	for more, want := range map[string]string{"": "", "# mine\n": comments + "# mine\n"} {
		s := folder(t, map[string]string{"/var/spool/cron/crontabs/": ""})
		r := res(t, cronType{}, "a", resource.Parameters{"command": "x"})
		before := applied(t, s, cronType{}, r)
		content, err := s.ReadFile(tab)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.WriteFile(tab, []byte(comments+more+string(content)), system.Attributes{}); err != nil {
			t.Fatal(err)
		}
		undone(t, s, cronType{}, r, before)
		got, err := s.ReadFile(tab)
		if want != "" && (err != nil || string(got) != want) || want == "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("with %q: %q, %v, want %q", more, got, err, want)
		}
	}
}

// The mark of a job may get lost, and its line may be written in another way: undo finds it all the same, also by what
// a ledger of before has of it.
func TestCronUndoesAJobInAnotherSpelling(t *testing.T) {
	const tab = "/var/spool/cron/crontabs/root"
	for name, tt := range map[string]struct{ jobs, now, want string }{
		"respelled":            {"", "0 1 * * * a\n0 4 * * sun /bin/w\n", "0 1 * * * a\n"},
		"other times":          {"", "0 4 * * 6 /bin/w\n", "0 4 * * 6 /bin/w\n"},
		"the ledger of before": {`["81fb95bf0b5da35a"]`, "0 1 * * * a\n0 4 * * 7 /bin/w\n", "0 1 * * * a\n"},
	} {
		s := folder(t, map[string]string{tab: "0 1 * * * a\n"})
		r := res(t, cronType{}, "b", resource.Parameters{"command": "/bin/w", "hour": "4", "minute": "0", "weekday": "7"})
		s.ID = r.ID()
		before := applied(t, s, cronType{}, r)
		if tt.jobs != "" {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(before, &fields); err != nil {
				t.Fatal(err)
			}
			fields["jobs"] = json.RawMessage(tt.jobs)
			var err error
			if before, err = json.Marshal(fields); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.WriteFile(tab, []byte(tt.now), system.Attributes{}); err != nil {
			t.Fatal(err)
		}
		undone(t, s, cronType{}, r, before)
		if got, err := s.ReadFile(tab); err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

func TestCronFindsTheSpool(t *testing.T) {
	r := res(t, cronType{}, "tidy", resource.Parameters{"command": "x", "user": "ann"})
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"Debian", map[string]string{"var/spool/cron/crontabs/": ""}, "/var/spool/cron/crontabs/ann"},
		{"Red Hat", map[string]string{"var/spool/cron/": ""}, "/var/spool/cron/ann"},
		{"Alpine", map[string]string{"etc/crontabs/": "", "var/spool/cron/crontabs/": ""}, "/etc/crontabs/ann"},
		{"sandbox with nothing", nil, "/var/spool/cron/crontabs/ann"},
	} {
		s := folder(t, tt.files)
		checkUndo(t, s, []change{{cronType{}, r}}, tt.want, "")
		apply(t, s, cronType{}, r)
		content, err := s.ReadFile(tt.want)
		if err != nil || string(content) != "\n# slipway: tidy\n* * * * * x\n" {
			t.Errorf("%s: %q, %v", tt.name, content, err)
		}
		if info, err := s.Lstat(tt.want); err != nil || info.Mode.Perm() != 0o600 {
			t.Errorf("%s: %v, %v", tt.name, info.Mode, err)
		}
	}
}

func TestCronOnAMachineWithoutCron(t *testing.T) {
	s := wholeMachine(t, nil, noCommand)
	present := res(t, cronType{}, "tidy", resource.Parameters{"command": "x"})
	if diffs, err := (cronType{}).Check(t.Context(), s, present); err != nil || len(diffs) != 1 {
		t.Errorf("check: %v, %v", diffs, err)
	}
	if err := (cronType{}).Apply(t.Context(), s, present); !errors.Is(err, errNoCron) {
		t.Errorf("apply: %v", err)
	}
	absent := res(t, cronType{}, "tidy", resource.Parameters{"ensure": "absent"})
	undone(t, s, cronType{}, absent, applied(t, s, cronType{}, absent))
}

func TestCronOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can give files to others")
	}
	s := wholeMachine(t, map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\nann:x:1234:1234::/home/ann:/bin/sh\n", "etc/group": "crontab:x:77:\n", "var/spool/cron/crontabs/": "",
	}, noCommand)
	r := res(t, cronType{}, "tidy", resource.Parameters{"command": "x", "user": "ann"})
	before := applied(t, s, cronType{}, r)
	info, err := s.Lstat("/var/spool/cron/crontabs/ann")
	if err != nil || info.UID != 1234 || info.GID != 77 || info.Mode.Perm() != 0o600 {
		t.Errorf("%+v, %v", info, err)
	}
	if err := os.Chown(filepath.Join(s.Root, "var/spool/cron/crontabs/ann"), 0, 0); err != nil {
		t.Fatal(err)
	}
	diffs, err := cronType{}.Check(t.Context(), s, r)
	if diff := cmp.Diff([]Difference{{"user", "0", "1234"}}, diffs); err != nil || diff != "" {
		t.Error(err, diff)
	}
	apply(t, s, cronType{}, r)
	undone(t, s, cronType{}, r, before)
	if there, err := s.Exists("/var/spool/cron/crontabs/ann"); there || err != nil {
		t.Errorf("the crontab that slipway made is still there: %v", err)
	}
	stranger := res(t, cronType{}, "tidy", resource.Parameters{"command": "x", "user": "bob"})
	if err := (cronType{}).Apply(t.Context(), s, stranger); err == nil || !strings.Contains(err.Error(), `user "bob": no such user`) {
		t.Errorf("%v", err)
	}
}

func TestCronSchema(t *testing.T) {
	for _, tt := range []struct {
		parameters resource.Parameters
		want       string
	}{
		{resource.Parameters{}, "command: is required"},
		{resource.Parameters{"command": " "}, "command: must not be empty"},
		{resource.Parameters{"command": "a\nb"}, "command: contains a line break"},
		{resource.Parameters{"command": "x", "minute": "60"}, `minute: "60" is out of bounds or no number; use 0 to 59`},
		{resource.Parameters{"command": "x", "monthday": int64(0)}, `monthday: "0" is out of bounds or no number; use 1 to 31`},
		{resource.Parameters{"command": "x", "month": "janvier"}, `month: "janvier" is out of bounds or no number; use 1 to 12 or an English name`},
		{resource.Parameters{"command": "x", "weekday": "fri-mon"}, `weekday: the range "fri-mon" ends before it begins`},
		{resource.Parameters{"command": "x", "hour": "1/2"}, `hour: "1/2": a step goes with a range`},
		{resource.Parameters{"command": "x", "hour": "*/0"}, `hour: "*/0": the step must be`},
		{resource.Parameters{"command": "x", "hour": "*,1"}, `hour: * stands for every hour already`},
		{resource.Parameters{"command": "x", "hour": ""}, `hour: "" is out of bounds`},
		{resource.Parameters{"command": "x", "hour": "1", "special": "daily"}, `hour: does not go with special`},
		{resource.Parameters{"command": "x", "special": "dayly"}, `special: "dayly" is not allowed`},
		{resource.Parameters{"command": "x", "environment": "PATH"}, `environment: the setting that begins with "PATH"`},
		{resource.Parameters{"command": "x", "user": "../root"}, `user: "../root" is not a user name`},
	} {
		errs := cronType{}.Schema().Validate(resource.Resource{Type: "cron", Title: "t", Parameters: tt.parameters})
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.parameters, errs, tt.want)
		}
	}
}

var cronFragments = []string{"", "# note", "MAILTO=x", "0 0 * * * job", "@daily job", "# slipway: a\n1 1 * * * old", "# slipway: b\nX=y\n@daily old", "# slipway: c \t", "junk\r"}

func TestCronUndoProperty(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 4))
		text := randomText(r, cronFragments)
		s := folder(t, map[string]string{"etc/crontabs/root": text})
		var changes []change
		for range 1 + r.IntN(3) {
			p := resource.Parameters{"command": pick(r, "x", "y z")}
			switch r.IntN(4) {
			case 0:
				p = resource.Parameters{"ensure": "absent"}
			case 1:
				p["environment"] = []any{"A=b", "C=d"}
			case 2:
				p["special"] = "daily"
			}
			title := pick(r, "a", "b", "new", "newer")
			if !hasTitle(changes, title) {
				changes = append(changes, change{cronType{}, res(t, cronType{}, title, p)})
			}
		}
		checkUndo(t, s, changes, "/etc/crontabs/root", pick(r, "", "0 1 * * * foreign\n"))
		if t.Failed() {
			t.Fatalf("seed %d: %q", seed, text)
		}
	}
}

func FuzzCrontab(f *testing.F) {
	f.Add(rootTab, "tidy", "x", false)
	f.Add("# slipway: a\nA=1\r\n* * * * * x\r\n0 0", "a", "y", true)
	f.Add("# slipway: a", "a", "y", false)
	f.Add("# slipway: a\n#0", "a", "y", false)
	f.Fuzz(func(t *testing.T, text, title, command string, absent bool) {
		p := resource.Parameters{"command": command}
		if absent {
			p = resource.Parameters{"ensure": "absent"}
		}
		r := resource.Resource{Type: "cron", Title: title, Parameters: p}
		if len(cronType{}.Schema().Validate(r)) > 0 {
			t.Skip("no case: validation refuses this job before any file is read")
		}
		job, err := schema.WantedJob(r)
		if err != nil {
			t.Fatal(err)
		}
		set := &job
		if absent {
			set = nil
		}
		unended := !parseLines([]byte(text)).ended()
		find := findJob(title, func(j schema.CronJob) bool { return j.Line() == job.Line() })
		empty := len(parseLines([]byte(text))) == 0
		fuzzEditor(t, text, find, func(l lines) lines { return setJob(l, find(l), title, set) }, func(l lines, former []block) lines {
			return undoJob(l, find(l), former, unended, empty)
		})
	})
}
