package converge

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/converge/types"
	"github.com/slipway/terraform-provider-slipway/planner/resource"
	"github.com/slipway/terraform-provider-slipway/planner/schema"
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// actionSandbox is a sandbox whose commands run on this machine, in folders of the sandbox.
func actionSandbox(t *testing.T) *sandbox {
	b := commandSandbox(t)
	run := machine(t).Execute
	b.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
		c.Dir = b.real(c.Dir)
		return run(ctx, c)
	}
	return b
}

func TestAnActionRunsWheneverItIsToldTo(t *testing.T) {
	b := actionSandbox(t)
	out := b.real("/out")
	act := item("shell[p/t]", "command", "echo x >>"+out+"; echo said", "retries", 0)
	b.wantStatus(Check, act, Differs)
	r := b.wantStatus(Apply, act, Changed)
	if diff := cmp.Diff([]types.Difference{{Parameter: "returns", Is: "notrun", Should: "0"}}, r.Differences); diff != "" || r.Output != "said\n" {
		t.Errorf("%s\n%q", diff, r.Output)
	}
	b.wantStatus(Check, act, Unchanged)
	b.wantStatus(Apply, act, Changed)
	if got := b.get("/out"); got != "x\nx\n" {
		t.Errorf("ran %q", got)
	}
	changed := item("shell[p/t]", "command", "exit 3", "retries", 0)
	b.wantStatus(Check, changed, Differs)
	if r := b.wantStatus(Apply, changed, Failed); r.Message != `the command "exit 3": it ended with status 3; it printed nothing` {
		t.Error(r.Message)
	}
	summary := Run(t.Context(), b.System, Manifest{Protocol: Protocol, Site: "one", Mode: Prepare}, nil)
	if digest, begun := summary.Ledger["shell[p/t]"]; digest != "" || !begun {
		t.Errorf("ledger %v, want it begun", summary.Ledger)
	}
	b.wantStatus(Check, act, Differs)
	b.wantStatus(Apply, act, Changed)

	// A second site may do the same, and what is removed is only forgotten.
	var other []Result
	Run(t.Context(), b.System, Manifest{Protocol: Protocol, Site: "two", Run: "r", Mode: Apply, Items: []Item{act}}, func(r Result) { other = append(other, r) })
	if len(other) != 1 || other[0].Status != Changed {
		t.Errorf("%+v", other)
	}
	b.wantStatus(Apply, removal("shell[p/t]"), Changed)
	b.wantStatus(Apply, removal("shell[p/t]"), Unchanged)
	if got := b.get("/out"); got != "x\nx\nx\nx\n" {
		t.Errorf("ran %q", got)
	}
}

func TestAnActionHasItsFiles(t *testing.T) {
	b := actionSandbox(t)
	b.mkdir("/elsewhere")
	files := resource.Parameters{"deploy.sh": encoded("#!/bin/sh\ncat data/list; pwd\n"), "data/list": encoded("it's $HOME\n"), "data/more/x": encoded("\x00\xff")}
	folder := b.real(system.WorkPath)
	for _, test := range []struct{ command, cwd, want string }{
		{"./deploy.sh", "", "it's $HOME\n" + folder + "\n"},
		{"pwd; cat list", "data", folder + "/data\nit's $HOME\n"},
		{"pwd", "/elsewhere", b.real("/elsewhere") + "\n"},
		{"stat -c %a . deploy.sh data/list data", "", "700\n700\n700\n700\n"},
		{"od -An -tx1 data/more/x", "", " 00 ff\n"},
		{"rm -r data; echo more >x", "", ""},
	} {
		i := item("shell[s/t]", "command", test.command, "files", map[string]any(files), "retries", 0)
		if test.cwd != "" {
			i.Parameters["cwd"] = test.cwd
		}
		b.put(system.WorkPath+"/left/over", "by a session that was killed")
		if r := b.wantStatus(Apply, i, Changed); r.Output != test.want {
			t.Errorf("%s: printed %q, want %q", test.command, r.Output, test.want)
		}
		if b.there(system.WorkPath) {
			t.Errorf("%s: the folder is left behind", test.command)
		}
	}
	fails := item("shell[s/t]", "command", "exit 1", "files", map[string]any(files), "retries", 0)
	b.wantStatus(Apply, fails, Failed)
	if b.there(system.WorkPath) {
		t.Error("the folder of a command that failed is left behind")
	}
	b.put(system.WorkPath+"/left/over", "by a session that was killed")
	b.apply()
	if b.there(system.WorkPath) {
		t.Error("the folder of a session that was killed stays")
	}
}

func TestATryIsEndedWithAllThatItStarted(t *testing.T) {
	b := actionSandbox(t)
	i := item("shell[s/t]", "command", "(sleep 300 & echo $! >"+b.real("/pid")+"); sleep 300", "timeout", 1, "retries", 1, "interval", 0)
	r := b.wantStatus(Apply, i, Failed)
	if !strings.Contains(r.Message, "failed after 2 tries: the command \"(sleep 300 ") || !strings.Contains(r.Message, ": /bin/sh: ended: ran into its timeout of 1s; it printed nothing") {
		t.Error(r.Message)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(b.get("/pid"))); err == nil {
		t.Error("what the command started still runs")
	}
}

func TestSensitiveActionsShowNothing(t *testing.T) {
	b := actionSandbox(t)
	i := item("shell[s/t]", "command", "echo se same; echo se same >&2; exit 1", "retries", 0, "sensitive", true)
	if r := b.wantStatus(Apply, i, Failed); strings.Contains(fmt.Sprint(r), "se same") {
		t.Errorf("%+v", r)
	}
}

func TestTries(t *testing.T) {
	ended := func(try int) string {
		return fmt.Sprintf("the command \"x\": it ended with status 7; its output ends with: try %d; `report` shows more of it", try)
	}
	for name, test := range map[string]struct {
		parameters []any
		fail       int // so many tries fail
		tries      int
		took       time.Duration
		message    string
		limit      time.Duration // of the session; 0 is none
	}{
		"at once":               {tries: 1},
		"at the third":          {fail: 2, tries: 3, took: 2 * time.Second},
		"never":                 {fail: 9, tries: 4, took: 3 * time.Second, message: "failed after 4 tries: " + ended(4)},
		"never, and not again":  {parameters: []any{"retries", 0}, fail: 9, tries: 1, message: ended(1)},
		"never, slowly":         {parameters: []any{"retries", 1, "interval", 60}, fail: 9, tries: 2, took: time.Minute, message: "failed after 2 tries: " + ended(2)},
		"without a pause":       {parameters: []any{"interval", 0}, fail: 3, tries: 4},
		"given up in the pause": {parameters: []any{"interval", 3600}, fail: 9, tries: 1, took: time.Minute, message: "given up before try 2 of 4: it is late", limit: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newSandbox(t)
				tries := 0
				b.Commands = func(_ context.Context, c system.Command) (system.Output, error) {
					if tries++; tries <= test.fail {
						return system.Output{Status: 7, Combined: fmt.Sprintln("try", tries)}, nil
					}
					return system.Output{}, nil
				}
				ctx := t.Context()
				if test.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeoutCause(ctx, test.limit, errors.New("it is late"))
					defer cancel()
				}
				begun := time.Now()
				var results []Result
				Run(ctx, b.System, Manifest{Protocol: Protocol, Site: "one", Run: "r", Mode: Apply, Items: []Item{item("shell[a]", append(test.parameters, "command", "x")...)}},
					func(r Result) { results = append(results, r) })
				if r := results[0]; r.Message != test.message || (r.Status == Changed) != (test.message == "") {
					t.Errorf("%s %q, want %q", r.Status, r.Message, test.message)
				}
				if took := time.Since(begun); tries != test.tries || took != test.took {
					t.Errorf("%d tries in %s, want %d in %s", tries, took, test.tries, test.took)
				}
			})
		})
	}
}

func TestActionsThatCannotBe(t *testing.T) {
	big := strings.Repeat("x", schema.FilesLimit)
	for _, test := range []struct {
		typ  string
		p    resource.Parameters
		want string // empty: it is fine
	}{
		{"shell", resource.Parameters{"command": "x"}, ""},
		{"shell", resource.Parameters{}, "command: is required"},
		{"shell", resource.Parameters{"command": ""}, "must be text that is not empty"},
		{"shell", resource.Parameters{"command": "x", "timeout": int64(-1)}, "-1 must be 0 to"},
		{"shell", resource.Parameters{"command": "x", "retries": int64(1001)}, "1001 must be 0 to 1000"},
		{"shell", resource.Parameters{"command": "x", "cwd": "a/b", "files": map[string]any{"a/b/c": ""}}, ""},
		{"shell", resource.Parameters{"command": "x", "cwd": "a/b"}, `there is no folder "a/b" in files`},
		{"shell", resource.Parameters{"command": "x", "cwd": "../a"}, "leads out of the files"},
		{"shell", resource.Parameters{"command": "x", "files": map[string]any{"a": encoded(big)}}, ""},
		{"shell", resource.Parameters{"command": "x", "files": map[string]any{"a": encoded(big), "b": encoded("x")}}, "1048577 bytes together must be at most 1048576"},
		{"shell", resource.Parameters{"command": "x", "files": map[string]any{"a": "?"}}, `"a": the content must be in base64`},
		{"shell", resource.Parameters{"command": "x", "files": map[string]any{"/a": ""}}, `"/a" must be a relative path`},
		{"shell", resource.Parameters{"command": "x", "files": map[string]any{"../a": ""}}, `"../a" must be a relative path`},
		{"shell", resource.Parameters{"command": "x", "files": map[string]any{"a/../b": ""}}, `"a/../b" must be a relative path`},
		{"shell", resource.Parameters{"command": "x", "files": map[string]any{"a\x00": ""}}, `"a\x00" must be a relative path`},
		{"shell", resource.Parameters{"command": "x", "files": map[string]any{"": ""}}, `"" must be a relative path`},
		{"shell", resource.Parameters{"command": "x", "files": map[string]any{"a/": ""}}, `"a/" must be a relative path`},
		{"shell", resource.Parameters{"command": "x", "files": map[string]any{"a": "", "a/b/c": ""}}, `"a" is a file, and the folder of "a/b/c"`},
		{"shell", resource.Parameters{"command": "x", "file": "a"}, `did you mean "files"?`},
		{"puppet", resource.Parameters{"manifest": "site.pp", "files": map[string]any{"site.pp": ""}}, ""},
		{"puppet", resource.Parameters{"manifest": "site.pp"}, `there is no file "site.pp" in files`},
		{"puppet", resource.Parameters{"manifest": "site.pp", "cwd": "/etc/plugin"}, ""},
		{"puppet", resource.Parameters{"manifest": "/site.pp", "modules": "/etc/modules:lib/"}, `there is no folder "lib/" in files`},
		{"puppet", resource.Parameters{"manifest": "/site.pp", "modules": "/etc/modules:lib/", "files": map[string]any{"lib/x/y": ""}}, ""},
		{"puppet", resource.Parameters{"manifest": "/site.pp", "modules": "/etc/modules:"}, "must be a path that is not empty"},
		{"puppet", resource.Parameters{"manifest": "../site.pp"}, "leads out of the files"},
		{"reboot", resource.Parameters{}, ""},
		{"reboot", resource.Parameters{"timeout": int64(schema.MostSeconds + 1)}, "must be 0 to"},
	} {
		var got []string
		for _, e := range schema.Actions()[test.typ].Validate(resource.Resource{Type: test.typ, Title: "p/t", Parameters: test.p}) {
			got = append(got, e.Error())
		}
		if text := strings.Join(got, "; "); test.want == "" && text != "" || !strings.Contains(text, test.want) {
			t.Errorf("%s %v: %q, want %q", test.typ, test.p, text, test.want)
		}
	}
}

func TestPuppet(t *testing.T) {
	files := map[string]any{"site.pp": encoded("notice 1"), "modules/m/manifests/init.pp": encoded("class m {}")}
	for name, test := range map[string]struct {
		parameters []any
		status     int
		want       string // the command
		message    string
	}{
		"no change":        {[]any{"manifest", "site.pp", "files", files}, 0, "apply --detailed-exitcodes --color=false " + system.WorkPath + "/site.pp", ""},
		"changes":          {[]any{"manifest", "./site.pp", "modules", "modules/", "files", files}, 2, "apply --detailed-exitcodes --color=false --modulepath=" + system.WorkPath + "/modules " + system.WorkPath + "/site.pp", ""},
		"failures":         {[]any{"manifest", "/m/site.pp", "modules", "modules:/etc/m", "files", files}, 4, "apply --detailed-exitcodes --color=false --modulepath=" + system.WorkPath + "/modules:/etc/m /m/site.pp", "resources of the manifest failed (status 4)"},
		"changes and":      {[]any{"manifest", "/m.pp"}, 6, "apply --detailed-exitcodes --color=false /m.pp", "resources of the manifest failed, and others were changed (status 6)"},
		"does not compile": {[]any{"manifest", "x/-m.pp", "cwd", "/etc/p"}, 1, "apply --detailed-exitcodes --color=false /etc/p/x/-m.pp", "Puppet could not apply the manifest (status 1)"},
		"is killed":        {[]any{"manifest", "/m.pp"}, 137, "apply --detailed-exitcodes --color=false /m.pp", "Puppet ended unexpectedly (status 137)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSandbox(t)
			ran := &recorder{Answers: map[string]system.Output{"/opt": {Status: test.status}}}
			b.Commands = func(_ context.Context, c system.Command) (system.Output, error) { return ran.Run(c) }
			act := item("puppet[p/t]", test.parameters...)
			if r := b.apply(act)[0]; !strings.Contains(r.Message, "no such program on the node") || !strings.Contains(r.Message, "/opt/puppetlabs/bin") || len(ran.Ran) > 0 {
				t.Errorf("without Puppet: %s %s", r.Status, r.Message)
			}
			b.put("/opt/puppetlabs/puppet/bin/wrapper.sh", "")
			b.link("/opt/puppetlabs/bin/puppet", "../puppet/bin/wrapper.sh")
			if err := os.Chmod(b.real("/opt/puppetlabs/puppet/bin/wrapper.sh"), 0o755); err != nil {
				t.Fatal(err)
			}
			if r := b.apply(act)[0]; r.Message != test.message || (r.Status == Changed) != (test.message == "") {
				t.Errorf("%s %s", r.Status, r.Message)
			}
			ran.WantRan(t, "/opt/puppetlabs/bin/puppet "+test.want)
		})
	}
}

func TestNeeds(t *testing.T) {
	b := newBench(t)
	b.put("/usr/bin/there", "")
	b.put("/usr/bin/no-program", "")
	b.put("/usr/bin/file/in/the/way", "")
	b.link("/usr/local/bin/linked", "/usr/bin/there")
	b.link("/usr/local/bin/dangling", "nowhere")
	if err := os.Chmod(b.real("/usr/bin/there"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{Prepare, Check, Apply} {
		if _, summary := b.session(t.Context(), Manifest{Mode: mode, Needs: []string{"there", "linked", "/usr/bin/there"}}); summary.Error != nil {
			t.Errorf("%s: %v", mode, summary.Error)
		}
	}
	b.session(t.Context(), Manifest{Mode: Apply, TearDown: true})
	c := Manifest{Mode: Apply, Needs: []string{"there", "puppet", "no-program", "dangling", "file/in", "puppet"}, Items: []Item{item("plain[a]", "value", "1")}}
	results, summary := b.session(t.Context(), c)
	want := "the programs puppet, no-program, dangling, file/in are not on the node (looked in " + system.ProgramPath + "); tasks of this run call them: install them first"
	if summary.Error == nil || summary.Error.Code != CodeNeeds || summary.Error.Message != want || len(results) > 0 || b.there(system.Home) {
		t.Errorf("%+v, results %v, touched: %v", summary.Error, results, b.there(system.Home))
	}
	c.Mode, c.Items, c.Needs = Prepare, nil, []string{"puppet"}
	if _, summary := b.session(t.Context(), c); summary.Error == nil || !strings.HasPrefix(summary.Error.Message, "the program puppet is not on the node") {
		t.Errorf("%+v", summary.Error)
	}
}
