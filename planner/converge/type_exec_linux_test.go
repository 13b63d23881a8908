package converge

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
)

// commandSandbox is a sandbox whose commands run on this machine, in the folder.
func commandSandbox(t *testing.T) *sandbox {
	needRoot(t)
	b := newSandbox(t)
	b.Commands = machine(t).Execute
	return b
}

// in makes an exec whose commands run in the sandbox. The directory is seen by the machine and, because it is made there too, by the sandbox.
func (b *sandbox) exec(title string, pairs ...any) Item {
	b.mkdir(b.dir)
	return item("exec["+title+"]", append(pairs, "cwd", b.dir)...)
}

func (b *sandbox) wantStatus(mode Mode, i Item, want Status) Result {
	b.t.Helper()
	r := b.inMode(mode, i)[0]
	if r.Status != want {
		b.t.Errorf("%s %s: %s %s %s, want %s", mode, i.ID(), r.Status, r.Message, r.Output, want)
	}
	return r
}

func TestExecWithoutGuardsRunsOnceInEachForm(t *testing.T) {
	b := commandSandbox(t)
	first := b.exec("add", "command", "echo x >>out; echo done")
	b.wantStatus(Check, first, Differs)
	r := b.wantStatus(Apply, first, Changed)
	if r.Output != "done\n" || r.Differences[0] != (types.Difference{Parameter: "returns", Is: "notrun", Should: "0"}) {
		t.Errorf("%+v", r)
	}
	b.wantStatus(Check, first, Unchanged)
	b.wantStatus(Apply, first, Unchanged)
	b.wantStatus(Apply, b.exec("add", "command", "echo y >>out"), Changed)
	if got := b.get("out"); got != "x\ny\n" {
		t.Errorf("%q", got)
	}
	failing := b.exec("fails", "command", "echo z >>out; exit 3")
	if r := b.wantStatus(Apply, failing, Failed); !strings.Contains(r.Message, "ended with status 3, not 0") {
		t.Error(r.Message)
	}
	b.wantStatus(Apply, failing, Failed) // it did not succeed, so it runs again
	if got := b.get("out"); got != "x\ny\nz\nz\n" {
		t.Errorf("%q", got)
	}
}

// The difference of a command that is to make something says what is not there.
func TestExecSaysWhatIsNotThere(t *testing.T) {
	b := commandSandbox(t)
	for _, tt := range []struct {
		pairs []any
		want  types.Difference
	}{
		{[]any{"creates", "/a"}, types.Difference{Parameter: "creates", Is: "absent", Should: "/a"}},
		{[]any{"creates", []any{"/a", "/b"}, "returns", "3"},
			types.Difference{Parameter: "creates", Is: "absent", Should: "/a or /b"}},
		{[]any{"creates", "/a", "sensitive", true},
			types.Difference{Parameter: "creates", Is: types.Hidden, Should: types.Hidden}},
		{[]any{"unless", "false"}, types.Difference{Parameter: "returns", Is: "notrun", Should: "0"}},
	} {
		r := b.wantStatus(Check, b.exec("make", append(tt.pairs, "command", "true")...), Differs)
		if diff := cmp.Diff([]types.Difference{tt.want}, r.Differences); diff != "" {
			t.Error(diff)
		}
		if !types.Started(r.Differences) {
			t.Errorf("%v: a command that ran would be refreshed, too", r.Differences)
		}
	}
}

func TestExecGuards(t *testing.T) {
	b := commandSandbox(t)
	b.put("flag", "")
	b.put("/made", "")
	for name, test := range map[string]struct {
		pairs []any
		runs  bool
	}{
		"creates, there":         {[]any{"creates", "/made"}, false},
		"creates, not there":     {[]any{"creates", "/unmade"}, true},
		"creates, one of two":    {[]any{"creates", []any{"/unmade", "/made"}}, false},
		"onlyif":                 {[]any{"onlyif", "test -f flag"}, true},
		"onlyif not":             {[]any{"onlyif", "test -f nothing"}, false},
		"onlyif, all":            {[]any{"onlyif", []any{"test -f flag", "false"}}, false},
		"onlyif, asks for one":   {[]any{"onlyif", "command -v slipway-no-such-command"}, false},
		"unless, asks for one":   {[]any{"unless", "test -f flag && command -v slipway-no-such-command"}, true},
		"unless":                 {[]any{"unless", "test -f nothing"}, true},
		"unless not":             {[]any{"unless", "test -f flag"}, false},
		"unless, any":            {[]any{"unless", []any{"false", "test -f flag"}}, false},
		"onlyif, words":          {[]any{"onlyif", []any{[]any{"test", "-f", "flag"}}}, true},
		"unless, words":          {[]any{"unless", []any{[]any{"test", "-f", "flag"}, "false"}}, false},
		"unless, words and line": {[]any{"unless", []any{[]any{"test", "-f", "$HOME"}, "test -f flag"}}, false},
		"onlyif, one word":       {[]any{"onlyif", []any{[]any{"true"}, "test -f flag"}}, true},
		"all guards":             {[]any{"creates", "/unmade", "onlyif", "true", "unless", "false"}, true},
		"refreshonly":            {[]any{"refreshonly", true}, false},
		"refreshonly and onlyif": {[]any{"refreshonly", true, "onlyif", "true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			i := b.exec("guarded "+name, append(test.pairs, "command", "echo x >>out")...)
			os.Remove(b.real("out"))
			check, apply := Unchanged, Unchanged
			if test.runs {
				check, apply = Differs, Changed
			}
			b.wantStatus(Check, i, check)
			if b.there("out") {
				t.Fatal("it ran in mode check")
			}
			b.wantStatus(Apply, i, apply)
			if b.there("out") != test.runs {
				t.Errorf("ran: %v", b.there("out"))
			}
			b.wantStatus(Check, i, check) // the guards decide, not the ledger
		})
	}
}

// A guard that cannot be run says nothing. At plan time its program may still be on its way.
func TestExecGuardThatCannotBeRun(t *testing.T) {
	b := commandSandbox(t)
	b.put("/opt/plain", "")
	for _, tt := range []struct {
		guard   string
		command any
		want    string
	}{
		{"unless", "/opt/chk", `unless "/opt/chk": the program does not exist`},
		{"onlyif", "slipway-no-such-command -v", `onlyif "slipway-no-such-command -v": the program does not exist`},
		{"unless", "test -d / && slipway-no-such-command >/dev/null 2>&1", "the program does not exist"},
		{"unless", b.real("/opt/plain"), "the program cannot be executed"},
		{"unless", []any{[]any{"/opt/chk", "-q"}}, `unless "/opt/chk -q": `},
	} {
		i := b.exec(fmt.Sprint("guarded by ", tt.command), "command", "echo x >>out", tt.guard, tt.command)
		b.wantStatus(Check, i, Differs)
		if r := b.wantStatus(Apply, i, Failed); !strings.Contains(r.Message, tt.want) {
			t.Errorf("%q, want %q", r.Message, tt.want)
		}
		if b.there("out") {
			t.Fatalf("%s %s: the command ran", tt.guard, tt.command)
		}
	}
	for _, guard := range []any{"/opt/chk-hunter2", []any{[]any{"/opt/chk", "hunter2"}}} {
		secret := b.exec("secret", "command", "true", "unless", guard, "sensitive", true)
		if r := b.wantStatus(Apply, secret, Failed); strings.Contains(r.Message+r.Output, "hunter2") {
			t.Errorf("%q", r.Message)
		}
	}
}

func TestExecRefresh(t *testing.T) {
	b := commandSandbox(t)
	conf := func(content string) Item { return item("file[/conf]", "content", content).notifies("exec[reload]") }
	reload := b.exec("reload", "command", "echo r >>out", "refreshonly", true)
	guarded := b.exec("reload", "command", "echo r >>out", "refreshonly", true, "onlyif", "false")
	for _, step := range []struct {
		items []Item
		want  string
		runs  string
	}{
		{[]Item{conf("1"), reload}, "changed changed refreshed", "r\n"},
		{[]Item{conf("1"), reload}, "unchanged unchanged", "r\n"},
		{[]Item{conf("2"), reload.refreshOnly()}, "changed changed refreshed", "r\nr\n"},
		{[]Item{conf("3"), guarded}, "changed changed refreshed", "r\nr\n"}, // notified, and its guard forbids
	} {
		results := b.apply(step.items...)
		got := strings.ReplaceAll(strings.ReplaceAll(strings.Join(statuses(results), " "), "file[/conf] ", ""), "exec[reload] ", "")
		if got != step.want || b.get("out") != step.runs {
			t.Errorf("%s, ran %q; want %s, %q", got, b.get("out"), step.want, step.runs)
		}
	}
	// What has run just now is not run again because it was notified.
	b.apply(conf("4"), b.exec("reload", "command", "echo once >>other"))
	if got := b.get("other"); got != "once\n" {
		t.Errorf("%q", got)
	}
}

func TestExecParameters(t *testing.T) {
	b := commandSandbox(t)
	for name, test := range map[string]struct {
		item   Item
		status Status
		output string
		fails  string
	}{
		"title is the command": {item: item("exec[echo from title]"), status: Changed, output: "from title\n"},
		"list, no shell":       {item: item("exec[a]", "command", []any{"echo", "$HOME", "*"}), status: Changed, output: "$HOME *\n"},
		"environment":          {item: item("exec[b]", "command", "echo $A-$B", "environment", []any{"A=1", "B=x=y"}), status: Changed, output: "1-x=y\n"},
		"path":                 {item: item("exec[c]", "command", "echo $PATH", "path", []any{"/bin:/sbin", "/x"}), status: Changed, output: "/bin:/sbin:/x\n"},
		"returns":              {item: item("exec[d]", "command", "exit 7", "returns", []any{int64(0), "7"}), status: Changed},
		"returns number":       {item: item("exec[e]", "command", "exit 7", "returns", int64(7)), status: Changed},
		"returns not":          {item: item("exec[f]", "command", "true", "returns", []any{"1", "2"}), status: Failed, fails: "ended with status 0, not 1 or 2"},
		"fails":                {item: item("exec[o]", "command", "echo a; echo 'no space left' >&2; exit 3"), status: Failed, output: "a\nno space left\n", fails: `the command "echo a; echo 'no space left' >&2; exit 3": it ended with status 3, not 0; its output ends with: a; no space left; ` + "`report` shows more of it"},
		"fails, a list":        {item: item("exec[p]", "command", []any{"ls", "/no such"}), status: Failed, output: "ls: cannot access '/no such': No such file or directory\n", fails: `the command "ls /no such": it ended with status 2, not 0; its output ends with: ls: cannot access '/no such': No such file or directory; `},
		"fails in silence":     {item: item("exec[false]"), status: Failed, fails: `the command "false": it ended with status 1, not 0; it printed nothing`},
		"user missing":         {item: item("exec[g]", "command", "true", "user", "app", "onlyif", "true"), status: Failed, fails: `user "app": no such user on the node; make it first`},
		"cwd missing":          {item: item("exec[h]", "command", "true", "cwd", "/missing", "onlyif", "true"), status: Failed, fails: `cwd "/missing": no such directory on the node; make it first`},
		"sensitive":            {item: item("exec[i]", "command", "echo hunter2; exit 1", "sensitive", true), status: Failed, fails: "ended with status 1"},
		"not a list":           {item: item("exec[j]", "command", []any{}), status: Failed, fails: "command: must not be empty"},
		"bad timeout":          {item: item("exec[k]", "timeout", int64(-1)), status: Failed, fails: "timeout: -1 must be 0 to 86400"},
		"bad environment":      {item: item("exec[l]", "environment", "hunter2"), status: Failed, fails: "entry 0 must have the form NAME=value"},
		"bad returns":          {item: item("exec[m]", "returns", "256"), status: Failed, fails: "must be an exit status"},
		"bad creates":          {item: item("exec[n]", "creates", "x"), status: Failed, fails: "must be an absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			r := b.wantStatus(Apply, test.item, test.status)
			if r.Output != test.output || !strings.Contains(r.Message, test.fails) || strings.Contains(r.Message, "hunter2") {
				t.Errorf("output %q, message %q; want %q, %q", r.Output, r.Message, test.output, test.fails)
			}
		})
	}
}

func TestExecTimeout(t *testing.T) {
	b := commandSandbox(t)
	start := time.Now()
	r := b.wantStatus(Apply, item("exec[slow]", "command", "sleep 600", "timeout", int64(1)), Failed)
	if !strings.Contains(r.Message, "ran into its timeout of 1s") || time.Since(start) > 30*time.Second {
		t.Errorf("%q after %s", r.Message, time.Since(start))
	}
}

func TestExecAsUser(t *testing.T) {
	b := commandSandbox(t)
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	b.put("/etc/passwd", string(passwd))
	r := b.wantStatus(Apply, item("exec[id -un; echo $USER $LOGNAME $HOME]", "user", "nobody"), Changed)
	if r.Output != "nobody\nnobody nobody /nonexistent\n" {
		t.Errorf("%q", r.Output)
	}
}

func TestExecInASandboxIsRefused(t *testing.T) {
	b := newSandbox(t)
	r := b.wantStatus(Apply, item("exec[true]"), Failed)
	if !strings.Contains(r.Message, "sandbox") {
		t.Error(r.Message)
	}
}
