package page

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/journal/hostiletest"
)

// limit is what a step of a test may take at most, on a machine that does much else.
const limit = 5 * time.Minute

// binary returns the path of slipway, and skips the test where a part of what it needs is missing.
func binary(t *testing.T) string {
	t.Helper()
	mirror := os.Getenv("SLIPWAY_MIRROR")
	if mirror == "" {
		t.Skip("SLIPWAY_MIRROR is not set: make test sets it")
	}
	for _, need := range []string{"node", "chromium"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("%v: apt-get install nodejs npm chromium", err)
		}
	}
	tools := filepath.Join(filepath.Dir(mirror), "node")
	if _, err := os.Stat(filepath.Join(tools, "node_modules/playwright-core")); err != nil {
		t.Skip("playwright-core is not installed: make page-tools")
	}
	t.Setenv("SLIPWAY_PAGE_TOOLS", tools)
	return filepath.Join(filepath.Dir(mirror), "terraform-provider-slipway")
}

// artefacts returns the folder in which screenshots and traces stay: .bin/page.
func artefacts(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(os.Getenv("SLIPWAY_MIRROR")), "page")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// process is a program that the test started.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
}

// start starts a program, which ends with the test.
func start(t *testing.T, dir, program string, args ...string) process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, os.Stderr, 10*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return process{cmd, bufio.NewScanner(out)}
}

// until returns the rest of the first line that begins with a text, and prints the lines before it.
func (p process) until(t *testing.T, prefix string) string {
	t.Helper()
	found := make(chan string, 1)
	go func() {
		defer close(found)
		for p.lines.Scan() {
			if rest, ok := strings.CutPrefix(p.lines.Text(), prefix); ok {
				found <- rest
				return
			}
			t.Log(p.lines.Text())
		}
	}()
	select {
	case line, ok := <-found:
		if !ok {
			t.Fatalf("%s ended without a line %q: %v", filepath.Base(p.Path), prefix, p.Wait())
		}
		return line
	case <-time.After(limit):
		t.Fatalf("%s: no line %q", filepath.Base(p.Path), prefix)
		return ""
	}
}

// ended waits for the end of a program, which must be successful.
func (p process) ended(t *testing.T) {
	t.Helper()
	for p.lines.Scan() {
		t.Log(p.lines.Text())
	}
	if err := p.Wait(); err != nil {
		t.Errorf("%s: %v", strings.Join(p.Args, " "), err)
	}
}

// serve starts the page of the journals in a folder, and returns its address with the proof of who may decide.
func serve(t *testing.T, slipway, dir string) (process, string) {
	t.Helper()
	p := start(t, dir, slipway, "serve", "--decide", "--listen", "127.0.0.1:0")
	return p, p.until(t, "serving ")
}

// document is a site of eleven sandbox nodes in four groups, and services of entities. With approval of its canary, it also
// asks a node that does not answer: what that prints is seen while it runs, and goes on when the files that it waits for
// are there.
func document(t *testing.T, dir, port, approve string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("site: lon1\nnodes:\n")
	for _, n := range []string{"infra ntp1", "control ctl1", "control ctl2", "control ctl3", "compute cmp1", "compute cmp2", "compute cmp3",
		"compute cmp4", "compute cmp5", "compute cmp6", "monitoring mon1"} {
		tag, name, _ := strings.Cut(n, " ")
		root := filepath.Join(dir, "nodes", name)
		fmt.Fprintf(&b, "  - {name: %s, tags: [%s], connect: {transport: local, root: %q}}\n", name, tag, root)
		if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintf(&b, `groups:
  - {name: ntp, critical: true, selectors: [{node_tags: [infra]}]}
  - {name: control, critical: true, depends_on: [ntp], selectors: [{node_tags: [control]}], success_criteria: {percent_successful_nodes: 60}}
  - {name: compute, critical: false, depends_on: [control], selectors: [{node_tags: [compute]}], rolling: {batches: ["1", "100%%"], soak: 1s, approve: [%s]}}
  - {name: monitoring, critical: false, depends_on: [ntp], selectors: [{node_tags: [monitoring]}]}
services:
  - name: motd
    selectors: []
    configuration:
      file: {/etc/motd: {content: "welcome to lon1\n", mode: "0644"}}
  - name: proxy
    selectors: []
    entity: proxy
    attributes: {port: %s}
catalog:
  entities:
    proxy:
      attributes: {port: {type: int, modifier: rw+}}
      tasks:
        - name: settings
          config: {type: file, title: /etc/proxy.conf, parameters: {content: "port = ${self.port}\n"}}
`, approve, port)
	if approve != "" {
		until := func(name string) string {
			return fmt.Sprintf("until test -e %q; do sleep 0.1; done; ", filepath.Join(dir, name))
		}
		fmt.Fprintf(&b, `    probe:
      tasks:
        - name: answer
          requires: [{resource: "file[/etc/motd]"}]
          callback: {type: command, per_node: true, parameters: {output: none, argv: [/bin/sh, -c, %q]}}
`, `echo "asking ${node.name}: is it up?"; `+until("ask")+`echo "asking ${node.name} once more"; `+until("answer")+`echo "${node.name} does not answer"; exit 3`)
		services, catalog, _ := strings.Cut(b.String(), "catalog:\n")
		b.Reset()
		b.WriteString(services + "  - {name: probe, entity: probe, selectors: [{node_tags: [monitoring]}]}\ncatalog:\n" + catalog)
	}
	if err := os.WriteFile(filepath.Join(dir, "site.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A person starts a run, sees the grid fill, reads what a task prints while it runs and when it has failed, filters
// failures, finds drift, walks through the history of a service, pauses and resumes the run, and approves a batch; every
// page at two widths, light and dark, without a serious violation that axe finds.
func TestPage(t *testing.T) {
	slipway := binary(t)
	dir := t.TempDir()
	document(t, dir, "80", "")
	first := start(t, dir, slipway, "apply", "--yes", "site.yaml")
	if first.ended(t); t.Failed() {
		return
	}
	for name, content := range map[string]string{"nodes/mon1/etc/motd": "hand-made\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// ctl2 cannot write the file: a folder with something in it is in its place
	broken := filepath.Join(dir, "nodes/ctl2/etc/proxy.conf")
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(broken, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	document(t, dir, "443", `"1"`)
	page, address := serve(t, slipway, dir)
	run := start(t, dir, slipway, "apply", "--yes", "site.yaml")
	browser := start(t, "", "node", "page.mjs", address, artefacts(t), dir)
	if browser.ended(t); t.Failed() {
		_ = run.Process.Signal(os.Interrupt) // it waits for the approval
	}
	for run.lines.Scan() {
		t.Log(run.lines.Text())
	}
	_ = run.Wait() // it failed on two nodes
	out, err := exec.CommandContext(t.Context(), slipway, "report", "--journal-directory", filepath.Join(dir, ".slipway")).Output()
	if err != nil || !strings.Contains(string(out), "approve batch 1 of group compute, by ") || !strings.Contains(string(out), "the canary is fine") {
		t.Errorf("%v: the report does not show the approval:\n%s", err, out)
	}
	stop(t, page)
}

// Every page of the router in a browser with the hostile corpus, also what comes to it while the run goes on: no script runs,
// no page has an element that its template does not make, and text is shown as text.
func TestHostilePages(t *testing.T) {
	slipway := binary(t)
	dir := t.TempDir()
	at := journal.Location{Path: filepath.Join(dir, ".slipway")}
	w := hostiletest.Record(t, at)
	all := func(file, pattern string) (out []string) { // each once
		text, err := os.ReadFile(filepath.Join("../../planner/server", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			out = append(out, string(m[1]))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	store, err := journal.Open(t.Context(), journal.File(filepath.Join(dir, ".slipway"), hostiletest.Site))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // the test is over
	tasks, err := store.AllEvents(t.Context(), hostiletest.Run, journal.TaskStarted)
	if err != nil {
		t.Fatal(err)
	}
	task := tasks[len(tasks)-1].Event // it runs
	script, err := json.Marshal(map[string]any{"patterns": all("pages.go", `\{path: "([^"]*)", page: true`),
		"elements": all("assets/pages.html", `<([a-z][a-z0-9]*)[ >]`), "markup": hostiletest.Corpus["markup"], "printing": "runs/run-1/nodes/" + url.PathEscape(task.Node)})
	if err != nil {
		t.Fatal(err)
	}
	page, address := serve(t, slipway, dir)
	browser := start(t, "", "node", "hostile.mjs", address, string(script))
	browser.until(t, "next")
	printed, failed, finished := task, task, task
	printed.Kind, printed.Message, printed.Output = journal.Output, "", "more of it: "+hostiletest.Name()
	finished.Kind, finished.Node, finished.Status, finished.Message = journal.NodeFinished, hostiletest.Node(), "FAILED", "at its end: "+hostiletest.Name()
	failed.Kind, failed.Status, failed.Message = journal.TaskFinished, "failed", "refused: "+hostiletest.Name()
	if err := w.Record(t.Context(), printed, failed, finished); err != nil {
		t.Fatal(err)
	}
	browser.until(t, "next")
	hostiletest.Finish(t, at, w)
	browser.ended(t)
	stop(t, page)
}

// The pictures of the README can be made: make screenshots.
func TestScreenshots(t *testing.T) {
	slipway := binary(t)
	terraform := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if terraform == "" {
		terraform = "terraform"
	}
	if _, err := exec.LookPath(terraform); err != nil {
		t.Skip(err)
	}
	t.Setenv("TF", terraform)
	t.Setenv("TF_CLI_CONFIG_FILE", os.Getenv("SLIPWAY_MIRROR"))
	t.Setenv("PATH", filepath.Dir(slipway)+":"+os.Getenv("PATH"))
	start(t, "", "./screenshots", artefacts(t)).ended(t)
	for _, name := range []string{"plan", "watch", "page"} {
		made, err := os.Stat(filepath.Join(artefacts(t), name+".png"))
		if err != nil || made.Size() < 10<<10 {
			t.Errorf("%s: %v, %v", name, made, err)
		}
		shown, err := os.Stat("../../docs/pictures/" + name + ".png")
		if err != nil || shown.Size() > 300<<10 {
			t.Errorf("the picture of the README, %s: %v, %v", name, shown, err)
		}
	}
}

// The guide of the companion shows each view of the page, with a picture that make screenshots made and that is not large.
func TestPicturesOfViews(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guides/companion.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{"overview", "nodes", "groups", "timeline", "plan", "drift", "decisions", "node", "output", "service"} {
		if !strings.Contains(string(guide), "](../pictures/view-"+view+".png)") {
			t.Errorf("the guide does not show the view %s", view)
		}
		made, err := os.Stat("../../docs/pictures/view-" + view + ".png")
		if err != nil || made.Size() < 10<<10 || made.Size() > 100<<10 {
			t.Errorf("the picture of the view %s: %v, %v", view, made, err)
		}
	}
}

func stop(t *testing.T, p process) {
	t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	p.ended(t)
}

const (
	manyNodes  = 1000
	manyPhases = 20
	memory     = 100 << 10 // KiB that serve may take
)

// A run on 1,000 nodes with 20 phases: what the browser's main thread takes for the first paint and for updates in which
// all nodes change, read from the trace that the browser writes, and the memory of serve.
func TestManyNodes(t *testing.T) {
	slipway := binary(t)
	dir := t.TempDir()
	store, err := journal.Open(t.Context(), journal.File(filepath.Join(dir, ".slipway"), "lon1"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // the test is over
	w, err := store.Start(t.Context(), journal.Run{ID: "run-1", Site: "lon1", Operation: "update", Owner: "host", Digest: "d"})
	if err != nil {
		t.Fatal(err)
	}
	record := func(events []journal.Event) {
		t.Helper()
		for some := range slices.Chunk(events, 50) { // as they come from sessions
			if err := w.Record(t.Context(), some...); err != nil {
				t.Fatal(err)
			}
		}
	}
	nodes := make([]string, manyNodes)
	for i := range nodes {
		nodes[i] = fmt.Sprintf("node-%04d", i)
	}
	events := []journal.Event{{Kind: journal.RunStarted, Output: `{"groups":[{"name":"web","nodes":1000}]}`},
		{Kind: journal.Planned, Group: "web", Message: "critical"}}
	for phase := range manyPhases {
		events = append(events, journal.PlannedPhase(phase+1, "web", "node", nodes)...)
	}
	wave := func(phase int) (events []journal.Event) {
		for _, node := range nodes {
			e := journal.Event{Kind: journal.TaskStarted, Group: "web", Phase: phase, Node: node, Resource: "file[/etc/motd]", Action: "update"}
			events = append(events, e)
			e.Kind, e.Status, e.Message, e.Millis = journal.TaskFinished, "changed", journal.TextChanged, 5
			e.Output = strings.Repeat("+ a line of the text\n", 20)
			events = append(events, e)
		}
		return events
	}
	for phase := 1; phase < manyPhases/2; phase++ {
		events = append(events, wave(phase)...)
	}
	record(events)
	page, address := serve(t, slipway, dir)
	browser := start(t, "", "node", "many.mjs", address, artefacts(t), fmt.Sprint(manyNodes), fmt.Sprint(manyPhases))
	for phase := manyPhases / 2; phase <= manyPhases; phase++ {
		browser.until(t, "next")
		record(wave(phase))
	}
	browser.until(t, "next")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", page.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	var kib int
	if peak == nil || json.Unmarshal(peak[1], &kib) != nil || kib > memory {
		t.Errorf("serve took %d KiB at most, want at most %d", kib, memory)
	}
	t.Logf("memory of serve: %d KiB at most", kib)
	if err := w.Finish(t.Context(), "deployed", ""); err != nil {
		t.Fatal(err)
	}
	browser.ended(t)
	stop(t, page)
}
