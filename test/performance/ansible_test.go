package performance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway/terraform-provider-slipway/planner"
	"github.com/slipway/terraform-provider-slipway/planner/journal"
	"github.com/slipway/terraform-provider-slipway/planner/rollout"
	"github.com/slipway/terraform-provider-slipway/planner/site"
	"github.com/slipway/terraform-provider-slipway/test/lab"
)

// Ansible needs Python on the nodes; it is there before anything is measured.
var nodes = lab.Lab{Name: "perf", Nodes: nodeCount, Packages: []string{"python3", "python3-apt"}}

// TestMain boots the lab only when a benchmark is asked for: there is nothing else here.
func TestMain(m *testing.M) {
	for _, arg := range os.Args {
		if strings.HasPrefix(arg, "-test.bench=") && arg != "-test.bench=" {
			nodes.Main(m)
		}
	}
	os.Exit(m.Run())
}

// BenchmarkAgainstAnsible runs both on the same nodes in turn: first runs on fresh nodes, runs that change nothing, and looks that
// change nothing. Run it with -benchtime=5x; it reports medians in seconds, and Ansible's time over slipway's. What
// apt-get alone takes for the packages of a first run, on fresh nodes and by plain ssh, bounds the first ratio for
// every tool that installs them: that is most-first-ratio.
func BenchmarkAgainstAnsible(b *testing.B) {
	ansible, err := exec.LookPath("ansible-playbook")
	if err != nil {
		b.Skip("ansible-playbook is not installed: there is nothing to compare with")
	}
	s := theSite(nodes)
	times := map[string][]time.Duration{}
	measure := func(what string, f func()) {
		start := time.Now()
		f()
		times[what] = append(times[what], time.Since(start))
	}
	for b.Loop() {
		wipe(b)
		measure("first-ansible", func() { playbook(b, ansible) })
		measure("again-ansible", func() { playbook(b, ansible) })
		measure("check-ansible", func() { playbook(b, ansible, "--check") })

		wipe(b)
		measure("first-slipway", func() { apply(b, s, nil) })
		applied := survey(b, s)
		measure("again-slipway", func() { apply(b, s, applied.Unfinished()) })

		w := workspace(b)
		terraform(b, w, "apply", "-auto-approve")
		measure("plan-slipway", func() { terraform(b, w, "plan", "-detailed-exitcode") })

		wipe(b)
		measure("first-apt", func() { everywhere(b, install+" nginx-light tree") })
	}
	median := map[string]float64{}
	for what, t := range times {
		slices.Sort(t)
		median[what] = t[len(t)/2].Seconds()
		b.ReportMetric(median[what], what+"-s")
	}
	b.ReportMetric(median["first-ansible"]/median["first-slipway"], "first-ratio")
	b.ReportMetric(median["first-ansible"]/median["first-apt"], "most-first-ratio")
	b.ReportMetric(median["again-ansible"]/median["again-slipway"], "again-ratio")
	b.ReportMetric(median["check-ansible"]/median["plan-slipway"], "plan-ratio")
}

const install = "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0"

// wipe reinstalls every node, with Python and fresh package lists.
func wipe(b *testing.B) {
	for _, n := range theSite(nodes).Nodes {
		nodes.Must(b, "wipe", n.Name)
	}
	everywhere(b, "apt-get update -qq && "+install+" python3 python3-apt")
}

// everywhere runs a command on all nodes at once, by plain ssh.
func everywhere(b *testing.B, command string) {
	var ends sync.WaitGroup
	for _, n := range theSite(nodes).Nodes {
		ends.Go(func() {
			if out, err := exec.Command("ssh", "-F", nodes.State("ssh_config"), n.Name, command).CombinedOutput(); err != nil {
				b.Errorf("%s: %v\n%s", n.Name, err, out)
			}
		})
	}
	ends.Wait()
}

// apply rolls the site out with the engine that the provider uses.
func apply(b *testing.B, s site.Site, applied planner.Applied) {
	applyThrough(b, rollout.NewInProcess(), s, applied)
}

// applyThrough rolls the site out through an executor, and closes it.
func applyThrough(b *testing.B, executor rollout.Executor, s site.Site, applied planner.Applied) {
	p, errs := planner.Make(s, applied, nil)
	if failures := errs.Errors(); len(failures) > 0 {
		b.Fatal(failures)
	}
	store, err := journal.Open(b.Context(), filepath.Join(b.TempDir(), "perf.db"))
	if err != nil {
		b.Fatal(err)
	}
	writer, err := store.Start(b.Context(), journal.Run{ID: time.Now().Format(time.RFC3339Nano), Site: s.Name, Operation: "create"})
	if err != nil {
		b.Fatal(err)
	}
	report, err := rollout.Run(b.Context(), s, p, rollout.Options{Executor: executor, Recorder: writer, RunID: "perf", Parallelism: nodeCount})
	if err != nil || report.Status != rollout.StatusSucceeded {
		b.Fatal(err, report)
	}
	for _, end := range []func() error{executor.Close, func() error { return writer.Finish(context.WithoutCancel(b.Context()), "succeeded", "") }, store.Close} {
		if err := end(); err != nil {
			b.Fatal(err)
		}
	}
}

// survey returns what the ledgers tell.
func survey(b *testing.B, s site.Site) planner.Applied {
	executor := rollout.NewInProcess()
	defer executor.Close() //nolint:errcheck // read only
	applied := planner.Applied{}
	for node, found := range rollout.Survey(b.Context(), s.Nodes, nil, s.Name, rollout.Options{Executor: executor, Parallelism: nodeCount}) {
		if found.Error != nil {
			b.Fatal(found.Error)
		}
		applied[node] = found.Ledger
	}
	return applied
}

// playbook runs playbook.yml with as many forks as nodes, pipelining and no facts, and with connections of its own.
func playbook(b *testing.B, ansible string, args ...string) {
	dir := b.TempDir()
	args = append([]string{"-i", nodes.State("inventory"), "-f", "10", "-u", "root", "-e", "ansible_python_interpreter=/usr/bin/python3"}, append(args, "playbook.yml")...)
	cmd := exec.Command(ansible, args...)
	cmd.Env = append(os.Environ(), "ANSIBLE_PIPELINING=1", "ANSIBLE_GATHERING=explicit", "ANSIBLE_SSH_CONTROL_PATH_DIR="+dir, "ANSIBLE_LOCALHOST_WARNING=0",
		"ANSIBLE_SSH_COMMON_ARGS=-F "+nodes.State("ssh_config"), "ANSIBLE_HOME="+dir, "LANG=C.UTF-8")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("ansible-playbook: %v\n%s", err, out)
	}
}
