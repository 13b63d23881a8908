package e2e

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
)

// TestPluginFailures lets tasks fail: one that is tolerated is a warning and done with, one that is not ends the node's work,
// one that succeeds at its third try is none.
func TestPluginFailures(t *testing.T) {
	t.Parallel()
	two := takeForDiary(t, 2)
	steady, weak := two[0], two[1]
	w := pluginSite(t, config{site: "failures", nodes: two}, []string{"steady"}, []string{"weak"})
	defer w.mustDestroy()
	w.plugin("soft", pluginFiles("soft", `
- {role: [weak], stage: pre_deployment/1, type: shell, fail_on_error: false, parameters: {cmd: sh note.sh soft/1; echo no luck; exit 3, timeout: 60, retries: 0}}
- {role: '*', stage: pre_deployment/2, type: shell, parameters: {cmd: sh note.sh soft/2, timeout: 60}}
`, nil))
	w.set("plugins", []string{"soft"})

	w.must(w.plan(), 2, "pre_node: run shell soft-1.0.0/1 on node "+weak.Name+"; a failure is a warning")
	w.must(w.apply(), 0, "Warning", weak.Name, "soft-1.0.0/1", "status 3")
	if got := names(diaryOf(t, weak)); !slices.Equal(got, []string{"soft/1", "soft/2"}) {
		t.Errorf("%s ran %v", weak.Name, got)
	}
	weak.On(t, "test -e "+testFile)
	w.assertStatus("deployed")
	w.must(w.plan(), 0, "No changes")

	// What is not tolerated stops the node before its configuration; the other node had its turn.
	w.plugin("soft", map[string]string{"tasks.yaml": stageTask("'*'", "pre_deployment/2", "soft/2")})
	w.plugin("hard", pluginFiles("hard", `
- {role: [weak], stage: pre_deployment/1, type: shell, parameters: {cmd: sh note.sh hard/1; exit 4, timeout: 60, retries: 1, interval: 0}}
- {role: '*', stage: pre_deployment/2, type: shell, parameters: {cmd: sh note.sh hard/2, timeout: 60}}
`, nil))
	w.set("plugins", []string{"soft", "hard"})
	w.set("content", "second")
	forgetDiaries(t, two)
	w.must(w.apply(), 1, "The site was not rolled out", weak.Name, "hard-1.0.0/1", "failed after 2 tries: the command", "it ended with status 4")
	w.assertStatus("failed", weak.Name)
	if got := names(diaryOf(t, weak)); !slices.Equal(got, []string{"hard/1", "hard/1"}) {
		t.Errorf("%s ran %v, want both tries of the first task and nothing more", weak.Name, got)
	}
	if got, want := weak.On(t, "cat "+testFile), "first"; got != want {
		t.Errorf("the file of the node that failed has %q, want %q", got, want)
	}
	if got, want := steady.On(t, "cat "+testFile), "second"; got != want {
		t.Errorf("the file of the other node has %q, want %q", got, want)
	}
	if got := names(diaryOf(t, steady)); !slices.Contains(got, "hard/2") {
		t.Errorf("%s ran %v", steady.Name, got)
	}

	// Mended: the third try succeeds.
	w.plugin("hard", map[string]string{
		"tasks.yaml":                  `- {role: [weak], stage: pre_deployment/1, type: shell, parameters: {cmd: sh third.sh, timeout: 60, retries: 2, interval: 1}}`,
		"deployment_scripts/third.sh": "sh note.sh hard/1\ntest $(grep -c ended " + diary + ") = 3\n",
	})
	forgetDiaries(t, two)
	w.must(w.apply(), 0)
	w.assertStatus("deployed")
	tries := diaryOf(t, weak)
	if got := names(tries); !slices.Equal(got, []string{"hard/1", "hard/1", "hard/1", "soft/2"}) {
		t.Fatalf("%s ran %v", weak.Name, got)
	}
	for i := 1; i < 3; i++ {
		if pause := tries[i].begun - tries[i-1].ended; pause < 1 {
			t.Errorf("%.2f s between two tries, want 1 s", pause)
		}
	}
	w.must(w.plan(), 0, "No changes")
}

// TestPluginKilled kills a run after the configuration of its node and before the tasks that follow it: the next run makes up for them, although they
// ran in an earlier one as they are.
func TestPluginKilled(t *testing.T) {
	t.Parallel()
	one := takeForDiary(t, 1)
	n := one[0]
	t.Cleanup(func() { n.On(t, "rm -f /run/slow") })
	w := pluginSite(t, config{site: "killedplugin", nodes: one}, []string{"any"})
	defer w.mustDestroy()
	w.plugin("late", pluginFiles("late", stageTask("any", "pre_deployment", "late/1")+
		"- {role: any, stage: post_deployment/1, type: shell, parameters: {cmd: sh note.sh late/2; while test -e /run/slow; do sleep 0.1; done, timeout: 60}}\n"+
		stageTask("any", "post_deployment/2", "late/3"), nil))
	w.set("plugins", []string{"late"})
	w.must(w.apply(), 0)
	w.must(w.plan(), 0, "No changes")

	w.set("content", "second")
	n.On(t, "touch /run/slow; rm "+diary)
	p := w.begin("apply", "-input=false", "-no-color", "-auto-approve")
	p.until(n, "the task after the configuration runs", "grep -q late/2 "+diary)
	p.signal(syscall.SIGKILL, -p.pid())
	p.wait()
	await(t, "no provider is left", func() bool { return len(w.processes(t)) == 0 })
	if got := n.On(t, "cat "+testFile+"; rm -f /run/slow "+diary); got != "second" {
		t.Errorf("the configuration of the run that was killed has %q", got)
	}
	w.must(w.plan(), 2, "post_cluster: run shell late-1.0.0/2 on node "+n.Name, "post_cluster: run shell late-1.0.0/3 on node "+n.Name)
	w.applyWhenFree()
	if got := names(diaryOf(t, n)); !slices.Equal(got, []string{"late/2", "late/3"}) {
		t.Errorf("%s ran %v", n.Name, got)
	}
	w.must(w.plan(), 0, "No changes")
}

// byPuppet is a file that a manifest makes.
const byPuppet = "/run/by-puppet"

// TestPuppet runs a task that needs Puppet. A node without it, and without a package that brings it, is told of when it is prepared, and nothing is
// touched. Where the site brings it, the task applies its manifest with its modules.
func TestPuppet(t *testing.T) {
	t.Parallel()
	two := nodes.Take(t, 2)
	bare, puppet := two[0], two[1]
	// Puppet's package leaves /run/puppet, which is gone when a later test switches the node off.
	t.Cleanup(func() { puppet.Wipe(t) })
	w := pluginSite(t, config{site: "puppet", nodes: two, more: []string{"puppet"}, services: fmt.Sprintf(`
resource "slipway_service" "puppet" {
  name          = "puppet"
  selectors     = [{ node_names = [%q] }]
  configuration = { package = { puppet-agent = { ensure = "installed" } } }
}
`, puppet.Name)}, []string{"bare"}, []string{"puppet"})
	defer w.mustDestroy()
	tasks := "- {role: %s, stage: post_deployment, type: puppet, parameters: {puppet_manifest: site.pp, puppet_modules: modules, timeout: 300}}\n"
	w.plugin("manifests", pluginFiles("manifests", fmt.Sprintf(tasks, "'*'"), map[string]string{
		"site.pp":                         "include hello\n",
		"modules/hello/manifests/init.pp": "class hello { file { '" + byPuppet + "': content => \"hello\\n\" } }\n",
	}))
	w.set("plugins", []string{"manifests"})
	w.must(w.apply(), 1, "failed nodes: "+bare.Name+" (default): the program puppet is not on the node", "install it first")
	for _, e := range w.events() {
		if e.Kind == "task_started" && e.Resource != "" {
			t.Errorf("%s was begun on %s", e.Resource, e.Node)
		}
	}
	for _, n := range two {
		if got := n.On(t, "ls "+testFile+" /var/lib/slipway/ledger* 2>/dev/null || true"); got != "" {
			t.Errorf("%s was touched: %s", n.Name, got)
		}
	}

	w.plugin("manifests", map[string]string{"tasks.yaml": fmt.Sprintf(tasks, "[puppet]")})
	w.must(w.plan(), 2, "post_cluster: run puppet manifests-1.0.0/1 on node "+puppet.Name)
	w.must(w.apply(), 0)
	if got := puppet.On(t, "cat "+byPuppet); got != "hello\n" {
		t.Errorf("the manifest made %q", got)
	}
	w.must(w.plan(), 0, "No changes")

	w.plugin("manifests", map[string]string{"deployment_scripts/site.pp": "include helo\n"})
	w.must(w.apply(), 1, puppet.Name, "manifests-1.0.0/1", "Puppet could not apply the manifest")
	w.plugin("manifests", map[string]string{"deployment_scripts/site.pp": "file { '" + byPuppet + "': ensure => absent }\n"})
	w.must(w.apply(), 0)
	puppet.On(t, "! test -e "+byPuppet)
}

// TestReboot restarts nodes amid a run, which goes on when they are back.
func TestReboot(t *testing.T) {
	t.Parallel()
	two := takeForDiary(t, 2)
	w := pluginSite(t, config{site: "reboot", nodes: two}, []string{"kernel"}, []string{"other"})
	defer w.mustDestroy()
	w.plugin("kernel", pluginFiles("kernel",
		stageTask("'*'", "pre_deployment/1", "kernel/1")+
			"- {role: [kernel], stage: pre_deployment/2, type: reboot, parameters: {timeout: 120}}\n"+
			stageTask("'*'", "pre_deployment/3", "kernel/3"), nil))
	w.set("plugins", []string{"kernel"})
	const boot = "cat /proc/sys/kernel/random/boot_id"
	before := []string{two[0].On(t, boot), two[1].On(t, boot)}
	w.must(w.plan(), 2, "run reboot kernel-1.0.0/2 on node "+two[0].Name)
	w.must(w.apply(), 0)
	w.assertStatus("deployed")
	for i, n := range two {
		if restarted := n.On(t, boot) != before[i]; restarted != (i == 0) {
			t.Errorf("%s was restarted: %v", n.Name, restarted)
		}
		if got := names(diaryOf(t, n)); !slices.Equal(got, []string{"kernel/1", "kernel/3"}) {
			t.Errorf("%s ran %v", n.Name, got)
		}
		n.On(t, "test -e "+testFile)
	}
	w.must(w.plan(), 0, "No changes")
}
