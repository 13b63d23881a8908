//go:build linux

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"

	"github.com/slipway/terraform-provider-slipway/planner/converge"
	"github.com/slipway/terraform-provider-slipway/planner/converge/system"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
)

// terminal is a pseudo-terminal in which `watch` runs, as a terminal would show it.
type terminal struct {
	*testing.T
	name   string
	master *os.File
	screen *vt.SafeEmulator
	ended  chan error
}

// watchIn starts `watch` in a terminal with so many columns. It is interrupted at the end of the test.
func watchIn(t *testing.T, columns int, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: uint16(columns)})
	}
	slave, failed := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	// What the terminal answers after `watch` has ended is not to be seen.
	modes, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err == nil {
		modes.Lflag &^= unix.ECHO
		err = unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, modes)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &terminal{t, fmt.Sprint(columns), master, vt.NewSafeEmulator(columns, rows), make(chan error, 1)}
	cmd := New("test", nil, "")
	cmd.SetIn(slave)
	cmd.SetOut(slave)
	cmd.SetErr(slave)
	cmd.SetArgs(append([]string{"watch"}, args...))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { w.ended <- cmd.ExecuteContext(ctx) }()
	shown, answered := make(chan struct{}), make(chan struct{})
	go func() { // it ends when the slave is gone
		defer close(shown)
		_, _ = io.Copy(w.screen, master)
	}()
	go func() {
		defer close(answered)
		_, _ = io.Copy(master, w.screen) // the terminal answers what it is asked
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-w.ended; err != nil {
			t.Log(err)
		}
		// A program that ended may still look at the file that it read from, which a close would race with: what is
		// behind the file goes.
		if null, err := os.Open(os.DevNull); err != nil {
			t.Error(err)
		} else if err = errors.Join(unix.Dup3(int(null.Fd()), int(slave.Fd()), unix.O_CLOEXEC), null.Close()); err != nil {
			t.Error(err)
		}
		<-shown
		if answers, ok := w.screen.InputPipe().(io.Closer); ok {
			_ = answers.Close()
		}
		<-answered
		_ = master.Close()
	})
	return w
}

const rows = 40 // of a terminal

// masks replace what differs from run to run by something as wide.
var masks = []struct{ pattern, with string }{
	{`\d\d:\d\d:\d\d`, "hh:mm:ss"},
	{`\b(for|after|about|started) \d[\dhms.]*[hms]\b`, "$1 TIME"},
	{`(?m)^ +\d[\dhms.]*s  `, "    TIME  "},
	{`\b\d{4}-\d\d-\d\dT[\dhms:]*Z?`, "DATE"},
	{`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`, "RUN"},
	{`\b[0-9a-f]{64}\b`, "DIGEST"},
	{`process \d+`, "process PID"},
	{`by \S+@\S+`, "by PERSON"},
	{`"time":"[^"]+"`, `"time":"TIME"`},
	{`,"millis":\d+`, ``}, // it is missing where it is 0
}

func masked(text string) string {
	for _, m := range masks {
		text = regexp.MustCompile(m.pattern).ReplaceAllString(text, m.with)
	}
	return trimmed(text)
}

// text is what the terminal shows, without what differs from run to run.
func (w *terminal) text() string {
	return strings.TrimRight(masked(ansi.Strip(w.screen.Render())), "\n") + "\n"
}

// shows waits until the terminal shows some texts, and then the golden file of this name.
func (w *terminal) shows(name string, texts ...string) {
	w.Helper()
	name = "watch-live-" + name + "-" + w.name
	want, err := os.ReadFile(filepath.Join(goldenDir, name+".golden"))
	if err != nil && !*update {
		w.Fatal(err)
	}
	got, before := "", ""
	until(w.T, func() bool {
		before, got = got, w.text()
		for _, text := range texts {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), text) {
				return false
			}
		}
		return got == string(want) || *update && got == before
	}, func() string { return "the terminal shows:\n" + got })
	golden(w.T, name, got)
}

// press presses keys.
func (w *terminal) press(keys string) {
	w.Helper()
	if _, err := io.WriteString(w.master, keys); err != nil {
		w.Fatal(err)
	}
}

// until waits for a condition, and fails with a text when it is not true in time.
func until(t *testing.T, condition func() bool, text func() string) {
	t.Helper()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !condition() {
		select {
		case <-tick.C:
		case <-limit:
			t.Error(text())
			return
		}
	}
}

// live is a site of sandbox nodes that a test holds where it wants: the callback of the group control waits for a line in a
// named pipe, a node for its lock.
type live struct{ *sandbox }

func newLive(t *testing.T) *live {
	t.Setenv("TERM", "xterm-256color")
	s := &live{newSandbox(t, "ntp1", "ctl1", "ctl2", "ctl3", "web1", "web2", "web3", "web4", "db1", "db2", "mon1")}
	s.must(unix.Mkfifo(s.path("pipe"), 0o600))
	t.Chdir(s.dir) // the folder of the journal is shown
	return s
}

// document writes the documents of the site.
func (s *live) document(content, rolling string) {
	s.Helper()
	text := "site: lon1\nnodes:\n"
	for _, n := range []string{"ntp1", "ctl1", "ctl2", "ctl3", "web1", "web2", "web3", "web4", "db1", "db2", "mon1"} {
		text += fmt.Sprintf("- {name: %s, tags: [%s], connect: {transport: local, root: %s}}\n", n, n[:len(n)-1], s.path(n))
	}
	text += fmt.Sprintf(`groups:
- {name: ntp, critical: true, depends_on: [], selectors: [{node_tags: [ntp]}]}
- {name: control, critical: true, depends_on: [ntp], selectors: [{node_tags: [ctl]}], success_criteria: {percent_successful_nodes: 60}}
- {name: db, critical: false, depends_on: [control], selectors: [{node_tags: [db]}], success_criteria: {minimum_successful_nodes: 1}}
- {name: monitoring, critical: false, depends_on: [db], selectors: [{node_tags: [mon]}]}
- {name: web, critical: false, depends_on: [control], selectors: [{node_tags: [web]}], rolling: {max_parallel: 1, %s}}
services:
- {name: motd, selectors: [], configuration: {file: {/etc/motd: {content: "welcome\n"}}}}
- {name: app, selectors: [{node_tags: [ctl, db, web, mon]}], configuration: {file: {/etc/app: {content: %q}}}}
- {name: time, entity: time, selectors: [{node_tags: [ctl]}], attributes: {server: %s}}
catalog:
  entities:
    time:
      attributes: {server: {type: string, modifier: rw+}}
      tasks:
      - {name: settings, config: {type: file, title: /etc/ntp.conf, parameters: {content: "server ${self.server}\n"}}}
      - name: wait
        tag: pre_node
        callback: {type: command, parameters: {argv: [/bin/sh, -c, "echo waits for the clock >&2; read line < %s"]}}
`, rolling, content, content, s.path("pipe"))
	s.must(os.WriteFile(s.path("site.yaml"), []byte(text), 0o600))
}

// start starts an apply, and returns how it ended.
func (s *live) start() (ended func(status int, texts ...string)) {
	type result struct {
		out    string
		status int
	}
	done := make(chan result, 1)
	ctx, cancel := context.WithCancel(s.Context())
	go func() {
		out, status := s.runIn(ctx, "", "apply", "--yes", "--parallelism", "1", s.path("site.yaml"))
		done <- result{out, status}
	}()
	s.Cleanup(cancel)
	return func(status int, texts ...string) {
		s.Helper()
		r := <-done
		for _, text := range texts {
			if r.status != status || !strings.Contains(r.out, text) {
				s.Errorf("status %d, want %d and %q:\n%s", r.status, status, text, r.out)
			}
		}
	}
}

// goOn lets the callback end.
func (s *live) goOn() {
	s.Helper()
	s.must(os.WriteFile(s.path("pipe"), []byte("now\n"), 0o600))
}

// lock holds a node as another session would, until it is released.
func (s *live) lock(node string) (release func()) {
	s.Helper()
	sys, err := system.New(s.path(node))
	s.must(err)
	_, err = sys.MakeHome()
	s.must(err)
	lock, err := sys.Lock(s.Context(), true, `site "lon2", run "other"`)
	s.must(err)
	return func() {
		lock.Release()
		s.must(sys.Close())
	}
}

// Runs on sandbox nodes as `watch` shows them in terminals of 80 and of 200 columns, from before they start until they
// have ended.
func TestWatchOfRealRuns(t *testing.T) {
	s := newLive(t)
	var both []*terminal
	watch := func() {
		both = nil
		for _, columns := range []int{80, 200} {
			both = append(both, watchIn(t, columns, "--journal-directory", "journal"))
		}
		for _, w := range both { // before the run starts
			until(t, func() bool { return strings.Contains(w.text(), "waiting for a run") }, w.text)
		}
	}
	show := func(name string, texts ...string) {
		t.Helper()
		for _, w := range both {
			w.shows(name, texts...)
		}
	}
	s.document("one", `batches: ["1", "100%"], approve: ["1"]`)
	watch()
	show("waiting", "waiting for a run")
	ended := s.start()
	show("running", "waits for the clock")
	release := s.lock("ctl3")
	s.goOn()
	show("group", "another session", "2 deployed")
	release()
	show("approval", "waits for approval")
	both[0].press("athe canary is fine\r")
	ended(0, "site lon1: deployed")
	show("ended", "succeeded after")
	piped, _, status := answer(t, "", "watch", s.newest(), "--journal-directory", "journal")
	golden(t, "watch-live-piped", masked(piped))
	legible(t, "piped", piped)
	asJSON, _, _ := answer(t, "", "watch", s.newest(), "--journal-directory", "journal", "-o", "json")
	golden(t, "watch-live-json", masked(asJSON))
	if status != 0 {
		t.Errorf("status %d", status)
	}

	for _, node := range []string{"db1", "db2"} { // no file can be written in the place of a folder with something in it
		s.must(os.Remove(s.path(node, "etc/app")))
		s.must(os.MkdirAll(s.path(node, "etc/app/folder"), 0o755))
	}
	s.document("two", `batches: ["1", "100%"], soak: 1h`)
	watch()
	ended = s.start()
	show("again", "waits for the clock", "1 unchanged")
	both[1].press("p\r")
	show("paused", "paused: nothing more is started", "pause by PERSON")
	both[1].press("r\r")
	show("resumed", "resume by PERSON")
	s.goOn()
	show("soak", "batch 1 of 2 soaks", "ONLY WAITED FOR WHAT FAILED")
	both[0].press("f")
	both[0].shows("failures", "2 nodes: db1 db2")
	both[0].press("fcthe clock is wrong\r")
	ended(statusFailed, "cancelled")
	show("cancelled", "interrupted after")
	piped, _, _ = answer(t, "", "watch", "--journal-directory", "journal", s.newest())
	golden(t, "watch-live-piped-failed", masked(piped))

	s.document("two", `batches: ["1", "100%"], health_check: {command: /bin/true}`)
	watch()
	ended = s.start()
	show("checked", "degraded after")
	ended(0, "health check")
}

// checking executes runs on sandbox nodes in this process, and its health check as a command of this machine, which a sandbox
// refuses.
type checking struct {
	*rollout.InProcess
	command string
}

// Converge implements [rollout.Executor].
func (e checking) Converge(ctx context.Context, n site.Node, m converge.Manifest, each func(converge.Result)) (converge.Summary, error) {
	sys, err := system.New(n.Connection.Root)
	if err != nil {
		return converge.Summary{}, err
	}
	sys.Commands = func(ctx context.Context, c system.Command) (system.Output, error) {
		if !slices.Contains(c.Argv, e.command) {
			return system.Output{}, system.ErrSandbox
		}
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
		cmd.Stdout = &out
		if sys.Live != nil {
			cmd.Stdout = io.MultiWriter(&out, sys.Live)
		}
		err := cmd.Run()
		return system.Output{Stdout: out.Bytes(), Combined: out.String()}, err
	}
	defer sys.Close() //nolint:errcheck // it only holds a directory open
	summary := converge.Run(ctx, sys, m, each)
	if summary.Error != nil {
		return summary, summary.Error
	}
	return summary, nil
}

// A health check that runs and succeeds, the soak and the check after it, and a maintenance window that is closed, as `watch`
// shows them in terminals of 80 and of 200 columns and piped.
func TestWatchOfChecksAndWindows(t *testing.T) {
	s := newLive(t)
	script := s.path("check.sh")
	s.must(os.WriteFile(s.path("first"), nil, 0o600))
	s.must(os.WriteFile(script, []byte("#!/bin/sh\nrm "+s.path("first")+" 2>/dev/null || exit 0\necho waits for the port\nread line < "+s.path("pipe")+"\n"), 0o755))
	s.executor = func() rollout.Executor { return checking{rollout.NewInProcess(), script} }
	closed := strings.ToLower(time.Now().UTC().AddDate(0, 0, 3).Weekday().String()[:3])
	text := "site: lon1\nnodes:\n"
	for _, n := range []string{"web1", "web2", "web3", "db1"} {
		text += fmt.Sprintf("- {name: %s, tags: [%s], connect: {transport: local, root: %s}}\n", n, n[:len(n)-1], s.path(n))
	}
	text += fmt.Sprintf(`groups:
- {name: web, critical: true, depends_on: [], selectors: [{node_tags: [web]}], rolling: {batches: ["1", "100%%"], soak: 1s, health_check: {command: %s}}}
- {name: db, critical: false, depends_on: [web], selectors: [{node_tags: [db]}], maintenance: {days: [%s], start: "02:00", end: "03:00", timezone: UTC}}
services:
- {name: motd, selectors: [], configuration: {file: {/etc/motd: {content: "welcome\n"}}}}
`, script, closed)
	s.must(os.WriteFile(s.path("site.yaml"), []byte(text), 0o600))
	var both []*terminal
	for _, columns := range []int{80, 200} {
		both = append(both, watchIn(t, columns, "--journal-directory", "journal"))
	}
	for _, w := range both { // before the run starts
		until(t, func() bool { return strings.Contains(w.text(), "waiting for a run") }, w.text)
	}
	ended := s.start()
	for _, w := range both {
		w.shows("check", "waits for the port")
	}
	s.goOn() // only the first check waits
	for _, w := range both {
		w.shows("window", "the maintenance window is closed")
	}
	both[0].press("cnot today\r")
	ended(statusFailed, "cancelled")
	piped, _, _ := answer(t, "", "watch", "--journal-directory", "journal", s.newest())
	golden(t, "watch-live-piped-checks", masked(piped))
	legible(t, "piped", piped)
}

// newest returns the id of the newest run.
func (s *live) newest() string {
	s.Helper()
	store, err := journal.Location{Path: s.path("journal")}.OpenExisting(s.Context(), "lon1")
	s.must(err)
	run, err := store.Run(s.Context(), "")
	s.must(err)
	s.must(store.Close())
	return run.ID
}
